"""Lists the gaps of a portfolio, or of one SKU of it, the worst first."""

from collections import Counter, defaultdict
from typing import Final, TypedDict

from compliance import ruleset
from compliance.readiness import Finding, findings
from compliance.words import nearest_materials
from schemas.analytics import Gap, Missing, UnknownText
from warehouse.analytics.findings import FACTS, mask, of_mask, prepare, weight_sum_sql
from warehouse.analytics.now import Now
from warehouse.analytics.placed import period
from warehouse.analytics.reader import Reader, reader
from warehouse.snapshots import Snapshot

_JUDGED: Final = """
CREATE TEMPORARY TABLE judged AS
WITH {facts}
SELECT id, sku_code, name, {mask} AS mask, {weighed} AS weight, coalesce(units, 0)::BIGINT AS units FROM facts
WHERE $sku_code IS NULL OR sku_code = $sku_code
"""
_GROUPS: Final = """
SELECT mask, any_value(weight) AS weight, count(*) AS skus, sum(units)::BIGINT AS units FROM judged GROUP BY mask
"""
_ITEMS: Final = """
SELECT * FROM judged WHERE weight > 0 OR $sku_code IS NOT NULL
ORDER BY weight DESC, units DESC, sku_code LIMIT $limit OFFSET $offset
"""
_UNREAD: Final = """
SELECT sku_code, 'components[' || position || '].polymer_or_grade' AS field, polymer_or_grade FROM components
WHERE sku_code IN (SELECT unnest($codes::VARCHAR[])) AND polymer_or_grade IN (FROM unread)
UNION ALL SELECT sku_code, 'material_subtype', material_subtype FROM skus
WHERE sku_code IN (SELECT unnest($codes::VARCHAR[])) AND material_subtype IN (FROM unread)
    AND sku_code NOT IN (SELECT sku_code FROM components)
ORDER BY ALL
"""


class _Group(TypedDict):
    """SKUs with the same gaps."""

    mask: int
    weight: int
    skus: int
    units: int


class _Judged(TypedDict):
    """A SKU with its gaps."""

    id: str
    sku_code: str
    name: str
    mask: int
    weight: int
    units: int


def missing(snapshot: Snapshot, now: Now, *, sku_code: str | None = None, limit: int = 50, offset: int = 0) -> Missing:
    """Return the gaps with the SKUs and units that they affect, and a page of SKUs with theirs.

    A SKU is sorted by the sum of its gaps' weights; of equals the one with more units comes first. An item names its
    material texts that were not understood. Units are of the calendar year `period`, over all markets. With `sku_code`
    the answer is about that SKU alone, gaps or none; an unknown one gives no item. `with_asked` adds what its grade
    asks for.
    """
    asked = [found for found in findings() if found.on(now.today).kind == "missing"]
    parts = {"facts": FACTS, "mask": mask(asked), "weighed": weight_sum_sql(asked)}
    with reader(snapshot) as answers:
        prepare(answers)
        answers.rows(_JUDGED.format(**parts), market=None, today=now.today, sku_code=sku_code)
        units_of = period(answers, None, now.today)
        groups = answers.records(_Group, _GROUPS)
        items = answers.records(_Judged, _ITEMS, sku_code=sku_code, limit=limit, offset=offset)
        unread = _unread(answers, [item["sku_code"] for item in items])
    total = sum(group["skus"] for group in groups if group["weight"] > 0 or sku_code is not None)
    return {
        **now.head(snapshot),
        "period": units_of,
        "gaps": _worst_first(asked, groups) if sku_code is None else [],
        "items": [
            {
                "id": item["id"],
                "sku_code": item["sku_code"],
                "name": item["name"],
                "units": item["units"],
                "weight": item["weight"],
                "gaps": [found.as_dict() for found in of_mask(asked, item["mask"])],
                "not_understood": unread.get(item["sku_code"], []),
            }
            for item in items
        ],
        "pagination": {"limit": limit, "offset": offset, "total": total},
    }


def _unread(answers: Reader, codes: list[str]) -> dict[str, list[UnknownText]]:
    """Return each SKU's material texts of no known material, each with the nearest known words."""
    rules, found = ruleset.load(), defaultdict[str, list[UnknownText]](list)
    for code, field, text in answers.rows(_UNREAD, codes=codes):
        found[code].append({"field": field, "text": text, "nearest": list(nearest_materials(text, rules))})
    return found


def _worst_first(asked: list[Finding], groups: list[_Group]) -> list[Gap]:
    """Return the gaps that some SKU has, by weight times SKUs."""
    skus, units = Counter[str](), Counter[str]()
    for group in groups:
        for found in of_mask(asked, group["mask"]):
            skus[found.key] += group["skus"]
            units[found.key] += group["units"]
    worst = sorted(asked, key=lambda found: -found.weight * skus[found.key])
    return [
        {**found.as_dict(), "skus": skus[found.key], "units": units[found.key]} for found in worst if skus[found.key]
    ]
