"""Shows a SKU's readiness for one market by the company's own records: obstacles, decisions to take, missing data.

Not legal advice and no permission: a SKU is `ready` where no recorded fact blocks it and no required fact is missing.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, TypedDict

from compliance import annex_v
from compliance.readiness import Finding, findings
from schemas.normalise import market as normalised
from schemas.report import Pagination
from warehouse.analytics.findings import FACTS, applicable_findings, mask, of_mask, prepare
from warehouse.analytics.market import covered_packaging, figures_in
from warehouse.analytics.now import Now
from warehouse.analytics.placed import period
from warehouse.analytics.reader import reader
from warehouse.figures import StoredFigures
from warehouse.snapshots import Snapshot

_EXAMPLES: Final = 5
_PLACES: Final = {"blocks": "blocked", "decide": "to_decide", "missing": "incomplete"}
"""The class of a SKU by its gravest kind of finding; a SKU without one is ready."""
_GROUPS: Final = """
WITH {facts}, judged AS (SELECT sku_code, units, {mask} AS mask FROM facts)
SELECT mask, count(*) AS skus, sum(units)::BIGINT AS units, min(sku_code, {examples}) AS examples
FROM judged GROUP BY mask
"""
_ITEMS: Final = """
WITH {facts}, judged AS (SELECT sku_code, name, coalesce(units, 0)::BIGINT AS units, {mask} AS mask FROM facts)
SELECT sku_code, name, units, mask FROM judged WHERE mask IN (SELECT unnest($masks::BIGINT[]))
ORDER BY units DESC, sku_code LIMIT $limit OFFSET $offset
"""
STATES: Final = (*_PLACES.values(), "ready")
"""The classes of `readiness`."""


class _Group(TypedDict):
    """SKUs with the same findings, and some of their codes."""

    mask: int
    skus: int
    units: int | None
    examples: list[str]


class MarketItem(TypedDict):
    """A SKU of a class of a market, and the codes of the findings that put it there."""

    sku_code: str
    name: str
    units: int
    findings: list[str]


class MarketItems(TypedDict):
    """A page of them; units are of the calendar year `period`."""

    period: int | None
    items: list[MarketItem]
    pagination: Pagination


def readiness(snapshot: Snapshot, market: str, now: Now, figures: StoredFigures | None = None) -> dict[str, object]:
    """Count the SKUs of which the market is one in effect, by class, and list each finding with its SKUs.

    `market` is a jurisdiction code; a country counts its subdivisions. Units are of the calendar year `period`. Each
    SKU is in one class: blocked, else to decide, else incomplete, else ready. `upcoming` findings count for none of
    them. `coverage` and `figures` are of the market itself: the packaging that its duties cover, and the tonnes placed
    there. Raises `schemas.normalise.Unfit` (`unknown_market`) for what is no ISO 3166 code.
    """
    code = normalised(market)
    in_union = annex_v.may_be_in_the_union([code])
    asked = applicable_findings(findings(), in_union=in_union, today=now.today)
    query = _GROUPS.format(facts=FACTS, mask=mask(asked), examples=_EXAMPLES)
    with reader(snapshot) as answers:
        prepare(answers)
        groups = answers.records(_Group, query, market=code, today=now.today)
        units_of = period(answers, code, now.today)
    places = Counter[str]()
    by_key: dict[str, list[_Group]] = {}
    for group in groups:
        findings_here = of_mask(asked, group["mask"])
        places[_place(findings_here)] += group["skus"]
        for found in findings_here:
            by_key.setdefault(found.key, []).append(group)
    jurisdiction = now.jurisdictions.get(code)
    return {
        **now.head(snapshot),
        "market": code,
        "in_european_union": in_union,
        "jurisdiction": jurisdiction.as_dict(now.today) if jurisdiction else None,
        "coverage": covered_packaging(code),
        "period": units_of,
        "figures": figures_in(figures, code, now.today.year) if figures else None,
        "skus": places.total(),
        **{place: places[place] for place in (*_PLACES.values(), "ready")},
        **{
            kind: [_row(found, by_key[found.key]) for found in asked if found.kind == kind and found.key in by_key]
            for kind in ("blocks", "decide", "missing", "upcoming")
        },
        "indicative": True,
    }


def items_in(snapshot: Snapshot, market: str, now: Now, state: str, *, limit: int, offset: int) -> MarketItems:
    """Return a page of the SKUs that `readiness` counts in a class of the market, most units first, with why.

    `findings` are codes of the class's kind. Raises `schemas.normalise.Unfit` (`unknown_market`).
    """
    code = normalised(market)
    asked = applicable_findings(findings(), in_union=annex_v.may_be_in_the_union([code]), today=now.today)
    parts = {"facts": FACTS, "mask": mask(asked)}
    with reader(snapshot) as answers:
        prepare(answers)
        groups = answers.records(_Group, _GROUPS.format(**parts, examples=1), market=code, today=now.today)
        masks = [group["mask"] for group in groups if _place(of_mask(asked, group["mask"])) == state]
        units_of = period(answers, code, now.today)
        rows = answers.rows(
            _ITEMS.format(**parts), market=code, today=now.today, masks=masks, limit=limit, offset=offset
        )
    kind = next((kind for kind, place in _PLACES.items() if place == state), None)
    return {
        "period": units_of,
        "items": [
            {
                "sku_code": sku_code,
                "name": name,
                "units": units,
                "findings": [found.key for found in of_mask(asked, number) if found.kind == kind],
            }
            for sku_code, name, units, number in rows
        ],
        "pagination": {
            "limit": limit,
            "offset": offset,
            "total": sum(group["skus"] for group in groups if group["mask"] in masks),
        },
    }


def _place(found: Sequence[Finding]) -> str:
    kinds = {finding.kind for finding in found}
    return next((place for kind, place in _PLACES.items() if kind in kinds), "ready")


def _row(found: Finding, groups: Sequence[_Group]) -> dict[str, object]:
    """Return a finding with the SKUs that have it; units are null where none of them has units of the period."""
    units = [group["units"] for group in groups if group["units"] is not None]
    return {
        **found.as_dict(),
        "skus": sum(group["skus"] for group in groups),
        "units": sum(units) if units else None,
        "examples": sorted(code for group in groups for code in group["examples"])[:_EXAMPLES],
    }
