"""Judges what stands beside each other in a table: parts, weights of materials, what weights are of, their unit.

*Parts side by side* whose headers name the part, `Flasche | Deckel` over `Material | Gewicht` each, are components
where every part of the table is understood: one body is among them, and each has a material. Else none of them is
read, and each is asked about: a graph without a part would be lighter than the packaging.

Beside *weights of known materials* a column written like them (`Poids verre (g)`, `Poids liège (g)`), or between bare
names of materials, is read as a part without a material, so that each line which gives it is a fault: without it a
SKU's total would be too small. A single unknown word beside bare names may mean something else, and is asked about.
A total that is no field by its own words, such as `Total (g)`, is the weight of the packaging there.

*What weights are of* is said by a quantity, a period or a nation (`judge.py` divides by them); a revision, a plant, a
supplier or the day from which it holds tells versions of one packaging apart (`unread.py` asks about those). A remark
such as `All weights in kg` says their unit; one on other weights, such as net ones, leaves it open.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from difflib import get_close_matches
from functools import cache, lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Final

import polars as pl

from pipelines.reading.column_values import PERIOD, Searched, has_numbers
from pipelines.reading.columns import (
    Notes,
    column_of_material,
    is_bare_material,
    known_words,
    part_headers,
    recognise,
    substitute_column,
    with_sense,
)
from pipelines.reading.grammar import (
    MOST_KEPT,
    PIECES,
    Measure,
    Tokens,
    composed_field,
    divided,
    key_of,
    measure_at,
    measures_in,
    mentions,
    names_bundle,
    quantity_of,
    roles_of_word,
    tokens_of,
    unit_in,
    without_measures,
    word_roles,
)
from pipelines.reading.grid import (
    FIELDS_OF_PART,
    LONGEST_HEADER,
    SUPPLIER,
    WEIGHT_HELPERS,
    WEIGHTS,
    Column,
    Table,
    fields_of,
    invalid_mapping,
    letter,
)
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.questions import WHOLE, question
from pipelines.reading.words import SALES, level_of, part_type, read_material, says_recycled, says_within, unit_of
from schemas.fields import SKU_CODE
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import quote
from schemas.vocabularies import VOCABULARIES
from schemas.words import code_lists, code_of, fold, words

_MATERIAL: Final = "material_family"
_TYPE: Final = "component_type"
_LONGEST_PART: Final = 4
"""Words of the longest name of a part: more are a list of what may be filled in."""
_OF_WHOLE: Final = ("material", "weight_grams")
"""Fields of a whole packaging that its body has as well."""


@lru_cache(maxsize=MOST_KEPT)
def part_column(header: str) -> Column | None:
    """Return the column of a part's field behind or before the word for the part: `Cap weight (g)`.

    It is open where the word is none for a part of a known type, and the field is the material.
    """
    unknown: Column | None = None
    for main, notes in divided(header) if len(header) < LONGEST_HEADER else ():
        left, rest = without_measures(main)
        tokens = key_of(left).split()
        if (weight := _weight_of_part(tokens, rest, notes, header)) is not None:
            return weight
        for cut in range(1, len(tokens)):
            for part, term in ((tokens[:cut], tokens[cut:]), (tokens[cut:], tokens[:cut])):
                name = part_headers().get(" ".join(term)) or FIELDS_OF_PART.get(composed_field(term) or "")
                kind = part_type(" ".join(part)) if name not in (None, _TYPE) else None
                if name is None or (kind is None and name != _MATERIAL) or len(part) > _LONGEST_PART:
                    continue
                column = Column(name, fields_of("component")[name], "component", 0, header, group=" ".join(part))
                if kind is None:
                    unknown = unknown or replace(column, open=column.group)
                elif (whole := with_sense(column, rest, notes, loose=False)) is not None and whole.open is None:
                    return replace(whole, fixed=((_TYPE, kind),))
    return unknown


def _weight_of_part(tokens: Sequence[str], rest: Tokens, notes: Notes, header: str) -> Column | None:
    """Return the weight of a part whose word stands beside a unit of mass alone: `Verschluss (g)`."""
    text = " ".join(tokens)
    plain = 0 < len(tokens) <= _LONGEST_PART and not says_within(header) and "weight" not in word_roles(text)
    kind = part_type(text) if plain and level_of(text) in (None, SALES) else None
    if kind is None or not any((measure.unit, measure.state) == ("g", "known") for measure in measures_in(header)):
        return None
    column = Column("weight_g", fields_of("component")["weight_g"], "component", 0, header, group=text)
    whole = with_sense(column, rest, notes, loose=False)
    return None if whole is None or whole.open is not None else replace(whole, fixed=((_TYPE, kind),))


_OF_PACKAGING: Final = frozenset({"cap", "closure", "label", "liner", "seal", "sleeve"})
"""Parts that only packaging has: a product may have a handle."""


def is_of_packaging_part(header: str) -> bool:
    """Return whether a header is of a part that only packaging has: `Closure weight`."""
    column = part_column(header)
    return column is not None and dict(column.fixed).get(_TYPE) in _OF_PACKAGING


def with_part_columns(columns: list[Column], header: Searched) -> list[Column]:
    """Return the columns with those of parts side by side as numbered groups, where all parts are understood."""
    found = _found(columns, header)
    groups = list(dict.fromkeys(column.group for column in found))
    with_material = {column.group for column in found if column.field.name == _MATERIAL}
    once = len({(column.group, column.name) for column in found}) == len(found)
    bodies = {str(column.group) for column in found if (_TYPE, "body") in column.fixed}
    one_body = len(bodies) == 1 and (len(groups) > 1 or not any(map(names_bundle, bodies)))  # `Carton` may hold twelve
    if not (once and one_body and with_material == {*groups}) or any(column.open for column in found):
        return columns
    places = {column.position for column in found}
    numbers = {group: str(at) for at, group in enumerate(groups, 1)}
    parts = [
        replace(column, name=f"component_{numbers[column.group]}_{column.name}", group=numbers[column.group])
        for column in found
    ]
    return [*(column for column in columns if column.position not in places), *parts]


def _found(columns: Sequence[Column], header: Searched) -> list[Column]:
    """Return the columns of parts of a table without others of components; those of materials may be such a part's."""
    others = [column for column in columns if not column.fixed]
    if header.table != "sku" or any(column.table == "component" for column in others):
        return []
    free = header.free([column.position for column in others]).items()
    found = [replace(column, position=at) for at, cell in free if (column := part_column(cell)) is not None]
    return found if any(column.fixed for column in found) else []


