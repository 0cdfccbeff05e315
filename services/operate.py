"""Finds what is wrong with a place, with its database and with stored records: for `pcds doctor` and readiness.

It reports and changes nothing: of records whose codes collide by today's rules, the company has to say which is meant.
"""

import os
import shutil
import stat
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

import psycopg
from psycopg_pool import PoolTimeout

from pipelines.figures import are_damaged, loaded_catalogue
from pipelines.filings import Inputs
from pipelines.writing.write import held_values
from schemas import texts
from schemas.addresses import is_loopback
from schemas.json_values import JsonObject
from schemas.operate import State
from services.conformity.documents import find_contradicted
from services.filings.figures import changed_declarations, double_declarations
from services.review.entries import described, find_misapplied
from warehouse import catalogue
from warehouse.figures import snapshots as snapshots_figures
from warehouse.imports import claims
from warehouse.operate import dagster_home, keys, leftovers, measures, revisions, store
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.objects import Objects
from warehouse.operate.sessions import Connection, Pool, clock_skew_seconds, takes_writes
from warehouse.operate.settings import Settings, misspelt
from warehouse.operate.surroundings import sentence_of
from warehouse.rules import Rulesets
from warehouse.skus import portfolio as stored


@dataclass(frozen=True, slots=True)
class Finding:
    """Codes of one company that are stored in another form than new ones.

    With several `codes`, they are one code now: they collide. With a single one, callers that send it send `form`, so
    that a new record is made.
    """

    record: str
    form: str
    codes: tuple[str, ...]

    @property
    def collides(self) -> bool:
        """Return whether several records have the code."""
        return len(self.codes) > 1


def find_codes(conn: Connection) -> list[Finding]:
    """Return the findings of the session's company."""
    findings = []
    for record in stored.RECORDS:
        by_form: defaultdict[str, set[str]] = defaultdict(set)
        for code in stored.unusual(conn, record):
            if (form := texts.code(code)) != code:
                by_form[form].add(code)
        for code in stored.among(conn, record, list(by_form)):
            by_form[code].add(code)
        findings += [Finding(record, form, tuple(sorted(codes))) for form, codes in sorted(by_form.items())]
    return findings


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


_COPIES: Final = {"connector.key": "that of a backup", "audit.key": "your own copy, as no backup has it"}


def of_keys(conn: Connection, settings: Settings) -> Iterator[Problem]:
    """Yield which keys of the deployment this data directory lacks, or has another file of."""
    for name in keys.NAMES:
        path = settings.data_dir / name
        match keys.state(conn, settings, name):
            case "missing":
                wrong = f"{path} is missing: what it seals or signs cannot be read or made here."
                yield Problem(
                    State.KEYS, wrong, f"Copy the file from another program of the deployment, or {_COPIES[name]}."
                )
            case "wrong":
                wrong = f"{path} is not this deployment's key, or cannot be read."
                yield Problem(State.KEYS, wrong, f"Put back the file that the other programs have, or {_COPIES[name]}.")
            case "rolling":
                wrong = f"{path} is new, and nothing is sealed with it yet."
                yield Problem(State.KEYS, wrong, f"When every program has it, run `pcds deployment-key reseal {name}`.")
            case None if keys.is_left(conn, settings, name):
                yield Problem(State.KEYS, f"{path}.old opens nothing any more.", "Remove it from every program.")


