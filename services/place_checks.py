"""Finds what is wrong with a deployment's place: its data directory, settings, database, worker and snapshots.

Each problem says what is wrong and what to do, because the reader has come to mend it. What does not belong here:
companies' own data (`services.doctor`), and whether an API process answers (`/readyz`).
"""

import shutil
import stat
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from schemas.addresses import is_loopback
from warehouse import deployment_keys
from warehouse.catalogue import queries as catalogue
from warehouse.embedded import kept
from warehouse.imports import queue
from warehouse.sessions import Connection
from warehouse.settings import Settings
from warehouse.snapshots import follow

_SECRETS: Final = (
    "postgres.json",
    "data.key",
    "connector.key",
    "backup.key",
    "audit.key",
    "demo.json",
    "dagster/door.key",
)
"""Files of the data directory that only the service's own account may read."""
_OLDEST_SERVER: Final = 150000
_WAITED: Final = timedelta(minutes=10)
"""An import that waits longer, or a snapshot that lags longer, is no matter of a busy minute."""


class Problem(NamedTuple):
    """Something that is wrong here; `check` is a stable name, the other two are sentences for the operator."""

    check: str
    wrong: str
    remedy: str


def of_place(settings: Settings) -> Iterator[Problem]:
    """Yield what is wrong with settings and data directory; needs no database."""
    folder = settings.data_dir
    if not folder.is_dir():
        yield Problem(
            "data_dir", f"{folder} does not exist.", "Start the service there once, or name another --data-dir."
        )
    else:
        free = shutil.disk_usage(folder).free
        if free < settings.free_bytes:
            wrong = f"{folder} has {free >> 20} MiB free, less than PCDS_FREE_BYTES; writes are refused soon."
            yield Problem("disk", wrong, "Free disk space, or move the data directory to a larger disk.")
        yield from _readable_secrets(folder)
        for old in kept(folder):
            wrong = f"{old} is the database from before the upgrade of Postgres; nothing uses it."
            yield Problem("old_cluster", wrong, "When all is as it should be, run `pcds drop-old-cluster`.")
    if settings.test_clock_offset:
        wrong = f"PCDS_TEST_CLOCK_OFFSET moves every clock by {settings.test_clock_offset} s."
        yield Problem("clock", wrong, "Remove the variable, unless this is a test.")
    address = urlsplit(settings.base_url)
    if not is_loopback(settings.host) and settings.public_url is None:
        wrong = f"The service listens on {settings.host}, and links begin with {settings.base_url}."
        yield Problem("base_url", wrong, "Set PCDS_BASE_URL to the address that people use.")
    elif address.scheme == "http" and not is_loopback(address.hostname or ""):
        wrong = f"People reach the service without encryption, at {settings.base_url}."
        yield Problem("base_url", wrong, "Put a proxy with TLS in front and set PCDS_BASE_URL to its https address.")


def _readable_secrets(folder: Path) -> Iterator[Problem]:
    for name in _SECRETS:
        path = folder / name
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield Problem("secrets", f"Other accounts of this machine may read {path}.", f"Run: chmod 600 {path}")


def of_keys(conn: Connection, settings: Settings) -> Iterator[Problem]:
    """Yield which keys of the deployment this data directory lacks, or has another file of."""
    for name in deployment_keys.NAMES:
        path = settings.data_dir / name
        match deployment_keys.state(conn, settings, name):
            case "missing":
                wrong = f"{path} is missing: what it seals or signs cannot be read or made here."
                yield Problem("keys", wrong, "Copy the file from another program of this deployment, or from a backup.")
            case "wrong":
                wrong = f"{path} is not this deployment's key, or cannot be read."
                yield Problem("keys", wrong, "Put back the file that the other programs have, or that of a backup.")
            case "rolling":
                wrong = f"{path} is new, and nothing is sealed with it yet."
                yield Problem("keys", wrong, f"When every program has it, run `pcds deployment-key reseal {name}`.")
            case None if deployment_keys.is_left(conn, settings, name):
                yield Problem("keys", f"{path}.old opens nothing any more.", "Remove it from every program.")


def of_server(owner: Connection, revision: str | None, *, head: str, knows: Callable[[str], bool]) -> Iterator[Problem]:
    """Yield what is wrong with the server and the tables' revision, by the owner's connection.

    `revision` is that of the tables, `head` this release's; `knows` says whether a revision
    is one of this release or of an earlier one.
    """
    server = owner.info.server_version
    if server < _OLDEST_SERVER:
        yield Problem("postgres", f"Postgres {server // 10000} is not supported.", "Upgrade it to 15 or newer.")
    if revision != head:
        wrong = f"The tables are those of revision {revision}; this release needs {head}."
        remedy = "Run `pcds migrate`."
        if revision is not None and not knows(revision):
            remedy = "Install the release that last ran here, or a newer one."
        yield Problem("migration", wrong, remedy)


def of_rows(conn: Connection, now: datetime, *, warm_workers: bool) -> Iterator[Problem]:
    """Yield what the rows tell, in a session of no company; the tables are this release's."""
    if not catalogue.is_loaded(conn):
        yield Problem("catalogue", "No catalogue is loaded: imports know no market.", "Run `pcds catalogue refresh`.")
    if warm_workers and not queue.has_listener(conn):
        remedy = "Start `pcds serve`, or `python -m api.start worker` where your process manager starts the programs."
        yield Problem("worker", "No worker waits for imports, so that they stay queued.", remedy)
    waiting = queue.open_imports(conn, now, asked_for=_WAITED)
    if waiting:
        wrong = f"{len(waiting)} imports wait, and no run was requested for them in ten minutes."
        yield Problem("imports", wrong, "See that worker, webserver and daemon run (docs/operations.md).")
    behind = [each for each in follow.stale(conn, now.date()) if each.since and now - each.since > _WAITED]
    if behind:
        wrong = f"{len(behind)} companies have writes older than ten minutes that no snapshot has."
        yield Problem("snapshots", wrong, "See that the daemon runs; `pcds snapshot --company ID` publishes one.")
