"""Publishes a snapshot: writes all rows of a company at one instant under a new name, then moves the pointer.

Changed rows are read, the rest is taken over from the snapshot before; where that is not reliable, all is read. Both
give the same rows.

A kill at any instant leaves the last complete snapshot in place: the pointer is moved, in one atomic step of the file
system, when everything that it points to is on the disk. A later sweep removes unfinished files.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Final
from uuid import UUID

from warehouse.figures import snapshots
from warehouse.figures.snapshots import FOLDER, MANIFEST, Snapshot, changed_since, current, folder_of, sweep_folder
from warehouse.figures.source import COUNTED, HOLDS_UNTIL, tables
from warehouse.operate import whole_files
from warehouse.operate.sessions import Connection, Pool
from warehouse.rules import Rulesets

_RELEASE: Final = version("packaging-compliance-data-service")
_RECORD: Final = """
INSERT INTO snapshots (company_id, name, number, as_of, holds_until)
VALUES (%(company_id)s, %(name)s, %(number)s, %(as_of)s, %(holds_until)s)
ON CONFLICT (company_id) DO UPDATE
SET name = excluded.name, number = excluded.number, as_of = excluded.as_of, holds_until = excluded.holds_until
"""


def publish(
    pool: Pool,
    company_id: UUID,
    data_dir: Path,
    now: datetime,
    rulesets: Rulesets,
    *,
    proceed: Callable[[], None] = lambda: None,
) -> Snapshot:
    """Publish the company's portfolio as it is now, and return the snapshot, which is then current.

    `now` is the instant of the service's clock; DoC statuses are those of its UTC day. Where two publish a company at
    once, the second waits for the first. Memory does not grow with the company. `proceed` is called before each part
    and raises where the process has to end; the last snapshot then stays current.
    """
    folder = folder_of(data_dir, company_id)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with whole_files.lock_folder(folder), _at_one_instant(pool, company_id) as conn:
        number, link_hash, skus = conn.execute(COUNTED).fetchone() or (0, "", 0)
        holds_until = conn.execute(HOLDS_UNTIL, {"today": now.date()}).fetchone()
        rules = rulesets.active(conn)
        made_by = f"{_RELEASE}/{rules.version}"
        name = f"{now:%Y%m%dT%H%M%SZ}-{number}-{token_hex(3)}"
        read = partial(tables, conn, now.date(), rules)
        before = _before(data_dir, company_id, made_by, now)
        ids = None if before is None else changed_since(conn, before, now.date())
        if before is None or ids is None:
            made = snapshots.write(_new(folder / name), read(), proceed)
        else:
            made = snapshots.write_over(_new(folder / name), before, ids, read(ids), proceed)
            if sum(part["skus"] for part in made) != skus:  # some row was written without a ledger entry
                shutil.rmtree(folder / name)
                made = snapshots.write(_new(folder / name), read(), proceed)
        size = sum(file.stat().st_size for file in (folder / name).iterdir())
        snapshot = Snapshot(company_id, name, now, number, link_hash, made_by, made, size, folder / name)
        (snapshot.folder / MANIFEST).write_bytes(snapshot.manifest())
        whole_files.point(folder, snapshot.folder)
        sweep_folder(folder)
    with pool.company(company_id) as conn:
        conn.execute(
            _RECORD,
            {
                "company_id": company_id,
                "name": name,
                "number": number,
                "as_of": now,
                "holds_until": holds_until and holds_until[0],
            },
        )
    return snapshot


def _before(data_dir: Path, company_id: UUID, made_by: str, now: datetime) -> Snapshot | None:
    """Return the snapshot whose rows can be taken over.

    None where another release, rule-set or later day made it, and where a file of it is cut off.
    """
    snapshot = current(data_dir, company_id)
    return (
        snapshot
        if snapshot is not None
        and snapshot.made_by == made_by
        and snapshot.as_of.date() <= now.date()
        and snapshot.is_whole()
        else None
    )


def _new(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder


def sweep(data_dir: Path) -> int:
    """Remove old and unfinished snapshots of every company, and return how many; one that is being published stays."""
    removed = 0
    for folder in (data_dir / FOLDER).glob("*/"):
        with suppress(BlockingIOError), whole_files.lock_folder(folder, wait=False):
            removed += sweep_folder(folder)
    return removed


@contextmanager
def _at_one_instant(pool: Pool, company_id: UUID) -> Iterator[Connection]:
    """Open a read-only transaction of the company in which every statement sees the same rows.

    A transaction of the pool has already run a statement, and can no longer become repeatable.
    """
    with pool.company(company_id) as conn:
        conn.execute("ROLLBACK")
        conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        conn.execute("SELECT set_config('app.company_id', %s, true)", (str(company_id),))
        conn.execute("SET LOCAL statement_timeout = 0")  # a statement lasts as long as its rows are written here
        yield conn