def of_database(database: Database, pool: Callable[[], Pool], settings: Settings, clock: Clock) -> list[Problem]:
    """Return what is wrong with the database, and what its rows tell where its tables are this release's.

    `pool` is asked for only then: a database that is not ours has no role for it.
    """
    try:
        with psycopg.connect(database.owner_url, connect_timeout=_CONNECT_SECONDS) as owner:
            problems = [*_of_server(owner, settings)]
        if not any(problem.check == State.MIGRATION for problem in problems):
            with pool().system() as conn:
                problems += _of_rows(conn, clock.now(), settings)
            problems += _of_sensors(database)
    except (psycopg.Error, PoolTimeout) as error:
        return [Problem(State.DATABASE, sentence_of(error) or str(error), "See the database's log; repair it.")]
    return problems


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
    elif (fault := revisions.strange(owner)) is not None:
        yield Problem(State.MIGRATION, *fault)
    elif revision != head:
        wrong = f"The tables are those of revision {revision}; this release needs {head}."
        yield Problem(State.MIGRATION, wrong, "Run `pcds migrate`.")
    elif settings.data_dir.is_dir():
        yield from of_keys(owner, settings)


def _of_rows(conn: Connection, now: datetime, settings: Settings) -> Iterator[Problem]:
    """Yield what the rows tell, in a session of no company; the tables are this release's."""
    if not catalogue.is_loaded(conn):
        wrong = "No catalogue is loaded: imports know no market."
        yield Problem(State.CATALOGUE, wrong, "Run `pcds catalogue refresh`.")
    if settings.warm_workers and not claims.has_listener(conn):
        remedy = "Start `pcds serve`, or `python -m api.operate.start worker` where a process manager starts programs."
        yield Problem(State.WORKER, "No worker waits for imports, so that they stay queued.", remedy)
    waiting = claims.open_imports(conn, now, asked_for=_WAITED)
    if waiting:
        wrong = f"{len(waiting)} imports wait, and no run was requested for them in ten minutes."
        yield Problem(State.IMPORTS, wrong, "See that worker, webserver and daemon run (docs/operations.md).")
    behind = [late for late in snapshots_figures.stale(conn, now.date()) if late.since and now - late.since > _WAITED]
    if behind:
        wrong = f"{len(behind)} companies have writes older than ten minutes that no snapshot has."
        yield Problem(State.SNAPSHOTS, wrong, "See that the daemon runs; `pcds snapshot --company ID` publishes one.")
    damaged = [held.slug for held in snapshots_figures.published(conn) if are_damaged(settings.data_dir, held)]
    if damaged:
        wrong = f"A file of the snapshot or the figures of {', '.join(damaged)} is not here, or cut off."
        remedy = (
            "After a restore none is made yet. The sensor `overdue_work` publishes anew within a minute, as does "
            "`pcds snapshot`; if a file stays away or goes again, check the disk."
        )
        yield Problem(State.SNAPSHOT_FILES, wrong, remedy)


def _of_sensors(database: Database) -> Iterator[Problem]:
    """Yield whether sensors or schedules of Dagster fail, which start every run but those of imports."""
    if failing := measures.failing_sensors(database.dagster_url):
        wrong = f"The last tick of {', '.join(failing)} failed, so that no run is started by it."
        remedy = "Its ticks in Dagster say why, as does the log: lines of `dagster.daemon` at level error."
        yield Problem(State.SENSORS, wrong, remedy)


_SAID: Final[Mapping[State, tuple[str, str]]] = {
    State.OBJECT_STORE: (
        "The object store does not take, give back or remove a file in time: uploads and downloads answer 503.",
        "See that it runs, that its credentials hold and that it has room; the log names the fault (objects.away).",
    ),
    State.FOREIGN_STORE: (
        "The object store carries another deployment's identity: it is read, never written, and uploads answer 503.",
        "Name another store in PCDS_OBJECTS_URL, or start with --take-over-objects if that deployment is gone.",
    ),
    State.UNRELIABLE_STORE: (
        "The object store gives back other bytes than were written.",
        "Stop uploads, look at the store, and find what is altered with `pcds backup FOLDER --verify`.",
    ),
}
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


def of_store(objects: Objects) -> Iterator[Problem]:
    """Yield what the store does wrong with a file; it may take some seconds."""
    if (fault := store.state(objects)) is not None:
        yield Problem(fault, *_SAID[fault])


