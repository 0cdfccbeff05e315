"""Takes a header apart: its term, and what stands around the term: unit, per what, object, period, market, note.

Each word has a role (`words.csv`, vocabulary `header_part`; `header_word` for words of terms; units in `units.csv`). A
word without one is reported, never dropped. Roles make terms too (`header_roles`): `Poids de l'emballage vide`.
`columns.py` finds the term, and a unit that the caller's mapping writes is read by the same rules (`measure_of`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, lru_cache
from typing import Final, NamedTuple

from compliance import ruleset
from compliance.words import resolve_format, resolve_material
from pipelines.reading.words import SALES, first_words_of_units, is_uncertain, level_at, spellings, unit_of
from schemas.fields import Field
from schemas.texts import WITHOUT_INVISIBLE
from schemas.words import code_of, fold, is_kept, words

UNITS_OF_FIELDS: Final = ("g", "percent", "um", "g/cm3", "mg/kg")
"""Units of fields whose columns may be in another unit."""
TEXTS: Final = ("text", "gtin")
"""Kinds of fields whose notes say no unit."""
PIECES: Final = "units"
"""The unit of a volume."""
BETWEEN: Final = frozenset({"/", "|", ">", "+"})
"""Signs between words of a listed header, which is looked up without them."""
MOST_WORDS: Final = 12
MOST_KEPT: Final = 8_192
"""Headers and words of which it is kept what they mean: as many as the cells that are searched for a header."""
_MOST_PARTS: Final = 40
_TOKEN: Final = re.compile(r"\b(?:w/w|m/m)\b|\d{1,3}(?:[.,'’\s]\d{3})+(?!\d)|[^\W_]+|[%‰€$£/+&<>≤≥=×|]")
_FOOTNOTE: Final = re.compile(r"(?<=[^\W\d_]{3})[¹²³⁰-⁹]+(?!\w)")
"""The mark of a footnote behind a word: `material¹`; `cm²` has a shorter one."""
_GROUPED: Final = re.compile(r"(?<=\d)[.,'’\s](?=\d{3})")
_BRACKETS: Final = re.compile(r"[(\[]([^()\[\]]*+)[)\]]?")
_CLAUSES: Final = re.compile(r"[,;](?=\s)")
"""Where a note goes on to something else: `see sheet 4, per case`."""
_LONGEST_PHRASE: Final = 4
_NUMBERS: Final = frozenset({"number", "numero", "liczba"})
"""Words for a count that are words for an identifier too."""
_LONGEST_QUANTITY: Final = 8
"""Words of the longest header of a quantity."""
_BEFORE_MEASURE: Final = frozenset({"in", "per", "for", "one", "thousand", "million"})
"""Roles of words with which a unit or a quantity may begin."""
_OF_QUANTITY: Final = {"per", "for", "bundle", "size", "thousand", "million"}
_WITH_LEVEL: Final = ("material", "material_subtype", "weight_grams", "packaging_format", "recycled_content_percent")
"""Fields of the packaging that forms have for each level."""
_CHANGES_MEANING: Final = frozenset({"measure", "somebody", "thing", "parcel", "except"})
"""Roles of words that change a header's meaning: of the product, of somebody else, of less or more than the whole."""
_OF_PACKAGING: Final = frozenset({"packaging", "empty", "piece", "sold", "nothing", "unit_of_sale", "tare"})
"""Roles of words that a note may have without changing what its column means."""

Tokens = Sequence[str]


class Segments(NamedTuple):
    """The words of a header: its main text, and its notes in brackets or on further lines."""

    main: tuple[str, ...]
    notes: tuple[tuple[str, ...], ...]


class Measure(NamedTuple):
    """A unit and what it is per, up to `end`: a number times `factor` is in the field's unit, `unit`.

    `unit` is empty where only a quantity is named, `per 1000`, which `per` divides by in any unit. `state` is `open`
    where a number is missing (`per case`), and `other` where it is no quantity of a field (`per m²`).
    """

    end: int
    unit: str
    factor: Decimal
    per: Decimal
    state: str = "known"


