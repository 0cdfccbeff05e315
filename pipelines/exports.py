"""Exports whole portfolios as files of three tables: CSV, a workbook, or Parquet.

`write` writes the tables part by part; `export_waiting` claims an export, writes its file and ends it; `remove_expired`
removes it when its time is over (`warehouse.exports.KEPT_FOR`).
"""

import hashlib
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple, TypeAlias, cast
from uuid import UUID

import polars as pl
import structlog

from pipelines.writing import write as write_writing
from pipelines.writing.workbooks import Sheet, Workbook
from pipelines.writing.write import StorageFull
from schemas.issues import Issue
from schemas.messages import Message
from schemas.refusals import Refused
from schemas.texts import MEANS_MORE
from warehouse import exports
from warehouse.companies.queries import every_company
from warehouse.exports import Claimed, Done
from warehouse.figures import snapshots
from warehouse.figures.source import Tables
from warehouse.imports.claims import ClaimLost, heartbeats
from warehouse.operate.clock import Clock
from warehouse.operate.objects import Objects
from warehouse.operate.sessions import Pool
from warehouse.operate.surroundings import is_passing

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
                texts = cells(frame)
                if not at:
                    sheets[name].begin(texts.columns)
                for row in texts.with_columns(_as_cells(texts)).iter_rows():
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
    """Return `schemas.texts.as_cell` of a column."""
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


_TRIED: Final = Message(
    "The export was stopped {most} times before it was complete; ask for another one.", most=exports.MAX_ATTEMPTS
)
_NO_SNAPSHOT: Final = Message("No snapshot of the portfolio is published yet; try again in a few minutes.")

log = structlog.get_logger(__name__)


class Place(NamedTuple):
    """Where a run exports: the deployment's database, store and data directory, and the company."""

    pool: Pool
    objects: Objects
    clock: Clock
    data_dir: Path
    company_id: UUID


def export_waiting(place: Place, run_id: UUID, proceed: Callable[[], None]) -> dict[str, int]:
    """Write the files of the company's waiting exports; return how many were completed and failed, and their SKUs.

    `proceed` is called before each part, and raises where the process is stopping: the export is then handed back.
    """
    outcomes = {"completed": 0, "failed": 0, "skus": 0}
    while True:
        proceed()
        with place.pool.company(place.company_id) as conn:
            claimed = exports.take(conn, run_id, place.clock.now())
        if claimed is None:
            return outcomes
        try:
            outcomes["skus"] += _export(place, claimed, run_id, proceed)
            outcomes["completed"] += 1
        except Refused as refused:
            with place.pool.company(place.company_id) as conn:
                exports.fail(conn, claimed.id, run_id, place.clock.now(), refused.issues[0].as_dict())
            outcomes["failed"] += 1
        except ClaimLost:
            log.warning("export.lost", export_id=str(claimed.id), run_id=str(run_id))
        except BaseException as error:
            counts = _is_fault_of_ours(error, proceed)
            with place.pool.company(place.company_id) as conn:
                exports.hand_back(conn, claimed.id, run_id, counts=counts)
            raise


def _is_fault_of_ours(error: BaseException, proceed: Callable[[], None]) -> bool:
    """Return whether the error would come again for ever: no fault of the machine that passes, and no process's end."""
    if not isinstance(error, Exception) or is_passing(error):
        return False
    try:
        proceed()
    except Exception:
        return False
    return True


def _export(place: Place, claimed: Claimed, run_id: UUID, proceed: Callable[[], None]) -> int:
    """Write and store the file of a claimed export, and end it; return its SKUs."""
    if claimed.attempts > exports.MAX_ATTEMPTS:
        raise Refused([Issue("invalid_format", _TRIED)])
    written = 0

    def beat() -> bool:
        with place.pool.company(place.company_id) as conn:
            return exports.beat(conn, claimed.id, run_id, place.clock.now(), done=written)

    alive = heartbeats("export", claimed.id, beat)
    with TemporaryDirectory(prefix="pcds-export-") as folder, alive as check:

        def step(skus: int) -> None:
            nonlocal written
            proceed()
            written = skus
            check()

        with _opened(place, claimed) as (as_of, parts):
            path, rows = write(cast(Format, claimed.format), Path(folder), parts, step)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = path.stat().st_size
        step(rows["skus"])
        place.objects.put_file(claimed.object_key, path)
    _end(place, claimed, run_id, Done(as_of, rows, size, digest))
    return rows["skus"]


@contextmanager
def _opened(place: Place, claimed: Claimed) -> Iterator[tuple[datetime, Iterator[Tables]]]:
    """Open what an export contains: its instant, and its parts."""
    if claimed.source == "snapshot":
        snapshot = snapshots.current(place.data_dir, place.company_id)
        if snapshot is None:
            raise Refused([Issue("invalid_format", _NO_SNAPSHOT, "source")])
        yield snapshot.as_of, exports.of_snapshot(snapshot)
        return
    with place.pool.company(place.company_id) as conn:
        now = place.clock.now()
        exports.take_time(conn)
        yield exports.as_of(conn, now), exports.of_records(conn, now.date())


def _end(place: Place, claimed: Claimed, run_id: UUID, done: Done) -> None:
    """End an export whose file is stored; remove the file where the plan has no room for it."""
    try:
        with place.pool.company(place.company_id) as conn:
            write_writing.admit(conn, place.objects, place.company_id, new_bytes=done.size_bytes, now=place.clock.now())
            exports.complete(conn, claimed.id, run_id, place.clock.now(), done)
    except StorageFull as full:
        place.objects.remove(claimed.object_key)
        raise Refused([Issue("plan_limit_reached", full.args[0])]) from None


_BATCH: Final = 100


def remove_expired(pool: Pool, objects: Objects, clock: Clock, proceed: Callable[[], None]) -> int:
    """Remove exports of portfolios, with their files, seven days after they ended."""
    removed = 0
    for company_id in every_company(pool):
        while True:
            proceed()
            with pool.company(company_id) as conn:
                expired = exports.expired(conn, clock.now(), most=_BATCH)
            for _, key in expired:
                objects.delete(key)
            with pool.company(company_id) as conn:
                exports.remove(conn, [export_id for export_id, _ in expired])
            removed += len(expired)
            if len(expired) < _BATCH:
                break
    return removed
