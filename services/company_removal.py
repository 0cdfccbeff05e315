"""Erases a company: its rows in one transaction, then its files and runs, then a signed certificate.

What stays is the hash of each link of its audit chain, without the entries that it was made of. The transaction notes
that it was done; all that follows may be done again, so that a removal that was cut off goes on when it is asked again
(decision 0058).
"""

import shutil
from collections.abc import Callable
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg import errors

from schemas.json_values import JsonObject
from services.company_export import ExportError, places
from warehouse.audit import signing
from warehouse.companies import belongings, removed, runs
from warehouse.companies.removed import Removed
from warehouse.database import Database
from warehouse.objects import Objects
from warehouse.sessions import Connection, owner_transaction
from warehouse.settings import Settings

_ATTEMPTS: Final = 5
"""A writer that holds a row and waits for the counters is one half of a deadlock; Postgres ends one of the two."""


def _nothing(_: str) -> None:
    """Do nothing."""


def remove(
    settings: Settings,
    database: Database,
    company_id: UUID,
    now: datetime,
    *,
    by: str,
    exported: JsonObject | None,
    after: Callable[[str], None] = _nothing,
) -> JsonObject:
    """Erase a company, or go on with a removal that was cut off; return its certificate.

    `exported` is the list of an export: raises `ExportError` where something was written since, and then nothing is
    changed. `after` is called with the name of each step that is done.
    """
    with owner_transaction(database.owner_url, company_id) as owner:
        begun = removed.of(owner, company_id)
    if begun is None:
        begun = _erase_rows(database, company_id, now, exported)
        after("rows")
    if begun.certificate is not None:
        return begun.certificate
    files = _erase_files(settings, database, company_id)
    after("files")
    events = _erase_runs(database, begun)
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
    certificate = signing.sign(settings, statement)
    with owner_transaction(database.owner_url) as owner:
        removed.end(owner, company_id, certificate, now)
    return certificate


def _erase_rows(database: Database, company_id: UUID, now: datetime, exported: JsonObject | None) -> Removed:
    with owner_transaction(database.owner_url, company_id) as owner:
        _check_exported(owner, company_id, exported)
        removed.close(owner, company_id, now)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with owner_transaction(database.owner_url, company_id) as owner:
                return _erased(owner, company_id, now, exported)
        except errors.DeadlockDetected:
            if attempt == _ATTEMPTS:
                raise
    raise AssertionError("the last attempt returns or raises")


def _check_exported(owner: Connection, company_id: UUID, exported: JsonObject | None) -> removed.Chain:
    chain = removed.lock(owner, company_id)
    assert chain is not None, "the caller found the company"
    if exported is not None and exported["links"] != chain.links:
        raise ExportError(
            f"Something was written since the export: it has {exported['links']} transactions of the ledger, the "
            f"company {chain.links}. Nothing was removed; export anew."
        )
    return chain


def _erased(owner: Connection, company_id: UUID, now: datetime, exported: JsonObject | None) -> Removed:
    chain = _check_exported(owner, company_id, exported)
    removed.keep_links(owner, company_id)
    rows = {table.name: belongings.erase(owner, table, company_id) for table in belongings.of_companies(owner)}
    removed.begin(owner, company_id, chain, rows, now)
    found = removed.of(owner, company_id)
    assert found is not None, "the row was just added"
    return found


def _erase_files(settings: Settings, database: Database, company_id: UUID) -> int:
    """Remove the company's objects, snapshots and figures; return how many objects there were."""
    objects, number = Objects.of(settings, database), 0
    for key, _ in list(objects.stored(company_id)):
        objects.delete(key)
        number += 1
    if objects.folder is not None:
        shutil.rmtree(objects.folder / str(company_id), ignore_errors=True)
    for place in places(settings, company_id):
        shutil.rmtree(place, ignore_errors=True)
    return number


def _erase_runs(database: Database, begun: Removed) -> int:
    """Remove the company's runs."""
    if begun.slug is None:
        return 0
    with runs.connected(database.dagster_url) as connection:
        found = runs.of_company(connection, begun.slug)
        return runs.erase(connection, found, begun.slug)
