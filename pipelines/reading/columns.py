"""Recognises the field of a column by its header, with the unit or the market, year and half that it names.

A header is a term and what stands around it. The terms are data (`schemas/headers.csv`; `words.csv` for terms made of
known words); `grammar.py` reads what is around them. A column counts only where every word was understood; where a word
around a known term was not, the column is *open*, and asked about. Components side by side in one line have numbered
groups of columns, `Emballage 1 - Matière`, `Weight 2 (kg)`, or a weight column per material: `Glas`, `Poids verre (g)`.
`header.py` chooses the header row, and which of the columns count.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, TypeAlias

from compliance import ruleset
from compliance.words import resolve_material
from pipelines.reading.grammar import (
    BETWEEN,
    MOST_KEPT,
    MOST_WORDS,
    TEXTS,
    Sense,
    Tokens,
    composed_field,
    divided,
    is_help,
    is_unit,
    joined,
    key_of,
    longest_by_first_word,
    measures_in,
    roles_of_word,
    sense_of,
    tokens_of,
    unit_of_mapped,
    without_measures,
    word_roles,
)
from pipelines.reading.grid import (
    FIELDS_OF_PART,
    LONGEST_HEADER,
    PART_HELPERS,
    VOLUME,
    WEIGHTS,
    Column,
    Table,
    fields_of,
)
from pipelines.reading.placed import (
    YEAR,
    Placed,
    headers_of_units,
    is_served,
    little_words,
)
from pipelines.reading.words import SALES, level_at, runs, says_within, spellings
from schemas.fields import SKU_CODE, Field
from schemas.words import code_of, fold, headers, words

Notes: TypeAlias = Sequence[tuple[str, ...]]

_OWN_VOLUME: Final = re.compile(r"(?i:annual_volume_[a-z]{2}(?:_\w+)?)|(?=.*[a-z]).*\bIN\b.*")  # or India in capitals
_CAPACITY: Final = re.compile(r"\b[mcd]l\b")  # of what a packaging holds: `Volume (ml)` is not of Mali
_TEXTS_OF_WORDS = ("packaging_format", "material_subtype")
"""Fields of texts whose words the rules know: beside their terms an unknown word is asked about as in other columns."""
SUM_OF_METALS: Final = "heavy_metals_sum_ppm"  # a part has it as status and value: `part_substances.py`
_ABBREVIATED = re.compile(r"(?<![^\W\d_])([^\W\d_]+)\.")
_BETWEEN_LANGUAGES = re.compile(r"(?<=\s)[/|](?=\s)|\n")


def recognise(header: str, position: int, table: Table) -> Column | None:
    """Return the column of a header, or None where it fits no field of the table, or is too long for a header."""
    column = _understood(header, table) if len(header) < LONGEST_HEADER else None
    if column is None or column.open is not None:
        return None
    return column if column.position == position else replace(column, position=position)


def substitute_column(header: str) -> Column | None:
    """Return the column of a header that counts where there is no better one: a listed or a composed header."""
    column = _substitute(header) if len(header) < LONGEST_HEADER else None
    if column is None or column.open is not None:
        return None
    listed = _understood(header, "sku")
    whole = listed is None or listed.open is None or listed.name == column.name
    return column if whole or not divided(header)[-1].notes else None  # a note of another term is no remark


def open_column(header: str, position: int, table: Table, *, loose: bool = False) -> Column | None:
    """Return the column that a header would be if a word around its term were understood: `Column.open`.

    Such a word is behind a unit, in a note or beside a packaging's weight; where `loose`, in the term of any header
    too: in a line of data that would be found everywhere.
    """
    if len(header) >= LONGEST_HEADER:
        return None
    column = _understood(header, table) or (_substitute(header) if table == "sku" else None)
    if column is None and loose:
        column = _best(header, lambda main, notes: _terms(main, notes, header, table), loose=True)
    if column is None and loose and table == "sku":
        column = _best(header, lambda main, _: _substitutes(main, header, loose=True), loose=True)
    return None if column is None or column.open is None else replace(column, position=position)


@lru_cache(maxsize=MOST_KEPT)
def _understood(header: str, table: Table) -> Column | None:
    column = _best(header, lambda main, notes: _terms(main, notes, header, table))
    if column is not None and column.open is None:
        return column
    whole = _by_languages(header, table) or _market_in_year(header, table) or _by_levels(header, table)
    return whole or _unabbreviated(header, table, column)


def _whole(header: str) -> str:
    return _ABBREVIATED.sub(lambda dotted: words("abbreviation").get(fold(dotted[1]), dotted[0]), header)


def _unabbreviated(header: str, table: Table, column: Column | None) -> Column | None:
    """Return the column of a header whose words with a dot are whole: `Gew. (g)`, `Poids unit. (g)`.

    `column` is what it is as written, which stays where both are open. An abbreviation alone is asked about where it
    names no unit: `Gew.` is the thread of a closure, too.
    """
    said = None if (whole := _whole(header)) == header else _understood(whole, table)
    if said is None or (column is not None and said.open is not None):
        return column
    alone = said.field.unit is not None and not said.has_unit and len(tokens_of(header)) == 1
    return replace(said, header=header, exact=False, open=" ".join(tokens_of(header)) if alone else said.open)


@lru_cache(maxsize=MOST_KEPT)
def _substitute(header: str) -> Column | None:
    """Return the column of a header that is listed as a substitute, or that known words make together."""
    return _best(_whole(header), lambda main, _: _substitutes(main, header))


def _best(
    header: str,
    terms: Callable[[Tokens, Notes], Iterator[tuple[Column, Tokens]]],
    *,
    loose: bool = False,
) -> Column | None:
    """Return the first of the terms of which every word around was understood, else that with the fewest open."""
    if not words_of_terms(header):
        return None
    open_columns: list[Column] = []
    for main, notes in divided(header):
        for term, rest in terms(main, notes):
            column = with_sense(term, rest, notes, loose=loose)
            if column is not None and column.open is None:
                return column
            open_columns += [] if column is None else [column]
    return min(open_columns, key=lambda column: len(str(column.open)), default=None)


def _substitutes(main: Tokens, header: str, *, loose: bool = False) -> Iterator[tuple[Column, Tokens]]:
    left, rest = without_measures(main)
    words_of_term: Tokens = key_of(left).split()
    name = headers("spare").get(key_of(main))
    if name is None and loose:
        rest = (*(word for word in words_of_term if not roles_of_word(word)), *rest)
        words_of_term = [word for word in words_of_term if word not in rest]
    name = name or composed_field(words_of_term) or composed_field(_without_levels(words_of_term))
    if name is not None:
        yield Column(name, fields_of("sku")[name], "sku", 0, header), rest


@lru_cache(maxsize=MOST_KEPT)
def words_of_terms(header: str) -> frozenset[str]:
    """Return the words of a text that some term has: most cells have none, and are no headers."""
    tokens = {token for text in {header, *spellings(header)} for token in tokens_of(text)}
    bare = {token: token.rstrip("0123456789") for token in tokens}
    return frozenset(bare[token] for token in tokens if bare[token] in known_words() or roles_of_word(token))


@cache
def known_words() -> frozenset[str]:
    """Return the words of listed headers, materials and parts, and those that have a role in headers."""
    listed = [headers(name) for name in ("sku", "component", "part", "group", "spare", "placed")]
    of_vocabularies = [words(name) for name in ("material_family", "material_column", "component_type", "header_word")]
    every_word = {
        word.rstrip("0123456789") for term in (*listed, *of_vocabularies) for text in term for word in text.split()
    }
    return frozenset(every_word - {""})


def _terms(main: Tokens, notes: Notes, header: str, table: Table) -> Iterator[tuple[Column, Tokens]]:
    """Yield the columns whose terms are among the words of a header, the longest first, with the words around each."""
    listed, fields = headers(table), fields_of(table)
    for key, start, end in _runs(main):
        is_metals = table != "sku" and headers("sku").get(key) == SUM_OF_METALS
        if key not in listed and not is_metals and (table != "sku" or key not in _component_headers()):
            continue
        rest = (*main[:start], *main[end:])
        if table == "sku" and (name := _component_headers().get(key)) is not None:
            yield Column(name, fields_of("component")[name], "component", 0, header, exact=not (rest or notes)), rest
        elif (name := listed.get(key)) in fields:
            yield Column(name, fields[name], table, 0, header, exact=header.strip() == name), rest
        elif is_metals:
            yield Column("heavy_metals_value", fields_of("sku")[SUM_OF_METALS], table, 0, header), rest
        elif table == "sku" and name == VOLUME.name and (column := _volume(rest, notes, header)) is not None:
            yield column, ()
    if table != "sku":
        return
    placed = headers("placed")
    for key, start, end in _runs(main):  # they count beside a market
        if key in placed and (column := _volume((*main[:start], *main[end:]), notes, header)) is not None:
            yield column, ()
    left, measures = without_measures(main)
    tokens = key_of(left).split()
    if (column := _numbered_column(tokens, header) or _material_column(tokens, header)) is not None:
        yield column, measures
    of_parts = headers("part")
    for key, start, end in _runs(main):
        name = of_parts.get(key) if (start, end) == (0, len(main)) or key not in _beginnings() else None
        if name is not None:  # it counts beside a type
            yield Column(name, fields_of("component")[name], "component", 0, header), (*main[:start], *main[end:])


def _runs(main: Tokens) -> Iterator[tuple[str, int, int]]:
    """Yield each run of words that may be a term, the longest first, as listed headers are looked up, with its place.

    Only as many words are joined as the longest term with that first word has.
    """
    signs = sum(token in BETWEEN for token in main)
    reach = [_longest_terms().get(word, len(main) if word == "|" else 0) for word in main]
    for size in range(min(len(main), max(reach, default=0) + signs), 0, -1):
        for start in range(len(main) - size + 1):
            if size <= reach[start] + signs and reach[start]:
                run = main[start : start + size]
                if "/" not in (run[0], run[-1]):
                    yield key_of(run) if signs else " ".join(run), start, start + size


@cache
def _beginnings() -> frozenset[str]:
    """Return the first words of the SKU's terms: `Part` is a part alone, and a share in `Part de matière recyclée`."""
    return frozenset(term.split()[0] for term in headers("sku"))