def open_parts(columns: Sequence[Column], doubtful: Sequence[Column], header: Searched) -> list[Column]:
    """Return the columns of parts that are not read, as columns that are asked about."""
    taken, names = {c.position for c in (*columns, *doubtful)}, {column.name for column in columns}
    of_sku = {part: name for name, part in FIELDS_OF_PART.items()}
    return [
        replace(column, name=name, field=fields_of("sku")[name], table="sku", group=None, open=column.group)
        for column in _found(columns, header)
        if column.position not in taken and (name := of_sku.get(column.name)) is not None and name not in names
    ]


def parts_asked(
    ignored: Iterable[tuple[int, str]], columns: Sequence[Column], sheet: str | None
) -> tuple[list[Column], Asked] | None:
    """Return the columns that are not read where parts stand beside a packaging, and the question about them.

    Of `Packaging material`, `Packaging weight` beside `Cap material`, `Cap weight` the first two may be of the body or
    of the whole, so that neither is read. None where the mapping names one of them, or nothing is ignored.
    """
    of_sku = {column.field.name: column for column in columns if column.table == "sku" and column.constant is None}
    whole = {FIELDS_OF_PART[name]: column for name, column in of_sku.items() if name in _OF_WHOLE}
    ignored = list(ignored)
    of_sold = ((at, text) for at, text in ignored if level_of(text) in (None, SALES))
    of_several = {token for _, text in ignored if quantity_of(text) is not None for token in tokens_of(text)}
    found = [replace(column, position=at) for at, text in of_sold if (column := part_column(text)) is not None]
    parts = [column for column in found if column.fixed and column.field.name in (_MATERIAL, "weight_g")]
    parts = [column for column in parts if column.group not in of_several]  # `Case weight` beside `Units per case`
    if not parts or len(whole) < len(_OF_WHOLE) or any(c.mapped or c.table == "component" for c in columns):
        return None
    kinds = {str(column.group): dict(column.fixed)[_TYPE] for column in parts}
    numbers = {group: at for at, group in enumerate(kinds, 2)}
    named = {f"component_1_{name}": letter(column.position) for name, column in whole.items()}
    for column in parts:
        named.setdefault(f"component_{numbers[str(column.group)]}_{column.field.name}", letter(column.position))
    types = {f"component_{numbers[group]}_{_TYPE}": kind for group, kind in kinds.items()}
    total = whole["weight_g"]
    headers = ", ".join(quote(column.header) for column in parts)
    message = Message(
        "{headers} are of parts, and {whole} may be of the packaging without them or with them; none of them is read. "
        "If it is without them, say so: mapping={mapping}. If it is with them: mapping={other}.",
        headers=headers,
        whole=quote(total.header),
        mapping={"columns": named, "constants": types},
        other={"columns": {of_sku[name].name: letter(of_sku[name].position) for name in _OF_WHOLE}},
    )
    held = [*whole.values(), *parts]
    return held, question("column", message, could_be=["components", WHOLE], sheet=sheet, text=headers)