@dataclass(frozen=True, slots=True)
class Sense:
    """What the words around a term say: the factor of a unit, whether the column is something else, what is unknown.

    `measured` is true where a unit or a quantity is among the words.
    """

    factor: Decimal = Decimal(1)
    per: Decimal = Decimal(1)
    has_unit: bool = False
    other: bool = False
    measured: bool = False
    unknown: tuple[str, ...] = ()


@lru_cache(maxsize=MOST_KEPT)
def tokens_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, folded, and its signs that mean something; a number without its grouping."""
    tokens: list[str] = []
    for token in _TOKEN.findall(_FOOTNOTE.sub("", text.translate(WITHOUT_INVISIBLE))):
        tokens += [_GROUPED.sub("", token)] if token[0].isdigit() and not token.isalnum() else _folded(token)
    return tuple(tokens)


@lru_cache(maxsize=MOST_KEPT)
def _folded(token: str) -> list[str]:
    return fold(token).split()


@lru_cache(maxsize=MOST_KEPT)
def divided(header: str) -> tuple[Segments, ...]:
    """Return the ways to divide each spelling of a header of not too many words."""
    return tuple(way for text in spellings(header) for way in _segmentations(text, MOST_WORDS))


def _segmentations(header: str, most: int) -> list[Segments]:
    """Return the ways to divide a header: all of it is the term, without its brackets, or its first line alone."""
    ways = [Segments(tokens_of(header), ())]
    lines = [line for line in header.splitlines() if line.strip()]
    for main, below in ((" ".join(lines), []), (lines[0] if lines else "", lines[1:])):
        bare = tokens_of(_BRACKETS.sub(" ", main))
        told = [*_BRACKETS.findall(main), *(re.sub(r"[()\[\]]", " ", line) for line in below)]
        notes = [tokens_of(clause) for note in told for clause in _CLAUSES.split(note)]
        ways.append(Segments(bare, tuple(note for note in notes if note)))
    return list(dict.fromkeys(way for way in ways if 0 < len(way.main) <= most))


def key_of(tokens: Tokens) -> str:
    """Return words as listed headers are looked up."""
    return " ".join(token for token in tokens if token not in BETWEEN)


def measure_at(tokens: Tokens, at: int) -> Measure | None:
    """Return the unit that begins at a word, with what it is per; or a quantity alone: `per 1000`, `per case of 12`."""
    role = _role(tokens, at)[0]
    if role not in _BEFORE_MEASURE and not _may_be_unit(tokens[at]) and not tokens[at].isdigit():
        return None
    begin = at + 1 if role == "in" else at
    unit = _unit_at(tokens, begin)
    if unit is None:
        return _count_of_pieces(tokens, begin) or _per_at(tokens, at)
    end, name, factor = unit
    per = _per_at(tokens, end) or _each_at(tokens, end)
    return Measure(end, name, factor, Decimal(1)) if per is None else per._replace(unit=name, factor=factor * per.per)


def measures_in(text: str) -> list[Measure]:
    """Return the units and quantities that a text names, in their order."""
    return [measure for measure, _ in _parts(tokens_of(text)[:_MOST_PARTS]) if measure is not None]


def unit_in(text: str, unit: str) -> Measure | None:
    """Return the only unit among words; None where there is none or two, or something else. A single word is none."""
    measures = [measure for measure in measures_in(text) if measure.unit != PIECES]
    alone = len({(measure.unit, measure.factor) for measure in measures}) == 1 and len(tokens_of(text)) > 1
    return measures[0] if alone and (measures[0].unit, measures[0].state) == (unit, "known") else None


def is_unit(text: str) -> bool:
    """Return whether a whole text is a unit of a field: `kg`, `%`."""
    return any(measure_of(text, unit) is not None for unit in UNITS_OF_FIELDS)


def measure_of(expression: str, unit: str | None) -> Sense | None:
    """Return what a whole text says as a unit of a field: `kg/1000`, `per case of 12`; None where a word says more."""
    field = Field("", "number", "", unit=unit)
    tokens = tokens_of(expression)
    sense = sense_of(tokens, field) if 0 < len(tokens) <= _MOST_PARTS else Sense(other=True)
    return None if sense.other or sense.unknown or not sense.measured else sense


def unit_behind(text: str, unit: str | None, field: str = "") -> Measure | None:
    """Return what words behind a number say as a field's unit: `g/Stk`, `Tsd. Stück`; None where a word says more.

    A word of the `field` itself says no more: `% PCR` of a recycled content.
    """
    tokens = () if is_uncertain(text) else tokens_of(text)
    measure = measure_at(tokens, 0) if 0 < len(tokens) <= MOST_WORDS else None
    if measure is None or (measure.unit, measure.state) != (unit, "known"):
        return None
    roles = (roles_of_word(token) for token in tokens[measure.end :])
    return measure if all(role and field.startswith(tuple(role)) for role in roles) else None


def names_quantity(text: str) -> bool:
    """Return whether a word of a text is about a unit or a quantity: a unit, a number, a case, `per`."""
    tokens = tokens_of(text)
    roles = {_role(tokens, at)[0] for at in range(len(tokens))}
    return bool(measures_in(text) or roles & _OF_QUANTITY or any(map(str.isdigit, tokens)))


def says_unit(cell: str, *, certain: bool = False) -> bool:
    """Return whether words are a unit, of a volume too (`1000 pcs`), or about one: `cases of 12`, unless `certain`."""
    if is_unit(cell) or code_of(cell, "line") == "help":  # `M` and `K` are flags there, and no numbers
        return is_unit(cell)
    said = unit_behind(cell, PIECES) is not None if certain else names_quantity(cell)
    return said and any(map(str.isalpha, cell))


def names_bundle(text: str) -> bool:
    """Return whether a word of a text is an object that holds several pieces: a case, a pallet."""
    tokens = tokens_of(text)
    return any(_role(tokens, at)[0] == "bundle" for at in range(len(tokens)))


def without_measures(tokens: Tokens) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words without units and quantities, and the words of those."""
    left: list[str] = []
    measures: list[str] = []
    for measure, words_found in _parts(tokens):
        (left if measure is None or measure.unit == PIECES else measures).extend(words_found)
    return tuple(left), tuple(measures)