@cache
def _longest_terms() -> dict[str, int]:
    listed = (headers("sku"), headers("component"), headers("part"), headers("placed"), _component_headers())
    return longest_by_first_word(term for terms in listed for term in terms)


def with_sense(column: Column, rest: Tokens, notes: Notes, *, loose: bool) -> Column | None:
    """Return a column with what the words around its term say; None where they say that it is something else.

    A word of the term without any role is not understood; one that has a role makes another term of it.
    """
    field = column.field
    if field == VOLUME:
        return column
    around = Sense() if _lists_answers(rest, field) else sense_of(rest, field)
    said = joined([around, *(_sense_of_note(note, column.field, column.table) for note in notes)])
    is_asked = around.measured or (field.name == "weight_grams" and "packaging" in word_roles(column.header))
    if loose and (field.kind not in TEXTS or field.name in _TEXTS_OF_WORDS):
        is_asked = is_asked or not any(map(roles_of_word, around.unknown))
    weighs = field.kind in TEXTS and (around.measured or any(is_unit(" ".join(note)) for note in notes))  # `Label (g)`
    if said.other or (around.unknown and not is_asked) or weighs:
        return None
    has_unit = said.has_unit or any(measure.unit == field.unit for measure in measures_in(column.header))
    unknown = " ".join(said.unknown) or None
    return replace(column, factor=said.factor, per=said.per, has_unit=has_unit, open=unknown)