def check_component_type(columns: Sequence[Column], mapped: SheetMapping) -> None:
    """Refuse a mapped field of components beside SKUs where nothing says which part of the packaging a line is."""
    every = [*columns, *mapped.constants]
    parts = [column.name for column in every if column.mapped and column.table == "component" and column.group is None]
    if parts and not any(column.name == _TYPE for column in every):
        message = Message(
            "The mapping is wrong: {name} is a component's, and component_type says which part each line is; map "
            'it too, or give it as a constant: {{"constants": {{"component_type": "body"}}}}.',
            name=parts[0],
        )
        raise invalid_mapping(message)


_LONGEST_WEIGHT: Final = 12
"""Words of the longest header that may be a weight of an unknown material."""
_ROLES_OF_OTHERS: Final = frozenset(
    {"measure", "code", "name", "country", "market", "sale", "share", "recycled", "level", "parcel", "count"}
)
_ALIKE: Final = 0.8
"""How alike a header and a word for a material are at least: a plural, a letter too many or too few."""
_WHOLE: Final = "weight_grams"
_OF_TOTAL: Final = frozenset({"packaging", "weight", "sold", "empty", "nothing"})
"""Roles of words beside one for a total."""


_BEHIND_NAME: Final = re.compile(r"[(\[,]")
"""Where a unit or a note begins: `Weißglas (g)`, `PP, kg`."""
_FAMILIES_OF_PACKAGING: Final = frozenset({"glass", "metal", "paper", "plastic"})
"""Families of materials that products are rarely told by: cotton and wax are."""


def unknown_weights(columns: Sequence[Column], header: Searched) -> list[Column]:
    """Return the weights of parts whose material no term of ours names, each as a group of its own.

    The rule-set's words may name it beside weights of other materials (`Polystyrol (g)`), or it is of glass
    (`Weißglas (g)`); else it is not known.
    """
    weights = [c for c in columns if "material_family" in dict(c.fixed) and c.field.name == "weight_g"]
    frames = {frame for column in weights if (frame := _words_beside_material(column)) is not None}
    bare = [column.position for column in weights if is_bare_material(column)]
    of_lines = any(column.name == "component_type" for column in columns)
    of_wholes = any(not says_within(column.header) for column in weights)
    more: list[Column] = []
    for at, cell in header.free([column.position for column in columns]).items():
        if of_lines or not _may_name_weight(cell) or not has_numbers(header, at) or (of_wholes and says_within(cell)):
            continue
        alike = any(frame <= set(fold(cell).split()) for frame in frames)
        beside = bool(weights) and (alike or (len(bare) > 1 and min(bare) < at < max(bare)))
        named = _column_by_rules(at, cell)
        is_weight = (
            named is not None and named.has_unit and (weights or dict(named.fixed)["material_family"] == "glass")
        )
        if named is not None and (beside or is_weight):
            more.append(named)
        elif beside:
            more.append(_column_of_unknown_material(at, cell))
    return more


