"""Exports everything of one company, removes a company, resets its sandbox, and stores its profile.

An export is a folder:

    tables/     a compressed CSV file with a header for each table that has rows of companies, at one instant
    objects/    uploaded files, tables read from them, figures between assets
    snapshots/  figures/    Parquet files, where they are in this data directory
    dagster/    the company's runs
    export.json what there is, with each file's SHA-256 and the head of the audit chain; written last

Credentials are withheld: digests of keys and passwords are of use to those alone who want to guess them. A removed
company leaves the hashes of its audit chain (decision 0058).
"""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

import orjson
import psycopg
import structlog
from psycopg import errors
from uuid_utils import uuid7

from schemas.actors import Actor
from schemas.companies import CompanyProfile, ProfileFields
from schemas.issues import Issue
from schemas.json_values import JsonObject
from schemas.messages import Message
from schemas.refusals import Refused
from warehouse.audit import chain as chain_audit
from warehouse.audit import ledger
from warehouse.companies import profiles, removal, sandboxes
from warehouse.companies.removal import Removed
from warehouse.figures import snapshots, stored
from warehouse.operate.backup import take
from warehouse.operate.backup.take import digests
from warehouse.operate.database import Database
from warehouse.operate.objects import NoSuchObject, Objects
from warehouse.operate.sessions import Connection, become, dagster_transaction, owner_transaction, owner_turn
from warehouse.operate.settings import Settings

LIST: Final = "export.json"
FORMAT: Final = 1


class ExportError(Exception):
    """An export was not made, or is not what it should be; `str()` is a sentence that says what to do."""

    code = "export_failed"