def _lists_answers(rest: Tokens, field: Field) -> bool:
    """Return whether the words around a term only list what may be answered: `Mehrweg j/n`, `Einweg/Mehrweg`."""
    if field.kind != "truth" or "/" not in rest:
        return False
    answers, of_field = words("truth"), words("reusable") if field.name == "reusable" else {}
    said = [answers.get(word) for word in rest]
    lists_only = all(word in answers or word in of_field for word in rest if word != "/")
    return lists_only and said.count("false") <= said.count("true")


@lru_cache(maxsize=MOST_KEPT)
def _sense_of_note(note: tuple[str, ...], field: Field, table: Table) -> Sense:
    """Return what a note says; the field's own name, in another wording or language, says nothing more."""
    listed = headers(table).get(key_of(note)) or headers("spare").get(key_of(note))
    if is_help(note, field) or listed == field.name:
        return Sense()
    if listed is not None and listed != "weight_unit" and field.kind != "code":
        return Sense(unknown=note) if field.kind in TEXTS else Sense(other=True)
    return sense_of(note, field, note=True)


def _by_languages(header: str, table: Table) -> Column | None:
    """Return the column of one field named in several languages; the side that names a unit gives it for all."""
    parts = [side for part in _BETWEEN_LANGUAGES.split(header) if (side := part.strip())]
    if not 1 < len(parts) <= 3:
        return None
    sides = {side: recognise(side, 0, table) for side in parts}
    for name in {column.name for column in sides.values() if column is not None}:
        same = [column for column in sides.values() if column is not None and column.name == name]
        spare = [side for side in sides if headers("spare").get(fold(side)) == name]
        if len(same) + len(spare) == len(sides) and len({column.factor for column in same if column.has_unit}) < 2:
            return replace(max(same, key=lambda column: column.has_unit), header=header)
    return None


