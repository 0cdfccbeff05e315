"""Reads the feed of changes together with the SKUs that changed, as they are now.

So that a caller that keeps a copy needs no second request for each change.
"""

from datetime import date
from typing import Final

from pipelines.writing import present
from schemas.issues import Issue
from schemas.json_values import JsonObject
from schemas.messages import ORIGINAL, Message
from schemas.refusals import Refused
from schemas.sku import SkuDetail
from warehouse.changes import feed
from warehouse.changes.cursors import Place
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Connection, make_seen_durable
from warehouse.skus import archive
from warehouse.skus.detail import StoredSku

AT_ONCE: Final = 25
"""SKUs that one statement reads."""
MOST_BYTES: Final = 4 * 2**20
"""Bytes of stored component graphs after which a page ends; the details are some times as large."""


def page_with_records(
    conn: Connection, place: Place, limit: int, *, rulesets: Rulesets, today: date, lang: str = ORIGINAL
) -> JsonObject:
    """Return ChangeListResponse with `record`s: the SKU that a change is about as its detail shows it.

    The records are read after the changes, so that none is older than a change that names it. The commit of the
    caller's transaction makes them durable: a newer one is told by a change that a crash does not take back. A page of
    large component graphs ends earlier. Raise `Refused` for a place that
    the company's ledger does not have.
    """
    page = feed.read(conn, place, limit)
    if page is None:
        raise unknown_cursor("after")
    ids = list(dict.fromkeys(change["sku_id"] for change in page["data"] if change["sku_id"] is not None))
    shown, read = _skus(conn, ids, rulesets, today, lang)
    left = set(ids[read:])
    for at, change in enumerate(page["data"]):
        if change["sku_id"] in left:
            page |= {"data": page["data"][:at], "next_cursor": page["data"][at - 1]["cursor"], "has_more": True}
            break
        change["record"] = shown.get(change["sku_id"])
    make_seen_durable(conn)
    return page


def _skus(
    conn: Connection, ids: list[str], rulesets: Rulesets, today: date, lang: str
) -> tuple[dict[str, SkuDetail], int]:
    """Return the details of SKUs by their ids, archived ones with `archived_at`, and how many ids were read."""
    shown: dict[str, SkuDetail] = {}
    read = size = 0
    while read < len(ids) and size <= MOST_BYTES:
        for row, archived_at in archive.of_ids(conn, ids[read : read + AT_ONCE], today):
            size += len(row["components"] or "")
            found = _shown(conn, row, rulesets, today, lang)
            shown[str(row["id"])] = found if archived_at is None else {**found, "archived_at": archived_at}
        read += AT_ONCE
    return shown, min(read, len(ids))


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


def unknown_cursor(field: str) -> Refused:
    """Return the refusal of a cursor that is no place in the company's ledger."""
    sentence = Message(
        "This cursor is not from this company's changes as they are now: it is another company's, or the sandbox was "
        "reset or a backup restored since. Take a new one with after=now, read the lists, and go on from it."
    )
    return Refused([Issue("unknown_cursor", sentence, field)])