def _parts(tokens: Tokens) -> Iterator[tuple[Measure | None, Tokens]]:
    at = 0
    while at < len(tokens):
        measure = measure_at(tokens, at)
        end = at + 1 if measure is None else measure.end
        yield measure, tokens[at:end]
        at = end


def sense_of(tokens: Tokens, field: Field, *, note: bool = False, settled: bool = False) -> Sense:
    """Return what words around the term of a field say; in a `note`, words of the packaging change nothing.

    Where the field is `settled`, its words may be anything but a *per* without what something is per.
    """
    sense, at, seen, after_unit = Sense(other=not settled and _denies(tokens, field)), 0, False, False
    while at < len(tokens):
        measure = measure_at(tokens, at)
        if measure is not None and (measure.unit != PIECES or field.unit == PIECES):
            sense, at = _with_measure(sense, measure, field, tokens[at : measure.end]), measure.end
            after_unit = bool(measure.unit)
            continue
        is_per, is_sign = _role(tokens, at)[0] == "per", tokens[at] in ("/", "|") and not after_unit
        if settled:
            role, end = (
                ("unknown" if is_per and measure is None else "known"),
                at + 2 if measure is None else measure.end,
            )
        else:
            role, end = _role_of(tokens, at, field, note=note)
        # What is to be seen has any name; what something is per is said apart: `see sheet 4, per case`.
        seen = (seen or role == "see") and not is_per
        after_unit = False
        if role == "other":
            sense = replace(sense, other=True)
        elif role == "unknown" and not seen and not is_sign:
            sense = replace(sense, unknown=(*sense.unknown, *tokens[at:end]))
        at = at + 1 if settled and measure is None else end
    return sense