_BESIDE_LEVELS: Final = frozenset({"packaging", "nothing", "kind", "level"})


def _by_levels(header: str, table: Table) -> Column | None:
    """Return the level's column of a header that lists its values: `Tipologia (primario/secondario/terziario)`."""
    tokens, levels, at = fold(header).split(), set[str](), 0
    while at < len(tokens) <= MOST_WORDS:
        level, end = level_at(tokens, at, in_title=True) or (None, at + 1)
        if level is None and not (roles_of_word(tokens[at]) or frozenset({""})) <= _BESIDE_LEVELS:
            return None
        levels |= {level} if level else set()
        at = end
    name = "packaging_level"
    return Column(name, fields_of(table)[name], table, 0, header) if table == "sku" and len(levels) > 1 else None


def _without_levels(tokens: Tokens) -> Tokens:
    """Return the words without those that name the sales packaging."""
    left: list[str] = []
    at = 0
    while at < len(tokens):
        level, end = level_at(tokens, at) or (None, at + 1)
        left += [] if level == SALES else tokens[at:end]
        at = end
    return left


def field_column(name: str, table: Table) -> Column | None:
    """Return the column of a field's own name; None where no field of the table has the name.

    A component's field may have `component_` before it, which distinguishes it from one of the SKU.
    """
    own = recognise(name, 0, table)
    if own is None and table == "sku":
        own = units_of_rows(name, 0) or units_of_part(name, 0)
    if own is not None and fold(name) in (fold(own.name), fold(f"component_{own.name}")):
        return own
    bare = name.removeprefix("component_")
    return field_column(bare, table) if table == "component" and bare != name else None


def column_for(name: str, position: int, header: str, table: Table) -> Column | None:
    """Return the column for a field that the caller's mapping names, whatever its header says but for its unit."""
    own = recognise(header, position, table)
    column = field_column(name, table)
    if column is None:
        return None
    column = replace(column, position=position, header=header, exact=False, mapped=True)
    of_rows = column.field == VOLUME and not (column.market or column.part)
    if of_rows and (units := units_of_rows(header, position)) is not None:
        return replace(units, name=column.name, mapped=True, exact=False)
    if own is not None and own.name == column.name:
        return replace(column, factor=own.factor, per=own.per, has_unit=own.has_unit)
    if column.field.unit is None:
        return column
    said = unit_of_mapped(header, column.field)
    open_text = " ".join(said.unknown) or None
    return replace(column, factor=said.factor, per=said.per, has_unit=said.has_unit, open=open_text)