def _column_by_rules(at: int, header: str) -> Column | None:
    """Return the weight of a part whose material the rule-set's words name beside a unit and a part's word at most.

    A recycled material may be a share of another column's, and is none.
    """
    measures = [measure for measure in measures_in(header) if measure.unit != PIECES]
    words_left = [word for word in without_measures(tokens_of(header))[0] if "weight" not in word_roles(word)]
    parts = [(word, code) for word in words_left if (code := code_of(word, "component_type")) is not None]
    plain = _BEHIND_NAME.split(header, maxsplit=1)[0].strip()
    name = plain if tokens_of(plain) == tuple(words_left) and not parts else ""
    name = name or " ".join(word for word in words_left if (word, code_of(word, "component_type")) not in parts)
    material = read_material(name, "material_family") if name else None
    known = all((measure.unit, measure.state) == ("g", "known") for measure in measures)
    if material is None or len(measures) > 1 or len(parts) > 1 or not known or says_recycled(name):
        return None
    column = column_of_material(f"{material.family} {name}", parts[0][1] if parts else "body", "weight_g", header)
    column = replace(column, position=at)
    return replace(column, factor=measures[0].factor, per=measures[0].per, has_unit=True) if measures else column


def find_possible_materials(columns: Sequence[Column], header: Searched) -> tuple[int, ...]:
    """Return the positions of columns that may be weights of materials.

    A family with a grade of it above numbers is one, also where it stands alone: `Plastique PE`. Right of bare names of
    materials an unknown word is one more.
    """
    free = header.free([column.position for column in columns])
    lone = tuple(at for at, cell in free.items() if _names_material(at, cell, header) and has_numbers(header, at))
    bare = {column.position for column in columns if is_bare_material(column)}
    at = max(bare, default=-2) + 1
    cell = free.get(at)
    if len(bare) < 2 or cell is None or not _may_name_weight(cell) or recognise(cell, at, "sku"):
        return lone
    plain = fold(cell).isalpha() and word_roles(cell) <= {"nothing"}
    return (*lone, at) if plain and has_numbers(header, at) else lone


def _names_material(at: int, cell: str, header: Searched) -> bool:
    """Return whether a header is a family of materials and a grade of it, or a material of packaging in a unit."""
    if header.table != "sku" or len(cell) >= LONGEST_HEADER:
        return False
    column = recognise(cell, 0, "sku")
    if column is None:
        named = _column_by_rules(at, cell) if _may_name_weight(cell) else None
        return named is not None and named.has_unit and dict(named.fixed)["material_family"] in _FAMILIES_OF_PACKAGING
    return len(fold(cell).split()) > 1 and is_bare_material(column) and "polymer_or_grade" in dict(column.fixed)


def about_material(at: int, header: str, columns: Sequence[Column], sheet: str | None) -> Asked:
    """Return a column beside materials as `source.asked` shows it: it may be any material that has no column yet.

    A material whose word is nearly the header's (`Metalle`) comes first, else `other`: the header is no word for one. A
    header that is a material's name alone may be its weight.
    """
    if (named := recognise(header, at, "sku") or _column_by_rules(at, header)) is not None:
        message = Message(
            "{header} is a material, and nothing says that the numbers below it are its weights; it is not read. If "
            "they are, in g, say so: mapping={mapping}.",
            header=quote(header),
            mapping={"columns": {named.name: letter(at)}},
        )
        return question("column", message, could_be=[named.name], column=named, sheet=sheet)
    taken = {column.name for column in columns}
    [nearest, *_] = [*get_close_matches(fold(header), words("material_family"), n=1, cutoff=_ALIKE), "other"]
    likely = words("material_family").get(nearest, nearest)
    families = sorted(VOCABULARIES["material_family"], key=lambda family: (family != likely, family != "other"))
    could_be = [name for family in families if (name := f"{family}_weight_g") not in taken] or ["other_weight_g"]
    message = Message(
        "{header} stands beside weights of materials, and may be one more; it is not read. If it is, the total is "
        "too small without it: name its material, mapping={mapping}.",
        header=quote(header),
        mapping={"columns": {could_be[0]: letter(at)}},
    )
    column = _column_of_unknown_material(at, header)
    return question("column", message, could_be=could_be, column=column, sheet=sheet)


