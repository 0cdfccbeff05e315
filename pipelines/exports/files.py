"""Writes the parts of a portfolio as one file: a ZIP of three CSV or Parquet files, or a workbook of three sheets.

Parts go to the disk as they come, so that a portfolio of any size needs the memory of one part. In CSV and workbooks a
text that a spreadsheet would compute gets a leading `'`, as in every export; Parquet has the texts as they are.
"""

import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias  # Any: XlsxWriter ships no types

import polars as pl

from pipelines.workbooks import Workbook
from schemas.formulas import MEANS_MORE
from warehouse.snapshots.source import Tables

Format: TypeAlias = Literal["csv", "xlsx", "parquet"]
Rows: TypeAlias = dict[str, int]
"""Rows by table."""
LONGEST_CELL: Final = 32_767
"""The most characters of a workbook's cell; a longer text is cut there."""
MOST_LINES: Final = 1_048_575
"""The most lines of a sheet below its headers; more go on in another sheet."""

_MARK: Final = "\ufeff".encode()
"""Tells spreadsheets that a CSV is in UTF-8."""
_INSTANT: Final = "%Y-%m-%dT%H:%M:%S%.fZ"
_SAFE_INTEGER: Final = 10**15
"""From here on a workbook's numbers would lose digits: a text has all of them."""
DEFLATE_LEVEL: Final = 4


def write(form: Format, folder: Path, parts: Iterable[Tables], proceed: Callable[[int], None]) -> tuple[Path, Rows]:
    """Write the parts as a file in the folder; return it and its rows by table.

    `proceed` is called before each part with the number of SKUs that are written, and may raise.
    """
    rows = dict.fromkeys(Tables._fields, 0)

    def counted() -> Iterator[Tables]:
        proceed(0)
        for part in parts:
            yield part
            for name, frame in part._asdict().items():
                rows[name] += frame.height
            proceed(rows["skus"])

    return {"csv": _csv, "xlsx": _workbook, "parquet": _parquet}[form](folder, counted()), rows


def _csv(folder: Path, parts: Iterator[Tables]) -> Path:
    paths = [folder / f"{name}.csv" for name in Tables._fields]
    for number, part in enumerate(parts):
        for path, frame in zip(paths, part, strict=True):
            with path.open("ab") as file:
                if not number:
                    file.write(_MARK)
                cells(frame).write_csv(
                    file, include_header=not number, datetime_format=_INSTANT, float_scientific=False
                )
    return _zipped(folder, paths, zipfile.ZIP_DEFLATED)


def _parquet(folder: Path, parts: Iterator[Tables]) -> Path:
    for number, part in enumerate(parts):
        for name, frame in part._asdict().items():
            frame.write_parquet(folder / f"{name}-{number:05d}.part")
    paths = [folder / f"{name}.parquet" for name in Tables._fields]
    for name, path in zip(Tables._fields, paths, strict=True):
        pl.scan_parquet(sorted(folder.glob(f"{name}-*.part"))).sink_parquet(path)
    return _zipped(folder, paths, zipfile.ZIP_STORED)


def _zipped(folder: Path, paths: list[Path], method: int) -> Path:
    target = folder / "portfolio.zip"
    with zipfile.ZipFile(target, "w", method, compresslevel=DEFLATE_LEVEL) as archive:
        for path in paths:
            archive.write(path, path.name)
            path.unlink()
    return target


def _workbook(folder: Path, parts: Iterator[Tables]) -> Path:
    target = folder / "portfolio.xlsx"
    with Workbook(target, {"constant_memory": True, "tmpdir": str(folder)}) as book:
        sheets = {name: _Sheet(book, name) for name in Tables._fields}
        for part in parts:
            for name, frame in part._asdict().items():
                sheets[name].add(cells(frame))
    return target


class _Sheet:
    """A table of a workbook, which is written line by line over as many sheets as it needs."""

    def __init__(self, book: Any, name: str) -> None:
        self._book, self._name = book, name
        self._bold = book.add_format({"bold": True, "bottom": 1})
        self._sheets, self._line, self._columns = 1, 0, list[str]()
        self._sheet = book.add_worksheet(name)

    def add(self, frame: pl.DataFrame) -> None:
        """Add the rows of a frame; the columns of every frame are those of the first."""
        if not self._columns:
            self._columns = frame.columns
            self._begin()
        shown = frame.with_columns(_as_cells(frame))
        puts = [kind.is_numeric() for kind in shown.dtypes]
        for row in shown.iter_rows():
            if self._line == MOST_LINES:
                self._sheets += 1
                self._sheet = self._book.add_worksheet(f"{self._name} {self._sheets}")
                self._begin()
            self._line += 1
            text, number, line = self._sheet.write_string, self._sheet.write_number, self._line
            for at, (value, is_number) in enumerate(zip(row, puts, strict=True)):
                if value is not None:
                    (number if is_number else text)(line, at, value)

    def _begin(self) -> None:
        self._line = 0
        self._sheet.freeze_panes(1, 1)
        for at, column in enumerate(self._columns):
            self._sheet.write_string(0, at, column, self._bold)


def cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with a text or a number in each cell: lists with `;` between, format bans by their codes."""
    return frame.with_columns(_flat(name, kind).alias(name) for name, kind in frame.schema.items())


def _flat(name: str, kind: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    match kind:
        case pl.List(inner=pl.Struct()):
            return _harmless(column.list.eval(pl.element().struct.field("code")).list.join(";"))
        case pl.List():
            return _harmless(column.list.join(";"))
        case pl.String():
            return _harmless(column)
    return column


def _harmless(text: pl.Expr) -> pl.Expr:
    """Return `schemas.formulas.as_cell` of a column."""
    return pl.when(text.str.contains(MEANS_MORE)).then(pl.concat_str(pl.lit("'"), text)).otherwise(text)


def _as_cells(frame: pl.DataFrame) -> Iterator[pl.Expr]:
    for name, kind in frame.schema.items():
        column = pl.col(name)
        if kind == pl.String:
            yield column.str.slice(0, LONGEST_CELL)
        elif kind == pl.Boolean:
            yield pl.when(column).then(pl.lit("true")).when(~column).then(pl.lit("false")).alias(name)
        elif isinstance(kind, pl.Datetime):
            yield column.dt.strftime(_INSTANT)
        elif kind == pl.Int64 and frame[name].abs().max() is not None and _large(frame[name]):
            yield column.cast(pl.String)


def _large(column: pl.Series) -> bool:
    return bool((column.abs() >= _SAFE_INTEGER).any())
