"""Finds what is missing in one SKU at present: the portfolio's conditions over a snapshot of its row alone.

A page that shows the current record must not show gaps beside it that were counted before the last write.
"""

from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from compliance.rule_rows import RuleSet
from schemas.analytics import IncompleteSku
from warehouse.analytics.missing import missing
from warehouse.analytics.now import Now
from warehouse.sessions import Connection
from warehouse.snapshots import Snapshot
from warehouse.snapshots.parts import write
from warehouse.snapshots.source import tables


def missing_in_one(
    conn: Connection, company_id: UUID, sku_id: UUID, now: Now, *, at: datetime, rules: RuleSet
) -> IncompleteSku | None:
    """Return a SKU of the session's company with its `gaps`, the gravest first, and its texts `not_understood`.

    As `missing` does; None where the company has no such SKU.
    """
    with TemporaryDirectory(prefix="pcds-item-") as folder:
        parts = write(Path(folder), tables(conn, now.today, rules, [sku_id]), lambda: None)
        snapshot = Snapshot(company_id, "item", at, now.links, "", "", parts, 0, Path(folder))
        found = missing(snapshot, now, limit=1)["items"]
    return found[0] if found else None
