"""Finds what is wrong with a deployment's place: its data directory, settings, database, programs and snapshots.

Each problem has a state of `schemas.states` and says what is wrong and what to do, because the reader has come to mend
it. `pcds doctor` shows them, `/metrics` publishes each state. What does not belong here: companies' own data
(`services.doctor`).
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import psycopg
from psycopg_pool import PoolTimeout

from pipelines.figures.keep import are_damaged
from schemas.addresses import is_loopback
from schemas.states import State
from warehouse import dagster_home, deployment_keys, leftovers, revisions
from warehouse.catalogue import queries as catalogue
from warehouse.clock import Clock
from warehouse.database import Database
from warehouse.imports import queue
from warehouse.sessions import Connection, Pool, clock_skew_seconds, takes_writes
from warehouse.settings import Settings, misspelt
from warehouse.snapshots import follow
from warehouse.surroundings import sentence_of

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


_SKEW_SECONDS: Final = 1.0
"""Clocks of several machines agree within a second (docs/operations.md, Limits): limits depend on them."""
_CONNECT_SECONDS: Final = 3
_PROBE_BYTES: Final = 65_536


class Problem(NamedTuple):
    """Something that is wrong here: its state, and two sentences for the operator."""

    check: State
    wrong: str
    remedy: str


def of_place(settings: Settings) -> Iterator[Problem]:
    """Yield what is wrong with settings, data directory and code server; needs no database."""
    folder = settings.data_dir
    if not folder.is_dir():
        wrong = f"{folder} does not exist."
        yield Problem(State.DATA_DIR, wrong, "Start the service there once, or name another --data-dir.")
    else:
        if not takes_files(settings):
            free = shutil.disk_usage(folder).free >> 20
            wrong = f"{folder} takes no file of 64 KiB, or less than PCDS_FREE_BYTES are free ({free} MiB are)."
            remedy = "Free disk space, or move the data directory to a larger disk."
            if (files := os.statvfs(folder)).f_files and not files.f_favail:
                remedy = "The file system has no inode left: remove files, or make it anew with more inodes."
            yield Problem(State.STORAGE, wrong, remedy)
        yield from _readable_secrets(folder)
        if is_code_server_away(settings):
            wrong = "Dagster's code server does not answer at its socket: no run is scheduled, and imports begin late."
            yield Problem(State.CODE_SERVER, wrong, "`pcds serve` starts it again; else start `dagster-code` anew.")
    for name, nearest in misspelt().items():
        remedy = f"Write {nearest}, or remove it." if nearest else "Remove it; docs/settings.md has all settings."
        yield Problem(State.SETTINGS, f"{name} is no setting, and sets nothing.", remedy)
    if settings.test_clock_offset:
        wrong = f"PCDS_TEST_CLOCK_OFFSET moves every clock by {settings.test_clock_offset} s."
        yield Problem(State.CLOCK, wrong, "Remove the variable, unless this is a test.")
    yield from _base_url(settings)


def _base_url(settings: Settings) -> Iterator[Problem]:
    address = urlsplit(settings.base_url)
    if not is_loopback(settings.host) and settings.public_url is None:
        wrong = f"The service listens on {settings.host}, and links begin with {settings.base_url}."
        yield Problem(State.BASE_URL, wrong, "Set PCDS_BASE_URL to the address that people use.")
    elif address.scheme == "http" and not is_loopback(address.hostname or ""):
        wrong = f"People reach the service without encryption, at {settings.base_url}."
        remedy = "Put a proxy with TLS in front and set PCDS_BASE_URL to its https address."
        yield Problem(State.BASE_URL, wrong, remedy)


def takes_files(settings: Settings) -> bool:
    """Return whether the data directory and the embedded database have room: by free space, and by writing."""
    cluster = settings.data_dir / "postgres"
    try:
        for place in (settings.data_dir, cluster):
            if place.exists() and shutil.disk_usage(place).free < settings.free_bytes:
                return False
        return write_probe(settings.data_dir)
    except OSError:
        return False


def write_probe(folder: Path) -> bool:
    """Write a temporary file to the folder; raise `OSError` where that is impossible."""
    with tempfile.TemporaryFile(dir=folder) as probe:
        probe.write(bytes(_PROBE_BYTES))
        probe.flush()
    return True


def is_code_server_away(settings: Settings) -> bool:
    """Return whether a code server that belongs here answers no call: it ended, hangs or cannot be reached.

    One belongs to each `pcds serve`, and to a place that has its socket; other programs may do without.
    """
    path = dagster_home.code_socket(settings)
    return (path.exists() or leftovers.is_served(settings.data_dir)) and not dagster_home.serves(path)


def _readable_secrets(folder: Path) -> Iterator[Problem]:
    for name in _SECRETS:
        path = folder / name
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield Problem(State.SECRETS, f"Other accounts of this machine may read {path}.", f"Run: chmod 600 {path}")


def of_keys(conn: Connection, settings: Settings) -> Iterator[Problem]:
    """Yield which keys of the deployment this data directory lacks, or has another file of."""
    for name in deployment_keys.NAMES:
        path = settings.data_dir / name
        match deployment_keys.state(conn, settings, name):
            case "missing":
                wrong = f"{path} is missing: what it seals or signs cannot be read or made here."
                yield Problem(State.KEYS, wrong, "Copy the file from another program of the deployment, or a backup.")
            case "wrong":
                wrong = f"{path} is not this deployment's key, or cannot be read."
                yield Problem(State.KEYS, wrong, "Put back the file that the other programs have, or that of a backup.")
            case "rolling":
                wrong = f"{path} is new, and nothing is sealed with it yet."
                yield Problem(State.KEYS, wrong, f"When every program has it, run `pcds deployment-key reseal {name}`.")
            case None if deployment_keys.is_left(conn, settings, name):
                yield Problem(State.KEYS, f"{path}.old opens nothing any more.", "Remove it from every program.")


def of_database(database: Database, pool: Callable[[], Pool], settings: Settings, clock: Clock) -> list[Problem]:
    """Return what is wrong with the database, and what its rows tell where its tables are this release's.

    `pool` is asked for only then: a database that is not ours has no role for it.
    """
    try:
        with psycopg.connect(database.owner_url, connect_timeout=_CONNECT_SECONDS) as owner:
            found = [*_of_server(owner, settings)]
        if not any(problem.check == State.MIGRATION for problem in found):
            with pool().system() as conn:
                found += _of_rows(conn, clock.now(), settings)
    except (psycopg.Error, PoolTimeout) as error:
        return [Problem(State.DATABASE, sentence_of(error) or str(error), "See the database's log; repair it.")]
    return found


def _of_server(owner: Connection, settings: Settings) -> Iterator[Problem]:
    """Yield what is wrong with the server, the tables' revision and the keys, by the owner's connection."""
    server, revision, head = owner.info.server_version, revisions.revision_of(owner), revisions.head()
    if server < _OLDEST_SERVER:
        yield Problem(State.POSTGRES, f"Postgres {server // 10000} is not supported.", "Upgrade it to 15 or newer.")
    if not takes_writes(owner):
        yield Problem(State.DATABASE_WRITES, "Postgres is read-only, or a standby.", "Repair the server.")
    skew = clock_skew_seconds(owner)
    if abs(skew) > _SKEW_SECONDS:
        wrong = f"Postgres' clock is {abs(skew):.1f} s {'ahead of' if skew > 0 else 'behind'} this machine's."
        yield Problem(State.CLOCK_SKEW, wrong, "Have both machines set their clocks by NTP.")
    if revision is None:
        wrong = "The database has no tables of this service."
        yield Problem(State.MIGRATION, wrong, "Run `pcds migrate`, or name the right database in DATABASE_URL.")
    elif revision != head:
        wrong = f"The tables are those of revision {revision}; this release needs {head}."
        newer = "Install the release that last ran here, or a newer one."
        yield Problem(State.MIGRATION, wrong, "Run `pcds migrate`." if revisions.knows(revision) else newer)
    elif settings.data_dir.is_dir():
        yield from of_keys(owner, settings)


def _of_rows(conn: Connection, now: datetime, settings: Settings) -> Iterator[Problem]:
    """Yield what the rows tell, in a session of no company; the tables are this release's."""
    if not catalogue.is_loaded(conn):
        wrong = "No catalogue is loaded: imports know no market."
        yield Problem(State.CATALOGUE, wrong, "Run `pcds catalogue refresh`.")
    if settings.warm_workers and not queue.has_listener(conn):
        remedy = "Start `pcds serve`, or `python -m api.start worker` where your process manager starts the programs."
        yield Problem(State.WORKER, "No worker waits for imports, so that they stay queued.", remedy)
    waiting = queue.open_imports(conn, now, asked_for=_WAITED)
    if waiting:
        wrong = f"{len(waiting)} imports wait, and no run was requested for them in ten minutes."
        yield Problem(State.IMPORTS, wrong, "See that worker, webserver and daemon run (docs/operations.md).")
    behind = [each for each in follow.stale(conn, now.date()) if each.since and now - each.since > _WAITED]
    if behind:
        wrong = f"{len(behind)} companies have writes older than ten minutes that no snapshot has."
        yield Problem(State.SNAPSHOTS, wrong, "See that the daemon runs; `pcds snapshot --company ID` publishes one.")
    damaged = [each.slug for each in follow.published(conn) if are_damaged(settings.data_dir, each)]
    if damaged:
        wrong = f"A file of the snapshot or the figures of {', '.join(damaged)} is lost or cut off."
        remedy = "Check the disk. The sensor `overdue_work` publishes anew within a minute, as does `pcds snapshot`."
        yield Problem(State.SNAPSHOT_FILES, wrong, remedy)