def _denies(tokens: Tokens, field: Field) -> bool:
    """Return whether a word for no denies a field: `Non-reusable`, `% non recyclé`; `yes/no` lists its values.

    Of a text it may be anything, of a whole number or a record its number, and a letter is no word but of a question.
    """
    if field.kind in (*TEXTS, "code", "integer", "uuid"):
        return False
    answers = words("truth")
    said = [answers.get(token) for token in tokens if len(token) > 1 or field.kind == "truth"]
    return said.count("false") > said.count("true")


def _with_measure(sense: Sense, measure: Measure, field: Field, said: Tokens) -> Sense:
    """Add a unit or a quantity; one of another kind, or a second, is not what the field is in."""
    sense = replace(sense, measured=True)
    if field.kind in ("truth", *TEXTS):  # `above 0.1 %` is a part of what is answered by yes or no
        of_another = names_bundle(" ".join(said))
        return replace(sense, unknown=(*sense.unknown, *said)) if of_another else sense
    if measure.state == "other" or (measure.unit and measure.unit != field.unit):
        if field.unit in (PIECES, None):
            return replace(sense, unknown=(*sense.unknown, *said))
        return replace(sense, other=True)
    again = (sense.has_unit and measure.unit and measure.factor != sense.factor) or (
        sense.per != 1 and measure.per != 1
    )
    if measure.state == "open" or again:
        return replace(sense, unknown=(*sense.unknown, *said))
    if sense.has_unit and measure.unit:
        return sense
    has_unit = sense.has_unit or bool(measure.unit)
    return replace(sense, factor=sense.factor * measure.factor, per=sense.per * measure.per, has_unit=has_unit)


def joined(senses: Sequence[Sense]) -> Sense:
    """Return what the parts of a header say together; a second unit is not understood."""
    units = {sense.factor / sense.per for sense in senses if sense.has_unit}
    pers = {sense.per for sense in senses if sense.per != 1}
    whole = Sense(
        next(iter(units), Decimal(1)) * next(iter(pers), Decimal(1)),
        next(iter(pers), Decimal(1)),
        bool(units),
        any(sense.other for sense in senses),
        any(sense.measured for sense in senses),
        tuple(token for sense in senses for token in sense.unknown),
    )
    if len(units) > 1 or len(pers) > 1:
        whole = replace(whole, unknown=(*whole.unknown, *(str(unit) for unit in sorted(units | pers))))
    return whole


def unit_of_mapped(header: str, field: Field) -> Sense:
    """Return what the header of a column says about its unit whose field is settled; its other words may be anything.

    Unknown is a note with a unit or a quantity of which a part was not understood, and a word for *per* without what
    it is per.
    """
    *_, (main, notes) = _segmentations(header, _MOST_PARTS) or [Segments((), (tokens_of(header),))]
    senses = []
    for segment in (main, *notes):
        sense = sense_of(segment, field, settled=True)
        if segment is not main and (sense != Sense() or any(map(str.isdigit, segment))):
            whole = sense_of(segment, field, note=True)
            sense = replace(whole, unknown=tuple(dict.fromkeys((*whole.unknown, *sense.unknown))))
        senses.append(replace(sense, other=False, unknown=segment) if sense.other else sense)
    return joined(senses)


