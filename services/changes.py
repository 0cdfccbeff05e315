"""Reads the feed of changes together with the SKUs that changed, as they are now.

So that a caller that keeps a copy needs no second request for each change.
"""

from datetime import date
from typing import Any

from pipelines.writing import present
from schemas.messages import ORIGINAL
from schemas.sku import SkuDetail
from warehouse.changes import feed
from warehouse.changes.cursors import Place
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Connection, make_seen_durable
from warehouse.skus import archive
from warehouse.skus.detail import StoredSku


def page_with_records(
    conn: Connection, place: Place, limit: int, *, rulesets: Rulesets, today: date, lang: str = ORIGINAL
) -> dict[str, Any]:
    """Return ChangeListResponse with `record`s: the SKU that a change is about as its detail shows it.

    The records are read after the changes, so that none is older than a change that names it. The commit of the
    caller's transaction makes them durable: a newer one is told by a change that a crash does not take back. Raise
    `UnknownCursor`.
    """
    page = feed.read(conn, place, limit)
    ids = {change["sku_id"] for change in page["data"] if change["sku_id"] is not None}
    shown = _skus(conn, sorted(ids), rulesets, today, lang)
    for change in page["data"]:
        change["record"] = shown.get(change["sku_id"])
    make_seen_durable(conn)
    return page


def _skus(conn: Connection, ids: list[str], rulesets: Rulesets, today: date, lang: str) -> dict[str, SkuDetail]:
    """Return the details of SKUs by their ids, those of archived ones with `archived_at`."""
    shown: dict[str, SkuDetail] = {}
    for row, archived_at in archive.of_ids(conn, ids, today):
        found = _shown(conn, row, rulesets, today, lang)
        shown[str(row["id"])] = found if archived_at is None else {**found, "archived_at": archived_at}
    return shown


def _shown(conn: Connection, row: StoredSku, rulesets: Rulesets, today: date, lang: str) -> SkuDetail:
    before = present.version_before(row)
    return present.sku_detail(
        row,
        present.record(row),
        rules=rulesets.active(conn),
        graded_by=rulesets.of(conn, row["ruleset_version"]),
        doc_status=row["doc_status"],
        today=today,
        before=None if before is None else rulesets.of(conn, before),
        lang=lang,
    )
