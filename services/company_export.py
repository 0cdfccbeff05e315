"""Writes everything of one company into a folder: rows, files, snapshots, figures, runs, and a list of it all.

    tables/     a compressed CSV file with a header for each table that has rows of companies, at one instant
    objects/    uploaded files, tables read from them, figures between assets
    snapshots/  figures/    Parquet files, where they are in this data directory
    dagster/    the company's runs
    export.json what there is, with each file's SHA-256 and the head of the audit chain; written last

Credentials are withheld: digests of keys and passwords are of use to those alone who want to guess them.
"""

import shutil
import tempfile
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

import orjson
import psycopg

from schemas.json_values import JsonObject
from warehouse import figures
from warehouse.backup import tables
from warehouse.backup.folder import digests
from warehouse.companies import belongings, removed, runs
from warehouse.database import Database
from warehouse.objects import NoSuchObject, Objects
from warehouse.sessions import Connection, become
from warehouse.settings import Settings
from warehouse.snapshots import snapshot

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
        objects = Objects.of(settings)
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
    kinds = (snapshot.FOLDER, figures.FOLDER)
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
        tables.use_plain_values(owner)
        found = belongings.of_companies(owner)
        counts = {
            table.name: belongings.copy_out(owner, table, company_id, draft / "tables" / f"{table.name}.csv.gz")
            for table in found
        }
        chain = removed.head(owner, company_id)
        owner.rollback()
    assert chain is not None, "the caller found the company"
    return {
        "slug": chain.slug,
        "links": chain.links,
        "entries": chain.entries,
        "chain_hash": chain.head.hex() if chain.head else None,
        "tables": counts,
        "withheld": {table.name: table.withheld for table in found if table.withheld},
    }


def _runs(database: Database, slug: str, draft: Path) -> None:
    (draft / "dagster").mkdir(mode=0o700)
    with runs.connected(database.dagster_url) as connection:
        if found := runs.of_company(connection, slug):
            runs.copy_out(connection, found, draft / "dagster" / "runs.csv.gz")


def read(folder: Path, company_id: UUID) -> JsonObject:
    """Return the list of an export of this company whose files are all as they were written. Raises `ExportError`."""
    try:
        about: JsonObject = orjson.loads((folder / LIST).read_bytes())
    except (FileNotFoundError, NotADirectoryError, orjson.JSONDecodeError):
        raise ExportError(f"{folder} is no export: it has no {LIST}. `pcds company export` makes one.") from None
    if about.get("company_id") != str(company_id) or about.get("format") != FORMAT:
        raise ExportError(f"{folder} is no export of the company {company_id}.")
    differing = _differing(about["files"].items(), digests_beside(folder).items())
    if differing:
        raise ExportError(f"{folder} is no whole export: {differing} is not as it was written. Export anew.")
    return about


def digests_beside(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file except the list."""
    found = digests(folder)
    found.pop(LIST, None)
    return found


def _differing(listed: Iterable[tuple[str, str]], found: Iterable[tuple[str, str]]) -> str | None:
    return min((name for name, _ in set(listed) ^ set(found)), default=None)


def load_ledger(owner: Connection, folder: Path) -> None:
    """Read an export's ledger and row versions into temporary tables, which queries find first until the commit."""
    for name in ("skus", "sku_versions", "audit_transactions", "audit_entries", "company_counters"):
        with (folder / "tables" / f"{name}.csv.gz").open("rb") as file:
            belongings.load_apart(owner, name, file)
