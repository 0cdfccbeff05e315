"""Archives a SKU and brings it back, for requests and pages.

An archived SKU leaves lists, figures and the plan's count; its history, files and declarations stay. Any write with its
code brings it back, too (`pipelines.writing.returning`).
"""

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple, cast
from uuid import UUID

from pipelines.writing import present
from pipelines.writing.records import WriteOutcome, write_records
from schemas.messages import ORIGINAL
from schemas.sku import SkuDetail, SkuPatch
from schemas.vocabularies import Outcome
from warehouse.audit.origin import Origin
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Connection, savepoint
from warehouse.skus import archive, queries
from warehouse.skus.archive import Archived


class NoSuchSku(LookupError):  # noqa: N818  (an answer, not a fault of the program)
    """The company has no SKU of the id."""


class Archiving(NamedTuple):
    """What archiving a SKU changed, how it rests, and the version that it was archived from or rests as."""

    outcome: Outcome
    found: Archived
    version_before: int


def archive_sku(
    conn: Connection, company_id: UUID, sku_id: UUID, *, origin: Origin, now: datetime, dry_run: bool
) -> Archiving:
    """Archive a SKU, and return what that changed and how it rests. Raise `NoSuchSku`."""
    with savepoint(conn) as part:
        part.keep = not dry_run
        origin = replace(origin, reason=origin.reason or "Archived.")
        found = archive.archive(conn, company_id, [sku_id], origin=origin, now=now)
        rested = archive.of(conn, sku_id, now.date())
    if rested is None:
        raise NoSuchSku
    version = rested.row["version"]
    return Archiving("updated", rested, version - 1) if found else Archiving("unchanged", rested, version)


def return_sku(
    conn: Connection,
    company_id: UUID,
    sku_id: UUID,
    *,
    origin: Origin,
    now: datetime,
    rulesets: Rulesets,
    dry_run: bool,
) -> WriteOutcome:
    """Bring an archived SKU back: a write of its code and nothing else. Raise `NoSuchSku` and `PlanLimitReached`.

    The outcome is unchanged where it was not archived, and rejected where the law refuses it by now.
    """
    code = archive.code_of(conn, sku_id) or queries.code_of(conn, sku_id)
    if code is None:
        raise NoSuchSku
    record = cast(SkuPatch, {"sku_code": code})
    written = write_records(conn, company_id, {0: record}, origin=origin, now=now, rulesets=rulesets, dry_run=dry_run)
    return written[0]


def archived_detail(
    conn: Connection, found: Archived, rulesets: Rulesets, now: datetime, lang: str = ORIGINAL
) -> SkuDetail:
    """Return an archived SKU as its detail is shown, with `archived_at`."""
    row = found.row
    before = present.version_before(row)
    shown = present.sku_detail(
        row,
        present.record(row),
        rules=rulesets.active(conn),
        graded_by=rulesets.of(conn, row["ruleset_version"]),
        doc_status=row["doc_status"],
        today=now.date(),
        before=None if before is None else rulesets.of(conn, before),
        lang=lang,
    )
    return {**shown, "archived_at": found.archived_at}
