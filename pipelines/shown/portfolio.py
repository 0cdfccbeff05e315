"""Prepares what runs show of a company's portfolio: its snapshot, and the overview that assistants read."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias  # Any: Dagster's metadata takes any value, and an overview is JSON
from uuid import UUID

import dagster as dg

from pipelines.shown import preview
from warehouse.sessions import Connection
from warehouse.skus import origins
from warehouse.snapshots import Snapshot

Shown: TypeAlias = dict[str, Any]
_IMPORTS: Final = ("import that wrote last", "file", "sent at (UTC)", "SKUs")
_FLAGS: Final = ("code", "text", "applies_from", "skus", "certain", "depends")
_SCOPE: Final = ("code", "name", "system", "depth", "verified_on", "skus")


def snapshot_metadata(conn: Connection, snapshot: Snapshot, skus_by_import: Mapping[UUID, int]) -> Shown:
    """Return what a run shows of a new snapshot, with the imports that wrote last, in the company's session."""
    files = origins.files(conn, [*skus_by_import][: preview.PREVIEW_ROWS])
    rows = (
        (import_id, file.filename, f"{file.sent_at:%Y-%m-%d %H:%M:%S}", skus_by_import[import_id])
        for import_id, file in files.items()
    )
    return {
        **preview.of_snapshot(snapshot),
        "dagster/row_count": snapshot.rows["skus"],
        "size_bytes": snapshot.size_bytes,
        "skus_by_import": preview.table(_IMPORTS, rows, total=len(skus_by_import)),
        "skus_by_single_writes": snapshot.rows["skus"] - sum(skus_by_import.values()),
    }


def overview_metadata(snapshot: Snapshot, found: Mapping[str, Any]) -> Shown:
    """Return what a run shows of a portfolio's overview."""
    return {
        "as_of": dg.MetadataValue.timestamp(snapshot.as_of),
        "snapshot": snapshot.path,
        "skus": found["skus"],
        "skus_provisional": sum(found["provisional"].values()),
        **{f"grade_{grade}": number for grade, number in found["grades"].items()},
        "grades_picture": preview.grade_bars(found["grades"]),
        "markets_picture": preview.bars("SKUs by market", {row["market"]: row["skus"] for row in found["markets"]}),
        "doc_status": preview.table(("DoC status", "SKUs"), found["doc_status"].items()),
        "packaging_levels": preview.table(("level", "SKUs"), found["packaging_levels"].items()),
        "flags": preview.records(_FLAGS, found["annex_v_flags"]),
        "jurisdictions": preview.records(_SCOPE, found["jurisdictions"]),
    }
