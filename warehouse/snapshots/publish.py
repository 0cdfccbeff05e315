"""Publishing: all rows of a company as they are at one instant, written under a new name, then pointed to.

A kill at any instant leaves the last complete snapshot in place: the pointer is moved, in one step that a file system
cannot do by halves, when everything that it points to is on the disk. What a kill left behind is swept later.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import date, datetime
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, Final
from uuid import UUID

import polars as pl
import psycopg
from polars.io.plugins import register_io_source

from compliance.rule_rows import RuleSet
from warehouse.rulesets import Rulesets
from warehouse.sessions import Pool
from warehouse.snapshots import source
from warehouse.snapshots.columns import COMPONENTS, HOLDS_UNTIL, LINKS, SKUS, VOLUMES
from warehouse.snapshots.flags import RulesOf, layers_of
from warehouse.snapshots.snapshot import FOLDER, MANIFEST, POINTER, TABLES, Snapshot, folder_of
from warehouse.snapshots.sweep import sweep_folder

_LOCK: Final = "lock"
_RECORD: Final = """
INSERT INTO snapshots (company_id, name, number, as_of, holds_until)
VALUES (%(company_id)s, %(name)s, %(number)s, %(as_of)s, %(holds_until)s)
ON CONFLICT (company_id) DO UPDATE
SET name = excluded.name, number = excluded.number, as_of = excluded.as_of, holds_until = excluded.holds_until
"""


def publish(
    pool: Pool, company_id: UUID, data_dir: Path, now: datetime, rulesets: Rulesets, *,
    proceed: Callable[[], None] = lambda: None,
) -> Snapshot:  # fmt: skip
    """The company's portfolio as it is now, published and current when this returns.

    `now` is the instant of the service's clock, and its UTC day the one that DoC statuses are of. Where two publish a
    company at once, the second waits for the first. Memory does not grow with the company. `proceed` is asked before
    each block of rows and raises where the process shall end; the last snapshot then stays current.
    """
    folder = folder_of(data_dir, company_id)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone(folder), _at_one_instant(pool, company_id) as conn:
        number = _one(conn, LINKS)
        holds_until = _one(conn, HOLDS_UNTIL, {"today": now.date()})
        name = f"{now:%Y%m%dT%H%M%SZ}-{number}-{token_hex(3)}"
        written = _write(conn, folder / name, now.date(), partial(_rules, pool, rulesets), proceed)
        size = sum(file.stat().st_size for file in (folder / name).iterdir())
        snapshot = Snapshot(company_id, name, now, number, written, size, folder / name)
        _seal(snapshot, folder)
        sweep_folder(folder)
    with pool.company(company_id) as conn:
        conn.execute(_RECORD, {
            "company_id": company_id, "name": name, "number": number, "as_of": now, "holds_until": holds_until,
        })  # fmt: skip
    return snapshot


def sweep(data_dir: Path) -> int:
    """Remove old and unfinished snapshots of every company; how many. One that is being published is left alone."""
    removed = 0
    for folder in (data_dir / FOLDER).glob("*/"):
        with suppress(BlockingIOError), _alone(folder, wait=False):
            removed += sweep_folder(folder)
    return removed


@contextmanager
def _alone(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """One publisher of a company at a time; the kernel takes the lock back however a process ends."""
    with (folder / _LOCK).open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


@contextmanager
def _at_one_instant(pool: Pool, company_id: UUID) -> Iterator[psycopg.Connection[Any]]:
    """A read-only transaction of the company in which every statement sees the same rows.

    A transaction of the pool has looked at the database already, and can no longer become one of these.
    """
    with pool.company(company_id) as conn:
        conn.execute("ROLLBACK")
        conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        conn.execute("SELECT set_config('app.company_id', %s, true)", (str(company_id),))
        yield conn


def _one(conn: psycopg.Connection[Any], query: str, parameters: dict[str, object] | None = None) -> Any:
    row = conn.execute(query, parameters).fetchone()
    return row and row[0]


def _rules(pool: Pool, rulesets: Rulesets, version: str) -> RuleSet:
    """The rule-set of a version; where this process has not met it, asked for beside the rows that are streaming."""
    known = rulesets.known(version)
    if known is not None:
        return known
    with pool.system() as conn:
        return rulesets.of(conn, version)


def _write(
    conn: psycopg.Connection[Any], folder: Path, today: date, rules_of: RulesOf, proceed: Callable[[], None]
) -> dict[str, int]:
    """The three files in a new folder; the rows of each. SKUs come last: their flags depend on their components."""
    folder.mkdir(mode=0o700)
    files = {name: folder / f"{name}.parquet" for name in TABLES}
    components = _write_table(files["components"], source.components(conn), COMPONENTS, proceed)
    volumes = _write_table(files["volumes"], source.volumes(conn), VOLUMES, proceed)
    layers = layers_of(pl.scan_parquet(files["components"]))
    skus = _write_table(files["skus"], source.skus(conn, today, layers, rules_of), SKUS, proceed)
    return {"skus": skus, "components": components, "volumes": volumes}


def _write_table(file: Path, frames: Iterator[pl.DataFrame], schema: pl.Schema, proceed: Callable[[], None]) -> int:
    rows = 0

    def counted(*_: object) -> Iterator[pl.DataFrame]:
        nonlocal rows
        for frame in frames:
            proceed()
            rows += frame.height
            yield frame

    register_io_source(counted, schema=schema, validate_schema=True).sink_parquet(
        file, compression="zstd", compression_level=1
    )
    return rows


def _seal(snapshot: Snapshot, folder: Path) -> None:
    """Put everything on the disk, then move the pointer."""
    (snapshot.folder / MANIFEST).write_bytes(snapshot.manifest())
    for path in (*snapshot.folder.iterdir(), snapshot.folder):
        _flush(path)
    moved = folder / f"{POINTER}.new"
    moved.write_text(snapshot.name, encoding="ascii")
    _flush(moved)
    moved.replace(folder / POINTER)
    _flush(folder)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