def export(settings: Settings, database: Database, company_id: UUID, folder: Path, now: datetime) -> JsonObject:
    """Write everything of an existing company into a new folder, which appears whole or not at all; return its list.

    Raises `ExportError` where the folder cannot be made.
    """
    if folder.exists():
        raise ExportError(f"{folder} is there already; name a folder that is not.")
    if not folder.absolute().parent.is_dir():
        raise ExportError(f"There is no folder {folder.parent}.")
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.absolute().parent))
    try:
        listed = _rows(database, company_id, draft)
        slug = str(listed.pop("slug"))
        objects = Objects.from_settings(settings)
        copy_objects(objects, company_id, draft / "objects")
        for place in places(settings, company_id):
            if place.is_dir():
                shutil.copytree(place, draft / place.parent.name)
        _runs(database, slug, draft)
        about = {"format": FORMAT, "company_id": str(company_id), "at": now.isoformat(), **listed}
        about["files"] = digests(draft)
        (draft / LIST).write_bytes(orjson.dumps(about, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return about


def places(settings: Settings, company_id: UUID) -> tuple[Path, ...]:
    """Return the folders of the data directory that have files of the company, beside the object store."""
    kinds = (snapshots.FOLDER, stored.FOLDER)
    return tuple(settings.data_dir / kind / str(company_id) for kind in kinds)


def copy_objects(objects: Objects, company_id: UUID, target: Path) -> None:
    """Copy each object of the company; one that is removed meanwhile is skipped."""
    for key, _ in objects.stored(company_id):
        path = target / key.partition("/")[2]
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with objects.open(key) as source, path.open("wb") as out:
                shutil.copyfileobj(source, out)
        except NoSuchObject:
            path.unlink(missing_ok=True)


def _rows(database: Database, company_id: UUID, draft: Path) -> JsonObject:
    (draft / "tables").mkdir(mode=0o700)
    with psycopg.connect(database.owner_url) as owner:
        owner.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        become(owner, company_id)
        take.use_plain_values(owner)
        tables = removal.of_companies(owner)
        counts = {
            table.name: removal.copy_out(owner, table, company_id, draft / "tables" / f"{table.name}.csv.gz")
            for table in tables
        }
        chain = removal.head(owner, company_id)
        owner.rollback()
    assert chain is not None, "the caller found the company"
    return {
        "slug": chain.slug,
        "links": chain.links,
        "entries": chain.entries,
        "chain_hash": chain.head.hex() if chain.head else None,
        "tables": counts,
        "withheld": {table.name: table.withheld for table in tables if table.withheld},
    }


def _runs(database: Database, slug: str, draft: Path) -> None:
    (draft / "dagster").mkdir(mode=0o700)
    with dagster_transaction(database.dagster_url) as connection:
        if runs := removal.of_company(connection, slug):
            removal.copy_out_runs(connection, runs, draft / "dagster" / "runs.csv.gz")


def read(folder: Path, company_id: UUID) -> JsonObject:
    """Return the list of an export of this company whose files are all as they were written. Raises `ExportError`."""
    try:
        about: JsonObject = orjson.loads((folder / LIST).read_bytes())
    except (FileNotFoundError, NotADirectoryError, orjson.JSONDecodeError):
        raise ExportError(f"{folder} is no export: it has no {LIST}. `pcds company export` makes one.") from None
    if about.get("company_id") != str(company_id) or about.get("format") != FORMAT:
        raise ExportError(f"{folder} is no export of the company {company_id}.")
    sums = digests(folder)
    sums.pop(LIST, None)
    if differing := min((name for name, _ in about["files"].items() ^ sums.items()), default=None):
        raise ExportError(f"{folder} is no whole export: {differing} is not as it was written. Export anew.")
    return about


def load_ledger(owner: Connection, folder: Path) -> None:
    """Read an export's ledger and row versions into temporary tables, which queries find first until the commit."""
    for name in ("skus", "sku_versions", "audit_transactions", "audit_entries", "company_counters"):
        with (folder / "tables" / f"{name}.csv.gz").open("rb") as file:
            removal.load_apart(owner, name, file)


_ATTEMPTS: Final = 5
"""A writer that holds a row and waits for the counters is one half of a deadlock; Postgres ends one of the two."""


def remove(
    settings: Settings,
    database: Database,
    company_id: UUID,
    now: datetime,
    *,
    by: str,
    exported: JsonObject | None,
    after: Callable[[str], None] = lambda _: None,
) -> JsonObject:
    """Erase a company, or go on with a removal that was cut off; return its certificate.

    `exported` is the list of an export: raises `ExportError` where something was written since, and then nothing is
    changed. `after` is called with the name of each step that is done.
    """
    with owner_transaction(database.owner_url, company_id) as owner:
        begun = removal.find_removal(owner, company_id)
    if begun is None:
        begun = _erase_rows(database, company_id, now, exported)
        after("rows")
    if begun.certificate is not None:
        return begun.certificate
    files = _erase_files(settings, database, company_id)
    after("files")
    events = 0
    if begun.slug is not None:
        with dagster_transaction(database.dagster_url) as connection:
            events = removal.erase_runs(connection, removal.of_company(connection, begun.slug), begun.slug)
    after("runs")
    statement = {
        "company_id": str(company_id),
        "removed_at": begun.begun_at.isoformat(),
        "completed_at": now.isoformat(),
        "removed_by": by,
        "exported_before": exported is not None,
        "rows": begun.rows,
        "files": files,
        "dagster_rows": events,
        "audit_chain": {
            "links": begun.links,
            "entries": begun.entries,
            "head": begun.head.hex() if begun.head else None,
            "sha256_of_hashes": begun.hashes.hex(),
        },
        "not_covered": "Backups and exports that were taken before, logs, data directories of other machines, and "
        "Dagster's list of assets, whose last events may name the company's slug.",
    }
    certificate = chain_audit.sign(settings, statement)
    with owner_transaction(database.owner_url) as owner:
        removal.end(owner, company_id, certificate, now)
    return certificate


def _erase_rows(database: Database, company_id: UUID, now: datetime, exported: JsonObject | None) -> Removed:
    with owner_transaction(database.owner_url, company_id) as owner:
        _check_exported(owner, company_id, exported)
        removal.close(owner, company_id, now)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with owner_transaction(database.owner_url, company_id) as owner:
                return _erased(owner, company_id, now, exported)
        except errors.DeadlockDetected:
            if attempt == _ATTEMPTS:
                raise
    raise AssertionError("the last attempt returns or raises")


def _check_exported(owner: Connection, company_id: UUID, exported: JsonObject | None) -> removal.Chain:
    chain = removal.lock(owner, company_id)
    assert chain is not None, "the caller found the company"
    if exported is not None and exported["links"] != chain.links:
        raise ExportError(
            f"Something was written since the export: it has {exported['links']} transactions of the ledger, the "
            f"company {chain.links}. Nothing was removed; export anew."
        )
    return chain


def _erased(owner: Connection, company_id: UUID, now: datetime, exported: JsonObject | None) -> Removed:
    chain = _check_exported(owner, company_id, exported)
    removal.keep_links(owner, company_id)
    rows = {table.name: removal.erase(owner, table, company_id) for table in removal.of_companies(owner)}
    removal.begin(owner, company_id, chain, rows, now)
    record = removal.find_removal(owner, company_id)
    assert record is not None, "the row was just added"
    return record


def _erase_files(settings: Settings, database: Database, company_id: UUID) -> int:
    """Remove the company's objects, snapshots and figures; return how many objects there were."""
    objects, number = Objects.from_settings(settings, database), 0
    for key, _ in list(objects.stored(company_id)):
        objects.delete(key)
        number += 1
    if objects.folder is not None:
        shutil.rmtree(objects.folder / str(company_id), ignore_errors=True)
    for place in places(settings, company_id):
        shutil.rmtree(place, ignore_errors=True)
    return number


log = structlog.get_logger(__name__)

_ERASER: Final = "a reset of the sandbox"


def write_profile(conn: Connection, actor: Actor, fields: ProfileFields, version: int) -> CompanyProfile:
    """Store what the company says of itself, in place of a `version` that was seen; return what is stored then.

    What is stored already is answered as it is. Raise `Refused` (`version_conflict`) where somebody changed it since.
    """
    before = profiles.read(conn)
    changed = [name for name in profiles.FIELDS if before[name] != fields[name]]  # type: ignore[literal-required]
    if not changed:
        return before
    if not profiles.write(conn, actor.company_id, fields, version=version, at=actor.now):
        sentence = Message("Somebody has changed the profile since this page was opened; see what is stored now.")
        raise Refused([Issue("version_conflict", sentence)], "version_conflict")
    old, new = ({name: values[name] for name in changed} for values in (before, fields))  # type: ignore[literal-required]
    ledger.enter(conn, actor, "company.profile_updated", actor.company_id, before=old, after=new)
    return profiles.read(conn)


class Reset(NamedTuple):
    """A reset: the sandbox that the keys reach now, the one they reached before, and how many SKUs that had."""

    sandbox: UUID
    before: UUID
    skus: int


def make(owner: Connection, actor: Actor) -> UUID:
    """Return the sandbox of the actor's company, made where there is none, in a transaction of the owner."""
    account = actor.company_id
    name, plan = sandboxes.lock(owner, account)
    if (sandbox := sandboxes.find_sandbox(owner, account)) is not None:
        return sandbox
    sandbox = UUID(str(uuid7()))
    ledger.enter(owner, actor, "sandbox.created", sandbox, before=None, after={"name": name})
    sandboxes.add(owner, sandbox, account, name=name, plan=plan, at=actor.now)
    after = {"name": sandboxes.NAME.format(name=name), "plan": plan}
    ledger.enter(owner, replace(actor, company_id=sandbox), "company.created", sandbox, before=None, after=after)
    return sandbox


def reset(owner: Connection, account: UUID, actor: Actor) -> Reset:
    """Have the test keys of an account reach a new, empty sandbox.

    The session, a transaction of the owner, is that one's afterwards.

    The actor's company is the sandbox that the caller was admitted to; where another reset has left it since, there is
    nothing to do.
    """
    before = actor.company_id
    name, plan = sandboxes.lock(owner, account)
    current = sandboxes.find_sandbox(owner, account)
    assert current is not None, "the caller was admitted to a sandbox of the account"
    if current != before:
        become(owner, current)
        return Reset(current, before, 0)
    skus = sandboxes.leave(owner, before, actor.now)
    sandbox = UUID(str(uuid7()))
    sandboxes.add(owner, sandbox, account, name=name, plan=plan, at=actor.now)
    sandboxes.take_keys(owner, before, sandbox)
    counts = {"before": {"skus": skus}, "after": {"skus": 0}}
    ledger.enter(owner, replace(actor, company_id=sandbox), "sandbox.reset", sandbox, **counts)
    return Reset(sandbox, before, skus)


def erase_left(settings: Settings, database: Database, now: datetime) -> int:
    """Erase every sandbox that a reset left, or go on where that was cut off; return how many.

    One that another process is erasing is left to that; where the object store is away, to the next start or reset.
    """
    with owner_transaction(database.owner_url) as owner:
        sandbox_ids = sandboxes.left(owner)
    for sandbox in sandbox_ids:
        with owner_turn(database.owner_url, sandboxes.erasure_of(sandbox)) as is_ours:
            try:
                if is_ours:
                    remove(settings, database, sandbox, now, by=_ERASER, exported=None)
            except ConnectionError as error:
                log.warning("sandbox.not_erased", sandbox=str(sandbox), reason=str(error))
    return len(sandbox_ids)