def _words_beside_material(column: Column) -> frozenset[str] | None:
    """Return the words of a header beside its material's; None where none of them means a weight."""
    family = {*fold(str(dict(column.fixed)["material_family"])).split()}
    tokens = fold(column.header).split()
    around = [token for token in tokens if code_of(token, "weight_column") or unit_of(token, "g") is not None]
    weighs = [token for token in around if "weight" in word_roles(token) or unit_of(token, "g") is not None]
    return frozenset(around) - family if weighs else None


def _may_name_weight(cell: str) -> bool:
    """Return whether a header can name a part's weight: not that of an outer level, of a total or of the product."""
    tokens = fold(cell).split()
    if len(tokens) > _LONGEST_WEIGHT or "%" in cell or level_of(cell) not in (None, "sales"):
        return False
    total = any(code_of(token, "line") == "total" for token in tokens)
    return not total and not word_roles(cell) & _ROLES_OF_OTHERS


def _column_of_unknown_material(at: int, header: str) -> Column:
    unit, name = unit_in(header, "g"), f"unknown_{letter(at).lower()}"
    column = Column(f"{name}_weight_g", fields_of("component")["weight_g"], "component", at, header, group=name)
    return column if unit is None else replace(column, factor=unit.factor, per=unit.per, has_unit=True)


def with_total(columns: list[Column], header: Searched) -> list[Column]:
    """Return the columns with the packaging's weight where a total in grams stands beside weights of materials."""
    materials = [column for column in columns if column.group and "material_family" in dict(column.fixed)]
    if not materials or header.table != "sku" or any(column.field.name == _WHOLE for column in columns):
        return columns
    free = header.free([column.position for column in columns]).items()
    totals = [total for at, cell in free if (total := _total(at, cell)) is not None and has_numbers(header, at)]
    return [*columns, *totals] if len(totals) == 1 else columns


def names_total(header: str) -> bool:
    """Return whether a header says only that it is a total, and is no field by that: `Total packaging (g)`."""
    if recognise(header, 0, "sku") is not None:
        return False
    left, _ = without_measures(tokens_of(header))
    totals = [code_of(word, "line") == "total" for word in left]
    others = [word for word, total in zip(left, totals, strict=True) if not total]
    return any(totals) and all((roles := roles_of_word(word)) is not None and roles <= _OF_TOTAL for word in others)


def _total(at: int, cell: str) -> Column | None:
    measures = [measure for measure in measures_in(cell) if measure.unit != PIECES]
    if not names_total(cell) or len(measures) != 1 or (measures[0].unit, measures[0].state) != ("g", "known"):
        return None
    field = fields_of("sku")[_WHOLE]
    return Column(_WHOLE, field, "sku", at, cell, measures[0].factor, per=measures[0].per, has_unit=True)


_FIRST_LINES: Final = 40
_LINES: Final = 200
"""Lines below the header in which a value may come again."""
_DAY: Final = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?:$|[ T])")


def watched_columns(columns: Sequence[Column], header: Searched) -> list[Column]:
    """Return the columns that say what the weights are of: those of no field, and the one of the parts' suppliers."""
    if not any(column.field.name in WEIGHTS for column in columns):
        return []
    quantity = next(field for field in WEIGHT_HELPERS if field.name == "unit_count")
    free = header.free([column.position for column in columns if column.field != SUPPLIER])
    versions = _with_values_again(columns, free, header)
    return [
        Column(f"c{at}", quantity, "sku", at, cell)
        for at, cell in free.items()
        if quantity_of(cell) is not None
        or _tells_versions(cell)
        or at in versions
        or is_of_lines(under := header.under(at, _FIRST_LINES))
        or (bool(len(under)) and all(map(_DAY.match, under)))
    ]


def is_of_lines(cells: pl.Series) -> bool:
    """Return whether cells are periods or nations, by which lines of one part differ."""
    nations = code_lists("markets")["uk_nations"]
    return bool(len(cells)) and (
        bool(cells.str.contains(PERIOD).all()) or all(fold(cell) in nations for cell in cells.unique())
    )