def _role_of(tokens: Tokens, at: int, field: Field, *, note: bool) -> tuple[str, int]:
    """Return what a phrase is to a field, `known`, `other`, `see` or `unknown`, and its end."""
    for end in range(min(len(tokens), at + _LONGEST_PHRASE), at, -1) if note else ():
        if _is_value(" ".join(tokens[at:end]), field):
            return "known", end
    level, end_of_level = level_at(tokens, at, in_title=note) or (None, at)
    role, end = _role(tokens, at)
    if note and field.kind in TEXTS:  # a note on a text may say anything but that it is another object's
        changed = (roles_of_word(tokens[at]) or frozenset()) & _CHANGES_MEANING
        of_another = level not in (None, SALES) or role == "bundle" or changed
        return ("unknown" if of_another else "known"), max(end_of_level, end)
    if level is not None and (note or field.name in _WITH_LEVEL):
        return ("known" if level == SALES else "other"), end_of_level
    of_volume = field.unit == PIECES
    match role:
        case "see" | "remark":
            return ("see" if role == "see" else "known"), end
        case "year":
            return ("known" if of_volume else "other"), end
        case "bundle":
            return ("unknown" if of_volume else "other"), end
        case "other" | "size" | "period":
            return "other", end
    roles = roles_of_word(tokens[at]) or frozenset()
    end = end if role == "one" else at + 1
    if role == "one" and note:  # `Einheit` may say that the unit stands elsewhere
        return ("unknown" if not (field.unit is None or of_volume) and roles & {"unit", "unit_name"} else "known"), end
    if roles & _CHANGES_MEANING:
        return "other", end
    is_harmless = (bool(roles) and roles <= _OF_PACKAGING) or (of_volume and tokens[at] in words("selling"))
    return ("known" if note and (is_harmless or (tokens[at].isdigit() and field.unit is None)) else "unknown"), end


def _is_value(phrase: str, field: Field) -> bool:
    """Return whether a phrase is a value of the field, as of a list of what may be filled in."""
    vocabulary = "truth" if field.kind == "truth" else field.vocabulary
    if vocabulary in ("material", "material_family") and resolve_material(phrase, ruleset.load()) is not None:
        return True
    if field.name in ("packaging_format", "component_type") and resolve_format(phrase, ruleset.load()) is not None:
        return True
    return vocabulary is not None and phrase in words(vocabulary)


def is_help(note: Tokens, field: Field) -> bool:
    """Return whether a note only tells who fills in the form how: `mandatory`, `yes/no`."""
    phrase = " ".join(note)
    helps = code_of(phrase, "line") == "help"
    return helps and (field.unit is None or (len(phrase) > 1 and _role(note, 0)[0] != "one"))


def _role(tokens: Tokens, at: int) -> tuple[str | None, int]:
    """Return the role of the longest phrase at a word, and its end."""
    if (reach := _longest_from().get(tokens[at])) is None:
        return None, at + 1
    roles = words("header_part")
    for end in range(min(len(tokens), at + reach), at, -1):
        if (role := roles.get(" ".join(tokens[at:end]))) is not None:
            return role, end
    return None, at + 1


@cache
def _longest_from() -> dict[str, int]:
    return longest_by_first_word(words("header_part"))


def longest_by_first_word(phrases: Iterable[str]) -> dict[str, int]:
    """Return by its first word how many words the longest of the phrases has: no more need to be looked up."""
    longest: dict[str, int] = {}
    for first, *more in map(str.split, phrases):
        longest[first] = max(longest.get(first, 0), 1 + len(more))
    return longest


def _unit_at(tokens: Tokens, at: int) -> tuple[int, str, Decimal] | None:
    if at >= len(tokens) or not _may_be_unit(tokens[at]):
        return None
    for end in range(min(len(tokens), at + 3), at, -1):
        if tokens[end - 1] == "/" or not all(map(is_kept, tokens[at:end])):
            continue
        unit = _unit_of_phrase(" ".join(tokens[at:end]))
        if unit is not None:
            return end, *unit
    return None


def _may_be_unit(token: str) -> bool:
    return token in first_words_of_units() or not token[0].isalnum()


@lru_cache(maxsize=MOST_KEPT)
def _unit_of_phrase(phrase: str) -> tuple[str, Decimal] | None:
    for field_unit in UNITS_OF_FIELDS:
        if (unit := unit_of(phrase, field_unit)) is not None:
            return field_unit, unit.factor
    return None