@cache
def _component_headers() -> dict[str, str]:
    """Return component columns in the main sheet: a component's field names, with `component_` where a SKU has them."""
    helpers = {field.name for field in PART_HELPERS}
    names = [name for name in fields_of("component") if name != SKU_CODE.name and name not in helpers]
    alone = [name for name in names if name not in fields_of("sku") and name != "weight_g"]
    prefixed = [*names, "weight_unit"]
    return {fold(name): name for name in alone} | {fold(f"component_{name}"): name for name in prefixed}


def _volume(rest: Tokens, notes: Notes, header: str, *, of_rows: bool = False, in_parts: bool = False) -> Column | None:
    """Return the column of units placed: `annual_volume_fr`, `annual_volume_gb_2026_h1`, `Jahresmenge DE (Tsd.)`.

    With `of_rows` that of units whose market stands in each row; with `in_parts` that of a part of a year alone.
    """
    alone = {note[0] for note in notes if len(note) == 1}  # a note of one word may be a code: `Ventes (de)`
    little = {word: is_open for word, is_open in little_words(header).items() if word not in alone}
    volume = Placed(own=_OWN_VOLUME.fullmatch(header.strip()) is not None, little=little)
    senses = [sense_of(volume.left_of(words_around), VOLUME, note=True) for words_around in (rest, *notes)]
    said = joined(senses)
    # A half of a market that is declared by the year is a part of it, as a quarter is; `H1 2025` alone may be.
    is_part = bool(volume.half) and (in_parts if volume.market is None else volume.market != "GB")
    half, part = (0, volume.part or f"h{volume.half}") if is_part else (volume.half, volume.part)
    both = (volume.half and volume.part) or (
        volume.market is not None and not (volume.year or volume.own or is_served(volume.market))  # `VE (Stück)`
    )
    if _CAPACITY.search(header) or (volume.market is None) != of_rows or bool(part) != in_parts or said.other or both:
        return None
    market = [] if volume.market is None else [volume.market.lower().replace("-", "_")]
    parts = [VOLUME.name, *market, *([str(volume.year)] if volume.year else [])]
    own = "_".join([*parts, *([f"h{half}"] if half else []), *([part] if part else [])])
    column = Column(own, VOLUME, "sku", 0, header, said.factor, exact=header.strip() == own, open=None)
    unknown = " ".join((*volume.twice, *said.unknown)) or None
    placed = replace(column, market=volume.market, year=volume.year, half=half, part=part)
    return replace(placed, open=unknown)


def units_of_rows(header: str, position: int) -> Column | None:
    """Return the column of units of the market that each row names: `Menge`, `Absatz 2026`; None for other headers."""
    return _units(header, position, of_rows=True, in_parts=False)


def units_of_part(header: str, position: int) -> Column | None:
    """Return the column of units of a part of a year: `Absatz DE Q1 2025`, `Sales Jan 2025`, `FR S1 2025`.

    It is open where nothing says that it counts units: `Q1 2025`, unless it names a market and a year.
    """
    ways = [divided(header)[-1]] if len(header) < LONGEST_HEADER and divided(header) else []
    for of_rows in (True, False):
        if (column := _units(header, position, of_rows=of_rows, in_parts=True)) is not None:
            return column
        for main, notes in ways:
            column = _volume(main, notes, header, of_rows=of_rows, in_parts=True)
            if column is not None and column.open is None:
                return replace(column, position=position, open=None if column.market and column.year else header)
    return None


def column_of_label(label: str) -> Column | None:
    """Return the column of a header below its title, units too that no market is named of: `Absatz 2025` over `Q1`."""
    return recognise(label, 0, "sku") or units_of_rows(label, 0) or units_of_part(label, 0)


def _units(header: str, position: int, *, of_rows: bool, in_parts: bool) -> Column | None:
    listed = headers_of_units()
    for main, notes in divided(header) if len(header) < LONGEST_HEADER else ():
        for key, start, end in _runs(main):
            around = (*main[:start], *main[end:])
            column = _volume(around, notes, header, of_rows=of_rows, in_parts=in_parts) if key in listed else None
            if column is not None and column.open is None:
                return replace(column, position=position)
    return None


