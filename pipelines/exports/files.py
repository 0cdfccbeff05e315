"""Writes the parts of a portfolio as one file: a ZIP of three CSV or Parquet files, or a workbook of three sheets.

Parts go to the disk as they come, so that a portfolio of any size needs the memory of one part. In CSV and workbooks a
text that a spreadsheet would compute gets a leading `'`, as in every export; Parquet has the texts as they are.
"""

import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, Literal, TypeAlias

import polars as pl

from pipelines.workbooks import Sheet, Workbook
from schemas.formulas import MEANS_MORE
from warehouse.snapshots.source import Tables

Format: TypeAlias = Literal["csv", "xlsx", "parquet"]
Rows: TypeAlias = dict[str, int]
"""Rows by table."""

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
        sheets = {name: Sheet(book, name) for name in Tables._fields}
        for at, part in enumerate(parts):
            for name, frame in part._asdict().items():
                shown = cells(frame)
                if not at:
                    sheets[name].begin(shown.columns)
                for row in shown.with_columns(_as_cells(shown)).iter_rows():
                    sheets[name].add(enumerate(row))
    return target


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
        if kind == pl.Boolean:
            yield pl.when(column).then(pl.lit("true")).when(~column).then(pl.lit("false")).alias(name)
        elif isinstance(kind, pl.Datetime):
            yield column.dt.strftime(_INSTANT)
        elif kind == pl.Int64 and frame[name].abs().max() is not None and _large(frame[name]):
            yield column.cast(pl.String)


def _large(column: pl.Series) -> bool:
    return bool((column.abs() >= _SAFE_INTEGER).any())
