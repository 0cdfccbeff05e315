"""Measures exports of a portfolio beside COPY of the three tables and each format's own writer.

The floor is two things that an export cannot do without: the three tables leave Postgres by COPY (the floor of
snapshots, of fewer columns than an export has), and a writer of the format puts the same cells into a file. For CSV it
is Polars and deflate, for Parquet Polars, for a workbook XlsxWriter, each over tables that are in memory already. It
finds no formula, counts nothing, and holds everything in memory.
"""

import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl
import xlsxwriter

from bench.loaded import Loaded
from bench.report import Line, against, memory
from bench.snapshots import copy_tables
from bench.spent import in_turn, peak_mib, rounds_for
from pipelines.exports import files
from pipelines.exports.files import Format
from warehouse.clock import Clock
from warehouse.exports import portfolio
from warehouse.snapshots.source import Tables

BOUND: Final = 2.0


def measure(held: Loaded) -> Iterator[Line]:
    """Measure each format; memory is sampled while ours runs alone."""
    tables = _in_memory(held)
    floors: dict[Format, Callable[[Path, Tables], None]] = {"csv": _csv, "parquet": _parquet, "xlsx": _workbook}
    for form, floor in floors.items():
        work = f"export of {held.skus} SKUs as {form}"
        with peak_mib(held.server) as peak:
            _ours(held, form)
        rounds = 1 if form == "xlsx" else rounds_for(held.skus)  # a workbook takes a minute
        spent = in_turn(rounds, partial(_ours, held, form), partial(_floor, held, tables, floor), server=held.server)
        yield against(f"{work}, beside COPY and the writer alone, CPU", *spent, bound=held.bound(BOUND))
        yield memory(work, peak[0])


def _ours(held: Loaded, form: Format) -> None:
    with tempfile.TemporaryDirectory() as folder, held.pool.company(held.company) as conn:
        portfolio.take_time(conn)
        files.write(form, Path(folder), portfolio.of_records(conn, Clock().today()), lambda _: None)


def _in_memory(held: Loaded) -> Tables:
    with held.pool.company(held.company) as conn:
        parts = list(portfolio.of_records(conn, Clock().today()))
    return Tables(*(pl.concat(frames) for frames in zip(*parts, strict=True)))


def _floor(held: Loaded, tables: Tables, write: Callable[[Path, Tables], None]) -> None:
    copy_tables(held)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), tables)


def _csv(folder: Path, tables: Tables) -> None:
    with zipfile.ZipFile(folder / "all.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=files.DEFLATE_LEVEL) as archive:
        for name, frame in tables._asdict().items():
            lists = [column for column, kind in frame.schema.items() if isinstance(kind, pl.List)]
            frame.with_columns(pl.col(lists).list.join(";")).write_csv(folder / name)
            archive.write(folder / name, name)


def _parquet(folder: Path, tables: Tables) -> None:
    for name, frame in tables._asdict().items():
        frame.write_parquet(folder / name)


def _workbook(folder: Path, tables: Tables) -> None:
    with xlsxwriter.Workbook(folder / "all.xlsx", {"constant_memory": True}) as book:
        for name, frame in tables._asdict().items():
            sheet = book.add_worksheet(name)
            for line, row in enumerate(files.cells(frame).iter_rows()):
                for at, value in enumerate(row):
                    if value is not None:
                        if isinstance(value, (float, int)):
                            sheet.write_number(line, at, value)
                        else:
                            sheet.write_string(line, at, str(value))
