"""Writes stored SKUs to a workbook, in two passes over one cursor: the used columns first, then the cells.

Rows go to disk as they come, so that a portfolio of any size needs the memory of a few hundred SKUs.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple  # Any: XlsxWriter ships no types

from pipelines.imports.export.cells import Cell, Cells, component_cells, order, sku_cells
from pipelines.reading.fields import Table
from pipelines.workbooks import Workbook
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
    skus = _Sheet(book, _SKUS, columns.skus)
    parts = _Sheet(book, _COMPONENTS, columns.components) if columns.components else None
    own, volumes = set(order("sku")), 0
    for row in rows:
        cells = sku_cells(row)
        skus.add(cells)
        volumes += len(cells.keys() - own)
        for component in component_cells(row):
            assert parts is not None, "the columns of components were found in the same rows"
            parts.add(component)
    return Exported(skus.lines, parts.lines if parts else 0, volumes)


class _Sheet:
    """A sheet that is written line by line."""

    def __init__(self, book: Any, name: str, columns: list[str]) -> None:
        self._sheet = book.add_worksheet(name)
        self._places = {column: at for at, column in enumerate(columns)}
        self.lines = 0
        bold = book.add_format({"bold": True, "bottom": 1})
        self._sheet.freeze_panes(1, 1)
        for column, at in self._places.items():
            self._sheet.write_string(0, at, column, bold)

    def add(self, cells: Cells) -> None:
        """Add one line below the last."""
        self.lines += 1
        for name, cell in cells.items():
            self._put(self._places[name], cell)

    def _put(self, at: int, cell: Cell) -> None:
        if isinstance(cell, str):
            self._sheet.write_string(self.lines, at, cell)
        elif float(f"{cell:.16G}") == cell:
            self._sheet.write_number(self.lines, at, cell)
        else:  # a workbook's numbers have 16 digits; a text has all of them
            self._sheet.write_string(self.lines, at, repr(cell))
