"""Finds weights of unknown materials beside weights of known ones: without them a SKU's total would be too small.

A column written like those that are read (`Poids verre (g)`, `Poids liège (g)`), or between bare names of materials, is
read as a part without a material, so that each line which gives it is a fault. A single unknown word beside bare names
may mean something else, and is listed in `source.asked`. `groups.py` recognises headers of materials.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pipelines.reading.columns import recognise
from pipelines.reading.fields import Column, fields_of
from pipelines.reading.grammar import unit_in, word_roles
from pipelines.reading.grid import Grid, letter
from pipelines.reading.groups import is_bare_material
from pipelines.reading.levels import level_of
from pipelines.reading.questions import question
from pipelines.reading.units import unit_of
from schemas.messages import Message
from schemas.normalise import shown
from schemas.report import Asked
from schemas.vocabularies import VOCABULARIES
from schemas.words import code_of, fold

_LINES: Final = 40
"""Lines below the header that are searched for numbers."""
_LONGEST: Final = 12
"""Words of the longest header that is examined."""
_NUMBER: Final = r"^\s*[\d.,\s]*\d[\d.,\s]*\s*\p{L}{0,3}\.?\s*$"
_OTHER: Final = "other_weight_g"
_COULD_BE: Final = (
    _OTHER,
    *(name for family in VOCABULARIES["material_family"] if (name := f"{family}_weight_g") != _OTHER),
)
_ROLES_OF_OTHERS: Final = frozenset(
    {"measure", "code", "name", "country", "market", "sale", "share", "recycled", "level", "parcel", "count"}
)


def unknown_weights(columns: Sequence[Column], cells: Sequence[str | None], grid: Grid, row: int) -> list[Column]:
    """Return the columns of weights of parts without a known material, each as a group of its own."""
    weights = [column for column in columns if column.fixed and column.field.name == "weight_g"]
    taken = {column.position for column in columns}
    frames = {frame for column in weights if (frame := _words_beside_material(column)) is not None}
    bare = [column.position for column in weights if is_bare_material(column)]
    found = []
    for at, cell in enumerate(cells):
        if (
            cell is None
            or at in taken
            or not weights
            or not _may_name_weight(cell)
            or not _contains_numbers(grid, row, at)
        ):
            continue
        tokens = fold(cell).split()
        alike = any(frame <= set(tokens) for frame in frames)
        if alike or (len(bare) > 1 and min(bare) < at < max(bare)):
            found.append(_column_of_unknown_material(at, cell))
    return found


def find_possible_materials(
    columns: Sequence[Column], cells: Sequence[str | None], grid: Grid, row: int
) -> tuple[int, ...]:
    """Return the position of a column right of bare names of materials that may be one more: an unknown word."""
    bare = {column.position for column in columns if is_bare_material(column)}
    taken = {column.position for column in columns}
    at = max(bare, default=-2) + 1
    cell = cells[at] if 0 < at < len(cells) else None
    if len(bare) < 2 or cell is None or at in taken or not _may_name_weight(cell) or recognise(cell, at, "sku"):
        return ()
    word = fold(cell)
    plain = word.isalpha() and len(word.split()) == 1 and word_roles(cell) <= {"nothing"}
    return (at,) if plain and _contains_numbers(grid, row, at) else ()


def about_material(at: int, header: str, columns: Sequence[Column], sheet: str | None) -> Asked:
    """Return a column beside materials as `source.asked` shows it: it may be any material that has no column yet."""
    taken = {column.name for column in columns}
    could_be = [name for name in _COULD_BE if name not in taken] or [_OTHER]
    message = Message(
        "{header} stands beside weights of materials, and may be one more; it is not read. If it is, the total is "
        "too small without it: name its material, mapping={mapping}.",
        header=shown(header),
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
    if len(fold(cell).split()) > _LONGEST or "%" in cell or level_of(cell) not in (None, "sales"):
        return False
    words = set(fold(cell).split())
    total = any(code_of(word, "line") == "total" for word in words)
    return not total and not word_roles(cell) & _ROLES_OF_OTHERS


def _column_of_unknown_material(at: int, header: str) -> Column:
    unit, name = unit_in(header, "g"), f"unknown_{letter(at).lower()}"
    column = Column(f"{name}_weight_g", fields_of("component")["weight_g"], "component", at, header, group=name)
    return column if unit is None else replace(column, factor=unit.factor, per=unit.per, has_unit=True)


def _contains_numbers(grid: Grid, row: int, at: int) -> bool:
    """Return whether most of the cells given below a header are numbers."""
    under = grid.under(at, row, _LINES)
    return len(under) > 0 and 2 * int(under.str.contains(_NUMBER).sum()) > len(under)
