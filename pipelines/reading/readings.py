"""Counts what the texts of a table became: `Weißblech` is metal, tinplate; 25 is 25 g (decisions §13).

Each different text of a column of words is read once, by the functions that read its cells, and of each column of
numbers the first cell. What a text loses on the way comes first. It decides nothing: it is for people who check an
import.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isclose
from typing import Final

import polars as pl

from compliance import ruleset
from compliance.words import resolve_format
from pipelines.reading.cells import type_sheet
from pipelines.reading.fields import CLEARED, NUMBERS, PART_HELPERS, SKU_HELPERS, Column
from pipelines.reading.grid import letter
from pipelines.reading.sheet import Sheet
from pipelines.reading.values import MATERIALS, read_values, unescaped
from pipelines.reading.words import facts_of_text, family_of_detail, part_type, read_material, unit_by_factor
from schemas.imports.types import Reading
from schemas.words import code_of, fold

MOST: Final = 200
_MOST_TEXTS: Final = 400
"""Texts of one column that are read, the most frequent first: a column of more is none of words."""
_LONGEST: Final = 200
_DETAILS: Final = ("material_subtype", "polymer_or_grade")
_WORDS: Final = ("code", "codes", "markets", "truth")
_SIGNS: Final = {"percent": "%"}


@dataclass(frozen=True, slots=True)
class _Text:
    """A text of a column with its number of rows; `cell` is what a mapping or an own word made of it."""

    text: str
    cell: str
    rows: int


def readings_of(before: Sheet, *after: Sheet) -> list[Reading]:
    """Return what the texts of a table became, those of merged cells included.

    `after` are the tables of SKUs and of components that it was split into. `before` has the cells as the file has
    them, a row a line.
    """
    named = {column.position: column for column in before.columns if column.constant is None}
    found: dict[tuple[int, str, str], tuple[bool, Reading]] = {}
    for sheet in after:
        read = [(c, own) for c in sheet.columns if c.constant is None and (own := named.get(c.position)) is not None]
        for column, own in read:
            for told, value, loses in () if _is_derived(column, sheet, own) else _of_words(column, own, before, sheet):
                reading = _reading(column, told.text, value, told.rows)
                found.setdefault((column.position, told.text, value), (loses, reading))
        for column, _ in read:
            for text, rows in before.filled.get(column.position, {}).items():  # of merged cells
                value = unescaped(pl.Series([text])).str.strip_chars()[0]
                if not any(key[:2] == (column.position, text) for key in found):
                    found[column.position, text, value] = (False, _reading(column, text, value, rows))
    lossy = [reading for loses, reading in found.values() if loses]
    kept = [reading for loses, reading in found.values() if not loses]
    samples = [reading for sheet in after for reading in _samples(sheet)]
    return [*lossy, *samples, *kept][:MOST]


def _reading(column: Column, text: str, value: str, rows: int) -> Reading:
    cut = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return {"column": letter(column.position), "field": column.name, "text": cut, "value": value, "rows": rows}


def _is_derived(column: Column, sheet: Sheet, own: Column) -> bool:
    """Return whether a column only keeps what the text of a material beside it says: its detail, its colour."""
    if column.field.name in MATERIALS or column.field == own.field:
        return False
    same = [other for other in sheet.columns if other.position == column.position and other.group == column.group]
    return any(other.field.name in (*MATERIALS, "polymer_or_grade") for other in same if other is not column)


def _of_words(column: Column, own: Column, before: Sheet, sheet: Sheet) -> Iterator[tuple[_Text, str, bool]]:
    """Yield each text of a column with what it became, and whether that says less than the text."""
    name = column.field.name
    if column.field.kind not in _WORDS and name not in (*_DETAILS, "packaging_format", "shape"):
        return
    beside: Column | None = None  # the column of the file that gives the detail of a material itself
    if name in MATERIALS:
        details = (c for c in sheet.columns if (c.group, c.table) == (column.group, column.table))
        position = next((c.position for c in details if c.field.name in _DETAILS and c.constant is None), None)
        beside = next((c for c in before.columns if c.position == position and c.constant is None), None)
        if beside is not None and (beside.field.name not in _DETAILS or position == column.position):
            beside = None
    cells = before.table[own.name]
    groups = [(cells, True)]
    if beside is not None:
        given = before.table[beside.name].is_not_null()
        groups = [(cells.filter(~given), True), (cells.filter(given), False)]
    for part, keeps_detail in groups:
        texts = _texts(part, before.replaced.get(own.name, {}) if len(groups) == 1 else {})
        values = _values([told.cell for told in texts], column, own, before, keeps_detail=keeps_detail)
        for told, value in zip(texts, values, strict=True):
            if value is not None:
                yield told, value, _loses(told, value, column, keeps_detail=keeps_detail)


def _texts(cells: pl.Series, replaced: Mapping[str, tuple[str, int]]) -> list[_Text]:
    """Return the texts of a column, most frequent first; `replaced` are those that were replaced, with their rows."""
    counts = cells.drop_nulls().value_counts(sort=True).head(_MOST_TEXTS)
    before = [_Text(text, cell, rows) for text, (cell, rows) in replaced.items()]
    taken: dict[str, int] = {}
    for told in before:
        taken[told.cell] = taken.get(told.cell, 0) + told.rows
    rest = [(text, rows - taken.get(text, 0)) for text, rows in counts.iter_rows()]
    return [*before, *(_Text(text, text, rows) for text, rows in rest if rows > 0)]


def _values(
    cells: Sequence[str], column: Column, own: Column, before: Sheet, *, keeps_detail: bool
) -> list[str | None]:
    """Return what is stored for each cell, as it is shown; None where the cell is a fault, or clears its field."""
    name, plain = column.field.name, unescaped(pl.Series(cells, dtype=pl.String)).to_list()
    plain = [None if cell is None or cell in CLEARED else cell for cell in plain]
    if name in MATERIALS:
        of_detail = own.field.name in _DETAILS
        return [None if cell is None else _material(cell, column, of_detail, keeps_detail) for cell in plain]
    if name in _DETAILS:
        facts = [{} if cell is None or column.table == "sku" else facts_of_text(cell) for cell in plain]
        return [_listed(cell, facts) if facts else None for cell, facts in zip(plain, facts, strict=True)]
    if name == "packaging_format":
        return [None if cell is None else _format(cell) for cell in plain]
    if name == "shape":
        return [None if cell is None else part_type(cell) for cell in plain]
    if name == "component_type":
        answered = before.part_words()
        plain = [cell if cell is None else answered.get(fold(cell)) or cell for cell in plain]
    typed = read_values(pl.Series(plain, dtype=pl.String), column, before.marks.get(own.name), None).values
    return [None if value is None else _shown(value) for value in typed.to_list()]


def _shown(value: object) -> str:
    """Return a typed value as text: truths and lists as in JSON and in a cell."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return ", ".join(text.strip("{}").split(",")) if text.startswith("{") else text


def _material(cell: str, column: Column, of_detail: bool, keeps_detail: bool) -> str | None:
    if of_detail:
        family = family_of_detail(cell)
        return None if family is None else f"{family}, {cell}"
    if (named := read_material(cell, str(column.field.vocabulary))) is None:
        return None
    family, detail = named
    facts = facts_of_text(detail or "") if column.table == "component" else {}
    return _listed(family if detail is None or not keeps_detail else f"{family}, {detail}", facts)


def _listed(text: str | None, facts: dict[str, str]) -> str:
    """Return a material with what its text says of its part: `plastic, PET schwarz, dark`."""
    return ", ".join([str(text), *("metallised" if name == "metallised" else fact for name, fact in facts.items())])


def _format(cell: str) -> str:
    """Return a format as it is stored, and what it is read as: `Bocal, jar`."""
    found = resolve_format(cell, ruleset.load())
    return cell if found is None or fold(found.key) == fold(cell) else f"{cell}, {found.key}"


def _loses(told: _Text, value: str, column: Column, *, keeps_detail: bool) -> bool:
    """Return whether a value says less than its text: `Flasche` as body, a text that a mapping made a family."""
    if told.text != told.cell:
        return fold(told.text) not in fold(value)
    if column.field.name in MATERIALS:
        named = read_material(told.text, str(column.field.vocabulary))
        return not keeps_detail and named is not None and named.detail is not None
    return column.field.name in ("component_type", "shape") and code_of(told.text, "component_type") is None


def _samples(sheet: Sheet) -> Iterator[Reading]:
    """Yield the first cell of each column of numbers with the number that is stored, and its unit."""
    helpers = {field.name for field in (*SKU_HELPERS, *PART_HELPERS)}
    columns = [c for c in sheet.columns if c.field.kind in NUMBERS and c.field.name not in helpers and not c.constant]
    first = {column.name: sheet.table[column.name].is_not_null().arg_max() for column in columns}
    at = sorted({place for place in first.values() if place is not None})
    if not at:
        return
    needed = [c for c in sheet.columns if c in columns or c.field.name in ("sku_code", *helpers)]
    typed = type_sheet(replace(sheet.rows_at(at), columns=tuple(needed)))
    for column in columns:
        place = first[column.name]
        text = None if place is None else sheet.table[column.name][place]
        value = None if place is None else typed.values[column.name][at.index(place)]
        if text is not None and value is not None:
            rows = sheet.table.height - sheet.table[column.name].null_count()
            number, unit = f"{value:.15g}" if isinstance(value, float) else str(value), column.field.unit
            with_unit = number if unit is None else f"{number} {_SIGNS.get(unit, unit)}"
            yield _reading(column, text, _step(text, column, sheet, value) + with_unit, rows)


def _step(text: str, column: Column, sheet: Sheet, value: object) -> str:
    """Return what stands between a cell and the number that is stored of it: `25 kg = `; nothing where they are equal.

    A unit in the cell itself is part of its text.
    """
    bare = read_values(pl.Series([text]), replace(column, factor=Decimal(1)), sheet.marks.get(column.name), None)
    number = bare.values[0]
    if not isinstance(value, int | float) or not isinstance(number, int | float) or not number:
        return ""
    factor = value / number
    if isclose(factor, 1, rel_tol=1e-9):
        return ""
    unit = unit_by_factor(factor, column.field.unit)
    return f"{number:.15g} {unit.name} = " if unit else f"{number:.15g} × {factor:.9g} = "