def _tells_versions(header: str) -> bool:
    """Return whether a header names what versions of a packaging differ by: `Version`, `Alternative`, `Plant`."""
    return any(code_of(word, "version_title") is not None for word in (header, *fold(header).split()))


def names_alternatives(header: str) -> bool:
    """Return whether a header says that one of its values holds and not the others: `Alternative`, `Option`."""
    return any(code_of(word, "version_title") == "alternative" for word in (header, *fold(header).split()))


def _with_values_again(columns: Sequence[Column], free: Iterable[int], header: Searched) -> set[int]:
    """Return the free columns by which the lines of one SKU fall into groups of several lines each."""
    code = next((column.position for column in columns if column.field == SKU_CODE), None)
    below = header.grid.cells[max(header.at, header.last) + 1 :].head(_LINES)
    if code is None or below[f"c{code}"].drop_nulls().is_unique().all():
        return set()
    codes, found = below[f"c{code}"].to_list(), set[int]()
    for at in free:
        if measures_in(header.cells[at] or "") or f"c{at}" not in below.columns:
            continue
        pairs = Counter(pair for pair in zip(codes, below[f"c{at}"].to_list(), strict=True) if None not in pair)
        several = Counter(of for (of, _), lines in pairs.items() if lines > 1)
        found |= {at} if any(groups > 1 for groups in several.values()) else set()
    return found


_UNIT: Final = "weight_unit"
_GRAM: Final = (Decimal(1), Decimal(1))
OF_UK_REPORT: Final = "packaging_material_weight"
"""The weight in the United Kingdom's report of packaging data, in kilograms."""
_CLAUSES: Final = re.compile(r"[,;:.!()–-](?=\s|$)")
_LETTER: Final = r"[:(\[=]\s*{}\b"
"""A unit of one letter in a remark, where it is no letter of a word: `Unit: g`, and not `e.g.`."""


def with_stated_unit(columns: list[Column], notes: Sequence[str], doubtful: list[Column]) -> list[Column]:
    """Apply the unit of a remark beside the table, `All weights in kg`, to weights where nothing nearer names one.

    Where all that names a unit is of other weights, `Net weights in kg`, such columns are added to the `doubtful` ones;
    so is the weight of the United Kingdom's report, which is in kilograms there.
    """
    clauses = [clause for text in notes for clause in _CLAUSES.split(text)]
    of_other = {unit for clause in clauses if _is_of_other_weight(clause) for unit in _stated_units(clause)}
    units = {unit for clause in clauses if not _is_of_other_weight(clause) for unit in _stated_units(clause)}
    bare = [c for c in columns if c.field.name in WEIGHTS and c.factor == 1 and not c.has_unit]
    if any(column.field.name == _UNIT for column in columns) or not bare:
        return columns
    if len(units) == 1:
        factor, per = units.pop()
        return [replace(c, factor=factor, per=per) if c in bare else c for c in columns]
    bare = [column for column in bare if not (column.exact or column.mapped or column.group)]
    of_report = [column for column in bare if _is_of_uk_report(column, columns) and not units]
    doubtful += [replace(column, open="kg") for column in of_report]
    columns = [column for column in columns if column not in of_report]
    bare = [column for column in bare if column not in of_report]
    if units or of_other <= {_GRAM} or not bare:
        return columns
    said = next(clause for clause in clauses if _is_of_other_weight(clause) and _stated_units(clause) - {_GRAM})
    doubtful += [replace(column, open=said.strip()) for column in bare]
    return [column for column in columns if column not in bare]


def _is_of_uk_report(column: Column, columns: Sequence[Column]) -> bool:
    """Return whether a weight has the report's own name, or its words beside the report's classes."""
    beside = any(fold(other.header) == "packaging class" for other in columns)
    return column.header.strip() == OF_UK_REPORT or (beside and fold(column.header) == fold(OF_UK_REPORT))


def _is_of_other_weight(text: str) -> bool:
    """Return whether a remark is of a net or gross weight or the product's, and not of the packaging's."""
    roles = word_roles(text)
    return bool(roles & {"measure", "thing", "parcel", "somebody"}) and "packaging" not in roles