def _count_at(tokens: Tokens, at: int) -> tuple[int, Decimal] | None:
    """Return the end and the value of a number that is no year, or of a word for one."""
    if at >= len(tokens):
        return None
    role, end = _role(tokens, at)
    if role in ("thousand", "million"):
        return end, Decimal(1000 if role == "thousand" else 1_000_000)
    number = tokens[at]
    counts = number.isascii() and number.isdigit() and len(number) <= 7 and int(number) > 1
    return (at + 1, Decimal(number)) if counts and not 2000 < int(number) <= 2100 else None


def _count_of_pieces(tokens: Tokens, at: int) -> Measure | None:
    """Return the multiplier of a volume: `in 1000 pcs`, `Tsd. Stück`, `k`; the word for a piece alone is none."""
    count = _count_at(tokens, at)
    if count is not None and count[1] not in (1000, 1_000_000):
        return None
    end, factor = (at, Decimal(1)) if count is None else count
    role, after = _role(tokens, end) if end < len(tokens) else (None, end)
    end = after if role == "one" else end
    return Measure(end, PIECES, factor, Decimal(1)) if end > at else None


def _each_at(tokens: Tokens, at: int) -> Measure | None:
    """Return that a unit is per one where a word behind it says so without *per*: `g each`, `g c/u`."""
    ends = range(min(len(tokens), at + _LONGEST_PHRASE), at, -1)
    end = next((end for end in ends if key_of(tokens[at:end]) in words("each")), None)
    return None if end is None else Measure(end, "", Decimal(1), Decimal(1))


def _per_at(tokens: Tokens, at: int) -> Measure | None:
    """Return the quantity that something is per: one, 1000, a case of 12; `other` for a surface, a year, a mass."""
    role, at = _role(tokens, at) if at < len(tokens) else (None, at)
    if role not in ("per", "for"):
        return None
    if at > 1 and tokens[at - 1] == "/" and tokens[at - 2] in words("material_family"):
        return None  # `Papier/Karton` is one material
    while at + 1 < len(tokens) and _is_link(tokens[at]):
        at += 1
    if (count := _count_at(tokens, at)) is not None:
        role, end = _role(tokens, count[0]) if count[0] < len(tokens) else (None, count[0])
        whole = Measure(end if role in ("one", "bundle") else count[0], "", 1 / count[1], 1 / count[1])
        return _size_at(tokens, count[0]) or (whole._replace(state="open") if role == "bundle" else whole)
    if at < len(tokens) and _role(tokens, at)[0] in ("one", "bundle"):
        role, end = _role(tokens, at)
        return _per_object(tokens, end, is_single=role == "one")
    return _size_at(tokens, at)


def _size_at(tokens: Tokens, at: int) -> Measure | None:
    """Return that something is per a size, a period or an amount of the product, which no packaging is counted by."""
    if at >= len(tokens):
        return None
    (role, end), unit = _role(tokens, at), _unit_at(tokens, at)
    is_volume = tokens[at] in words("volume_unit") and at + 1 == len(tokens)
    if role in ("size", "year", "period") or unit is not None or is_volume:
        return Measure(max(end, (unit or (end,))[0]), "", Decimal(1), Decimal(1), "other")
    return None


def _per_object(tokens: Tokens, at: int, *, is_single: bool) -> Measure:
    """Return the quantity that an object holds, `of 12`; an object that is no single one needs it."""
    begin = at
    while begin < len(tokens) and (_is_link(tokens[begin]) or tokens[begin] in ("x", "×")):
        begin += 1
    count = _count_at(tokens, begin)
    if count is None:
        return Measure(at, "", Decimal(1), Decimal(1), "known" if is_single else "open")
    role, end = _role(tokens, count[0]) if count[0] < len(tokens) else (None, count[0])
    return Measure(end if role == "one" else count[0], "", 1 / count[1], 1 / count[1])


def _is_link(token: str) -> bool:
    return words("header_word").get(token) == "nothing" or words("header_part").get(token) == "link"


