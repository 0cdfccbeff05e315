"""Writes stored SKUs to a workbook, in two passes over one cursor: the used columns first, then the cells.

Rows go to disk as they come, so that a portfolio of any size needs the memory of a few hundred SKUs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple  # Any: XlsxWriter ships no types

from pipelines.imports.export.cells import Cell, Cells, component_cells, order, sku_cells
from pipelines.reading.fields import Table
from pipelines.workbooks import Sheet, Workbook
from warehouse.sessions import Connection
from warehouse.skus import portfolio
from warehouse.skus.detail import StoredSku

_SKUS, _COMPONENTS = "SKU", "components"


@dataclass(frozen=True, slots=True)
class Exported:
    """How many SKUs, components and volume rows were written."""

    skus: int
    components: int
    volumes: int


class _Columns(NamedTuple):
    """The used columns of both sheets; a sheet of components only where there are some."""

    skus: list[str]
    components: list[str]


def export(conn: Connection, path: str) -> Exported:
    """Write the portfolio of the session's company, SKUs by code, as it is at one instant."""
    with portfolio.every(conn) as walk:
        columns = _used(walk())
        with Workbook(path, {"constant_memory": True}) as book:
            return _write(book, columns, walk())


def _used(rows: Iterable[StoredSku]) -> _Columns:
    skus, components = {"sku_code", "name"}, set[str]()
    for row in rows:
        skus.update(sku_cells(row))
        components.update(*component_cells(row))
    return _Columns(_ordered(skus, "sku"), _ordered(components, "component"))


def _ordered(names: set[str], table: Table) -> list[str]:
    known = [name for name in order(table) if name in names]
    return [*known, *sorted(names.difference(known))]


def _write(book: Any, columns: _Columns, rows: Iterable[StoredSku]) -> Exported:
    skus, sku_places = Sheet(book, _SKUS, columns.skus), _places(columns.skus)
    parts = Sheet(book, _COMPONENTS, columns.components) if columns.components else None
    part_places = _places(columns.components)
    own, volumes = set(order("sku")), 0
    for row in rows:
        cells = sku_cells(row)
        skus.add(_line(sku_places, cells))
        volumes += len(cells.keys() - own)
        for component in component_cells(row):
            assert parts is not None, "the columns of components were found in the same rows"
            parts.add(_line(part_places, component))
    return Exported(skus.lines, parts.lines if parts else 0, volumes)


def _places(columns: list[str]) -> dict[str, int]:
    return {column: at for at, column in enumerate(columns)}


def _line(places: dict[str, int], cells: Cells) -> Iterator[tuple[int, Cell]]:
    """Yield the cells with their places. A workbook's numbers have 16 digits; a text has all of them."""
    for name, cell in cells.items():
        yield places[name], cell if isinstance(cell, str) or float(f"{cell:.16G}") == cell else repr(cell)