def _stated_units(text: str) -> set[tuple[Decimal, Decimal]]:
    """Return the units of mass that a remark on weights or on all figures names, each with what it is per."""
    tokens = tokens_of(text)
    if len(tokens) == 1 or not (mentions(text, "weight") or any(token in words("all_figures") for token in tokens)):
        return set()
    return {(m.factor, m.per) for m, _ in _masses(text) if (m.unit, m.state) == ("g", "known")}


def unit_of_title(title: str) -> str:
    """Return the words of a title over weights that say their unit, or per what they are: `in kg`, `per 1000`."""
    return "" if _is_of_other_weight(title) else " ".join(word for _, said in _masses(title) for word in said)


def _masses(text: str) -> Iterator[tuple[Measure, Sequence[str]]]:
    """Yield the units of mass of a text, and what is per something, with their words.

    A unit behind a figure is none: `Net weight: 5 kg` describes one product; nor is the letter of a word: `e.g.`.
    """
    tokens, at = tokens_of(text), 0
    while at < len(tokens):
        measure, end = measure_at(tokens, at), at + 1
        if measure is not None:
            end = measure.end
            is_letter = len(tokens) > 1 and len(" ".join(tokens[at:end])) == 1
            is_of_word = is_letter and not re.search(_LETTER.format(re.escape(tokens[at])), text, re.IGNORECASE)
            is_figure = bool(measure.unit) and at > 0 and tokens[at - 1].isdigit()
            if measure.unit in ("g", "") and not is_of_word and not is_figure:
                yield measure, tokens[at:end]
        at = end


_SHORTEST_MISSPELT: Final = 4
_LONG: Final = 8
"""Letters of a word of which another letter leaves no other word: `Gericht` is no `Gewicht`."""
_MOST_MISSPELT: Final = 2


def misspelt_column(header: str, position: int, table: Table) -> Column | None:
    """Return the column that a header would be but for a fault of typing, open by the words that have it: `Naem`."""
    column = _misspelt(header, table) if len(header) < LONGEST_HEADER else None
    return None if column is None else replace(column, position=position)


@lru_cache(maxsize=MOST_KEPT)
def _misspelt(header: str, table: Table) -> Column | None:
    tokens = tokens_of(header)
    if len(tokens) == 1 and header.isupper():  # the name of a program's field: `MTART`
        return None
    unknown = [token for token in tokens if not _is_known(token)]
    if not 0 < len(unknown) <= _MOST_MISSPELT or len(tokens) > _LONGEST_WEIGHT:
        return None
    meant = {token: next((word for word in _words_like(token) if _is_fault_of(token, word)), None) for token in unknown}
    if None in meant.values():
        return None
    text = " ".join(meant.get(token) or token for token in tokens)
    column = recognise(text, 0, table) or (substitute_column(text) if table == "sku" else None)
    if column is None or column.group is not None:
        return None
    return replace(column, header=header, exact=False, open=" ".join(unknown))


def _is_known(token: str) -> bool:
    short = len(token) < _SHORTEST_MISSPELT or not token.isalpha()
    return short or token in known_words() or roles_of_word(token) is not None


def _words_like(token: str) -> tuple[str, ...]:
    return _words_by_beginning().get(token[0], ())


@cache
def _words_by_beginning() -> dict[str, tuple[str, ...]]:
    """Return the words of headers by their first letter, which is seldom misspelt."""
    return {letter: tuple(of_letter) for letter, of_letter in groupby(sorted(known_words()), itemgetter(0))}


def _is_fault_of(token: str, word: str) -> bool:
    """Return whether a word is written with a letter too many or too few, two in the other order, or a wrong one."""
    if abs(len(token) - len(word)) > 1 or len(word) < _SHORTEST_MISSPELT:
        return False
    begin = next((at for at, (a, b) in enumerate(zip(token, word, strict=False)) if a != b), min(len(token), len(word)))
    a, b = token[begin:], word[begin:]
    if a[1:] == b or b[1:] == a:
        return min(len(token), len(word)) > _SHORTEST_MISSPELT
    return a[2:] == b[2:] and a[:2] == b[1::-1] if a[1:] != b[1:] else len(word) >= _LONG