def _market_in_year(header: str, table: Table) -> Column | None:
    """Return the column of units placed whose header is a market and a year alone: `DE 2026`, `UK 2026 H1`."""
    if table != "sku" or not any(YEAR.fullmatch(token) for token in tokens_of(header)):
        return None
    columns = (_volume(main, notes, header) for main, notes in divided(header))
    return next((column for column in columns if column is not None and column.year and column.open is None), None)


_WEIGHT = "weight_g"
SHARE_OF_WEIGHT: Final = "weight_share_percent"
ROUNDED_SHARE: Final = 0.5
"""Percent by which a share that is written without decimals may be off."""
_UNIT_ROLES = ("unit", "unit_name")
_NUMBER, _JOINED = re.compile(r"[1-9]\d?"), re.compile(r"([a-z]+)(\d{1,2})")


def is_bare_material(column: Column) -> bool:
    """Return whether the header is a material's name alone, which need not mean a weight: `Glas`, `Carton`."""
    return bool(column.fixed) and _material_of_word(fold(column.header)) is not None


def _numbered_column(words_found: Tokens, header: str) -> Column | None:
    """Return the column of a header with one number that names a component's field without it and the group's word.

    It is named by the header as it is, without a word for a group at its end, or without such words at its start.
    """
    tokens: list[str] = []
    for token in words_found:  # `emballage1` is two
        match = _JOINED.fullmatch(token)
        tokens += match.groups() if match is not None and code_of(match[1], "group") is not None else (token,)
    numbers = [token for token in tokens if _NUMBER.fullmatch(token)]
    if len(numbers) != 1:
        return None
    rest = [token for token in tokens if token not in numbers]
    ways = [rest]
    if rest and code_of(rest[-1], "group") is not None:
        ways.append(rest[:-1])
    while rest and code_of(rest[0], "group") is not None:
        rest = rest[1:]
        ways.append(rest)
    for way in ways:
        composed = composed_field(way) if way else None
        name = part_headers().get(" ".join(way)) or FIELDS_OF_PART.get(composed or "")
        if name is not None:
            own = f"component_{numbers[0]}_{name}"
            exact = header.strip() == own
            return Column(own, fields_of("component")[name], "component", 0, header, exact=exact, group=numbers[0])
    return None


@cache
def part_headers() -> dict[str, str]:
    """Return headers of a component's fields within a group: those of a components table, and some that need the group.

    Headers of the SKU elsewhere (`Verpackungsmaterial`, `Poids de l'emballage`) are the part's in a group.
    """
    of_sku = {header: FIELDS_OF_PART[name] for header, name in headers("sku").items() if name in FIELDS_OF_PART}
    of_table = {header: name for header, name in headers("component").items() if name in fields_of("component")}
    return {h: name for h, name in {**of_sku, **of_table, **headers("group")}.items() if name != SKU_CODE.name}


def _material_column(tokens: Tokens, header: str) -> Column | None:
    """Return the column of a material's name beside only words for weights or a part.

    With words for a unit instead (`Glas Einheit`, `glass_weight_unit`) the column contains the units of that weight,
    with a word or a sign for a share (`Kunststoff %`, `Anteil Papier`) the material's share of the packaging's.
    """
    is_share = any(measure.unit == "percent" for measure in measures_in(header))
    tokens = _without_per_material(tokens)
    parts = [code_of(token, "component_type") for token in tokens]
    of_unit = [code_of(token, "header_word") in _UNIT_ROLES for token in tokens]
    of_share = [code_of(token, "header_word") == "share" for token in tokens]
    of_weight = [
        code_of(token, "weight_column") is not None and not share for token, share in zip(tokens, of_share, strict=True)
    ]
    beside = zip(map(bool, parts), of_unit, of_weight, of_share, strict=True)
    own = [at for at, roles in enumerate(beside) if sum(roles) != 1]  # words that can only be the material's
    for start, end in runs(len(tokens)):
        types = [part for part in (*parts[:start], *parts[end:]) if part is not None]
        if len(types) > 1 or (own and not start <= own[0] <= own[-1] < end):
            continue
        if (material := _material_of_word(" ".join(tokens[start:end]))) is not None:
            if start and code_of(tokens[start - 1], "header_part") == "per":
                return None  # a carton that something is per is no material
            name = "weight_unit" if any((*of_unit[:start], *of_unit[end:])) else _WEIGHT
            if name == _WEIGHT and (is_share or any((*of_share[:start], *of_share[end:]))):
                name = SHARE_OF_WEIGHT
            return column_of_material(material, types[0] if types else "body", name, header)
    return None