def of_endpoint(settings: Settings) -> Iterator[Problem]:
    """Yield whether files go to the store without encryption."""
    endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
    if settings.objects_url is None or urlsplit(endpoint).scheme != "http":
        return
    if not settings.objects_by_http:
        wrong = f"The object store is at {endpoint}, which is not encrypted: it is not asked."
        remedy = "Use its https address, or set PCDS_OBJECTS_BY_HTTP=true if nobody can listen."
        yield Problem(State.STORE_BY_HTTP, wrong, remedy)
    elif not is_loopback(urlsplit(endpoint).hostname or ""):
        wrong = f"Files and credentials go to {endpoint} without encryption (PCDS_OBJECTS_BY_HTTP)."
        remedy = "Use its https address; nobody else may read that network meanwhile."
        yield Problem(State.STORE_BY_HTTP, wrong, remedy)


class Looked(NamedTuple):
    """What is looked at: the rows of the session's company and its snapshot, by the rules and the day of today."""

    conn: Connection
    rulesets: Rulesets
    today: date
    company_id: UUID
    data_dir: Path


def find(looked: Looked) -> dict[str, list[JsonObject]]:
    """Return the findings by kind, each kind's in its own order; a kind without findings is empty."""
    return {kind: list(search(looked)) for kind, search in KINDS.items()}


def _codes(looked: Looked, *, collide: bool) -> Iterator[JsonObject]:
    for finding in find_codes(looked.conn):
        if finding.collides is collide:
            yield {"record": finding.record, "code": finding.form, "held": list(finding.codes)}


def _values_without_unit(looked: Looked) -> Iterator[JsonObject]:
    """Yield values with the status that the unit of their limit implies: a contradiction refuses the next write."""
    for held in held_values(looked.conn, looked.rulesets.active(looked.conn)):
        yield {"sku_id": str(held.sku_id), "sku_code": held.sku_code, **asdict(held.value)}


def _misapplied_answers(looked: Looked) -> Iterator[JsonObject]:
    for answer in find_misapplied(looked.conn):
        in_words = {"asked_part": described(answer.asked), "written_part": described(answer.written_to)}
        yield {**answer._asdict(), **in_words}


def _changed_declarations(looked: Looked) -> Iterator[JsonObject]:
    """Yield kept declarations that the company's current snapshot contradicts; tonnes as numbers."""
    snapshot, conn = snapshots_figures.current(looked.data_dir, looked.company_id), looked.conn
    inputs = Inputs(snapshot, loaded_catalogue(conn), looked.rulesets.active(conn)) if snapshot else None
    for declaration in changed_declarations(conn, inputs):
        yield {name: float(value) if isinstance(value, Decimal) else value for name, value in declaration.items()}


def _declarations_against_record(looked: Looked) -> Iterator[JsonObject]:
    """Yield valid declarations of conformity that the record of their own item contradicts, with each fact."""
    for declaration in find_contradicted(looked.conn, looked.rulesets.active(looked.conn), looked.today):
        yield {
            "doc_id": str(declaration.doc_id),
            "reference": declaration.reference,
            "issued_on": None if declaration.issued_on is None else declaration.issued_on.isoformat(),
            "sku_id": str(declaration.sku_id),
            "sku_code": declaration.sku_code,
            "facts": [fact.message for fact in declaration.facts],
        }


KINDS: Final[Mapping[str, Callable[[Looked], Iterator[JsonObject]]]] = {
    "collisions": partial(_codes, collide=True),
    "unreachable": partial(_codes, collide=False),
    "values_without_unit": _values_without_unit,
    "misapplied_answers": _misapplied_answers,
    "changed_declarations": _changed_declarations,
    "double_declarations": lambda looked: ({**double} for double in double_declarations(looked.conn)),
    "declarations_against_record": _declarations_against_record,
}
"""Every kind of finding by the name under which it is reported. `/metrics` counts each (`pcds_records{kind}`); a new
one has its case in `deploy/prometheus/alerts.test.yaml` and a sentence in docs/operations.md, which a test asks for.
"""
