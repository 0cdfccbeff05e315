"""What is missing in a portfolio, or in one SKU of it: the worst gaps first."""

from typing import Any, Final

from compliance.readiness import Finding, findings
from warehouse.analytics.findings import FACTS, met, weighed
from warehouse.analytics.now import Now
from warehouse.analytics.reader import reader
from warehouse.snapshots import Snapshot

_GAPS: Final = """
WITH {facts}, judged AS (SELECT units, unnest({met}) AS key FROM facts)
SELECT key, count(*) AS skus, coalesce(sum(units), 0)::BIGINT AS units FROM judged GROUP BY key
"""
_ITEMS: Final = """
WITH {facts}, judged AS (
    SELECT sku_code, id, name, {met} AS gaps, {weighed} AS weight, coalesce(units, 0)::BIGINT AS units FROM facts
    WHERE $sku_code IS NULL OR sku_code = $sku_code
)
SELECT sku_code, id, name, gaps, weight, units, count(*) OVER () AS total FROM judged
WHERE weight > 0 OR $sku_code IS NOT NULL
ORDER BY weight DESC, units DESC, sku_code LIMIT $limit OFFSET $offset
"""


def missing(
    snapshot: Snapshot, now: Now, *, sku_code: str | None = None, limit: int = 50, offset: int = 0
) -> dict[str, Any]:
    """The gaps with the SKUs and units that they touch, and a page of SKUs with theirs.

    A SKU's gaps weigh as much as they stand in its way together; of equals the one with more units comes first. With
    `sku_code` only that SKU is told, gaps or none; an unknown one gives no item. What would make its grade firm is in
    its grade trace.
    """
    asked = [found for found in findings() if found.on(now.today).kind == "missing"]
    parts = {"facts": FACTS, "met": met(asked), "weighed": weighed(asked)}
    whole = {"market": None, "today": now.today}
    with reader(snapshot) as answers:
        gaps = {row["key"]: row for row in answers.records(_GAPS.format(**parts), **whole)} if sku_code is None else {}
        items = answers.records(_ITEMS.format(**parts), **whole, sku_code=sku_code, limit=limit, offset=offset)
    by_key = {found.key: found for found in asked}
    return {
        **now.head(snapshot),
        "gaps": _worst_first(asked, gaps),
        "items": [
            {
                **{name: item[name] for name in ("id", "sku_code", "name", "units", "weight")},
                "gaps": [by_key[key].as_dict() for key in item["gaps"]],
            }
            for item in items
        ],
        "pagination": {"limit": limit, "offset": offset, "total": items[0]["total"] if items else 0},
    }


def _worst_first(asked: list[Finding], gaps: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """By weight times SKUs."""
    told = [
        (found.weight * gaps[found.key]["skus"], {**found.as_dict(), **gaps[found.key]})
        for found in asked
        if found.key in gaps
    ]
    return [
        {name: value for name, value in gap.items() if name != "key"}
        for _, gap in sorted(told, key=lambda weighed_gap: -weighed_gap[0])
    ]