def _without_per_material(tokens: Tokens) -> Tokens:
    """Return the words without `per material`, which a title over columns of materials says: `Gewicht je Material`."""
    pairs = [(code_of(per, "header_part"), code_of(word, "header_word")) for per, word in pairwise(tokens)]
    at = pairs.index(("per", "material")) if ("per", "material") in pairs else len(tokens)
    return (*tokens[:at], *tokens[at + 2 :])


def column_of_material(material: str, part: str, name: str, header: str) -> Column:
    """Return the column of a material, given as `family` or `family grade`, in a part of the packaging."""
    family, _, grade = material.partition(" ")
    key = "_".join([*([] if part == "body" else [part]), *fold(material).split()])
    fixed = {"component_type": part, "material_family": family} | ({"polymer_or_grade": grade} if grade else {})
    field = fields_of("component")[name]
    return Column(f"{key}_{name}", field, "component", 0, header, group=key, fixed=tuple(fixed.items()))


_LONGEST_CODE: Final = 4  # letters of the longest code of a material: `PES` is no plural of `PE`


@lru_cache(maxsize=MOST_KEPT)
def _material_of_word(folded: str) -> str | None:
    """Return the material that words name: a grade, a family, or a family with a kind of it: `plastique pet clair`.

    A word may be in the plural: `verres`, `aciers`.
    """
    families = words("material_family")
    for name in (folded, folded.removesuffix("s")) if len(folded) > _LONGEST_CODE else (folded,):
        if (own := _grades_by_word().get(name) or families.get(name)) is not None:
            return own
    first, _, kind = folded.partition(" ")
    family, rules = families.get(first), ruleset.load()
    code = None if family is None or not kind else resolve_material(kind, rules)
    return f"{family} {kind}" if code is not None and rules.materials[code].family == family else None


@cache
def _grades_by_word() -> dict[str, str]:
    """Return words for a grade of a material, and the grades as column names spell them: `metal tinplate`."""
    grades = words("material_column")
    return {**grades, **{fold(code): code for code in grades.values()}}


def usable_groups(columns: list[Column]) -> list[Column]:
    """Return the group columns that can make components: numbered groups that name a material, else materials.

    A number behind a header may mean anything, and a material's name alone too: a group without a material makes
    no component, and a bare name counts only beside a second material.
    """
    numbered = [column for column in columns if column.group is not None and not column.fixed]
    with_material = {column.group for column in numbered if column.field.name in ("material_family", "component_id")}
    if whole := [column for column in numbered if column.group in with_material]:
        # A weight of a part without a material is kept as a fault of its lines, so that no total lacks a part.
        weights = {column.group for column in numbered if column.field.name in WEIGHTS}
        whole = [column for column in numbered if column.group in with_material | weights]
        weighed = {column.group for column in whole if column.field.name == _WEIGHT}
        weight = fields_of("component")[_WEIGHT]
        return [  # a measured weight is the weight of a group without a specified one
            replace(column, name=f"component_{column.group}_{_WEIGHT}", field=weight)
            if column.field.name == "measured_weight_g" and column.group not in weighed
            else column
            for column in whole
        ]
    materials = [column for column in columns if column.fixed]
    families = {dict(column.fixed).get("material_family") for column in materials if not says_within(column.header)}
    materials = [c for c in materials if not says_within(c.header) or dict(c.fixed)["material_family"] not in families]
    if shares := [column for column in materials if column.field.name == SHARE_OF_WEIGHT]:
        of_weights = [column for column in materials if column not in shares]
        return usable_groups(of_weights) if any(c.field.name == _WEIGHT for c in of_weights) else shares
    several = sum(column.field.name == _WEIGHT for column in materials) > 1
    return materials if several else [column for column in materials if not is_bare_material(column)]