_SHORTEST_PART: Final = 2
_STEM: Final = 4
"""A beginning of a word must be longer than this many letters to count as the word: `pack` begins `package` too."""
_NOTHING: Final = "nothing"


@lru_cache(maxsize=MOST_KEPT)
def roles_of_word(token: str) -> frozenset[str] | None:
    """Return the role of a word, or the roles of the two words of a compound: `Verpackungsgewicht`."""
    roles = words("header_word")
    if token in roles:
        return frozenset({roles[token]})
    if len(token) > _longest_compound():  # each cut copies the word
        return None
    for cut in range(_SHORTEST_PART, len(token) - _SHORTEST_PART + 1):
        first, second = roles.get(token[:cut]) or roles.get(token[:cut].removesuffix("s")), roles.get(token[cut:])
        if first is not None and second is not None and {first, second} != {_NOTHING}:  # `Leder` is no article twice
            return frozenset({first, second})
    return None


@cache
def _longest_compound() -> int:
    """Return the length of two of the longest words with a letter between them."""
    return 2 * max(map(len, words("header_word"))) + 1


@lru_cache(maxsize=MOST_KEPT)
def word_roles(header: str) -> frozenset[str]:
    """Return the roles of those words of a header that have one."""
    tokens = [token for text in {header, *spellings(header)} for token in tokens_of(text)[:MOST_WORDS]]
    return frozenset(role for token in tokens for role in (roles_of_word(token) or ()))


def names_packaging(header: str) -> bool:
    """Return whether a word of the header names the packaging: `Packaging Weight (g)`, `PKG_WEIGHT`."""
    return "packaging" in word_roles(header)


@lru_cache(maxsize=MOST_KEPT)
def mentions(text: str, role: str) -> bool:
    """Return whether a word of a header, title or sheet name has a role or begins so: `Verpackungsdaten`."""
    if role in word_roles(text):
        return True
    begin = tuple(word for word, word_role in words("header_word").items() if word_role == role and len(word) > _STEM)
    return any(token.startswith(begin) for token in fold(text).split()[:_MOST_PARTS])


def composed_field(tokens: Tokens) -> str | None:
    """Return the SKU's field that the roles of all words make together; None where one word has no role.

    No list contains every wording. `Poids net (g)` has a word without a role: it is not the packaging's.
    """
    of_tokens = [roles_of_word(token) for token in tokens]
    if None in of_tokens:
        return None
    roles = {role for of_token in of_tokens for role in of_token or ()} - {_NOTHING}
    return words("header_roles").get(fold(" ".join(sorted(roles))))


def quantity_of(header: str) -> str | None:
    """Return what the header of a quantity says: `per` one packaging, a `count` of something; None for another one.

    With a word that is not known it is a count of something; `Komponentenmenge` is one by its end.
    """
    tokens = fold(header).split()
    if not 0 < len(tokens) <= _LONGEST_QUANTITY:
        return None
    ends = ("menge", "anzahl", "stuckzahl", "quantity")
    roles = {code_of(token, "quantity") or ("count" if token.endswith(ends) else None) for token in tokens}
    if "count" not in roles:
        return "per" if roles == {"per"} else "count" if counts_packagings(header) else None
    return "per" if "per" in roles and None not in roles else "count"


def counts_packagings(header: str) -> bool:
    """Return whether a header counts packagings: `Nombre d'emballages par UVC`; `Anzahl je Verpackung` counts pieces.

    A number is one of several alone: `Numero di imballaggi`, as `Numéro d'emballage` identifies one.
    """
    tokens = fold(header).split()
    roles = [code_of(token, "quantity") for token in tokens]
    end = roles.index("per") if "per" in roles else len(roles)
    several = [at for at, token in enumerate(tokens[:end]) if token in words("packagings")]
    if several and not _NUMBERS.isdisjoint(tokens[: several[-1]]):
        return True
    named = [at for at, token in enumerate(tokens[:end]) if "packaging" in (roles_of_word(token) or ())]
    return any("count" in roles[:at] for at in (several + named))
