"""What a company's own records show for one market: what stands in a SKU's way, what is to decide, what is missing.

Not legal advice and no permission: a SKU is `ready` where nothing that is recorded stands in its way and nothing that
is asked for is missing.
"""

from typing import Any, Final

from compliance import annex_v
from compliance.readiness import Finding, findings
from schemas.normalise import market as normalised
from warehouse.analytics.findings import FACTS, holding, met
from warehouse.analytics.now import Now
from warehouse.analytics.reader import Reader, reader
from warehouse.snapshots import Snapshot

_EXAMPLES: Final = 5
_STANDING: Final = ("blocked", "to_decide", "incomplete", "ready")
_COUNTED: Final = """
WITH {facts}, judged AS MATERIALIZED (SELECT sku_code, units, {met} AS keys FROM facts),
standing AS (
    SELECT CASE WHEN list_has_any(keys, $blocks::VARCHAR[]) THEN 'blocked'
                WHEN list_has_any(keys, $decide::VARCHAR[]) THEN 'to_decide'
                WHEN list_has_any(keys, $missing::VARCHAR[]) THEN 'incomplete'
                ELSE 'ready' END AS standing, units
    FROM judged
), named AS (SELECT unnest(keys) AS key, sku_code, units FROM judged)
SELECT 'standing' AS what, standing AS key, count(*) AS skus, sum(units)::BIGINT AS units, NULL AS examples
FROM standing GROUP BY ALL
UNION ALL SELECT 'finding', key, count(*), sum(units)::BIGINT, min(sku_code, {examples}) FROM named GROUP BY ALL
"""


def readiness(snapshot: Snapshot, market: str, now: Now) -> dict[str, Any]:
    """The SKUs that name the market or report volumes for it, by how they stand there, and each finding with its SKUs.

    `market` is a jurisdiction code; a country counts its subdivisions. Each SKU stands in one place: blocked, else to
    decide, else incomplete, else ready. `upcoming` findings count for none of them. Raises `schemas.normalise.Unfit`
    (`unknown_market`) for what is no ISO 3166 code.
    """
    code = normalised(market)
    in_union = annex_v.may_be_in_the_union([code])
    asked = holding(findings(), in_union=in_union, today=now.today)
    with reader(snapshot) as answers:
        counted = _counted(answers, asked, code, now)
    standing = {row["key"]: row["skus"] for row in counted if row["what"] == "standing"}
    by_key = {row["key"]: row for row in counted if row["what"] == "finding"}
    jurisdiction = now.jurisdictions.get(code)
    return {
        **now.head(snapshot),
        "market": code,
        "in_european_union": in_union,
        "jurisdiction": jurisdiction.as_dict(now.today) if jurisdiction else None,
        "skus": sum(standing.values()),
        **{name: standing.get(name, 0) for name in _STANDING},
        **{
            kind: [_told(found, by_key[found.key]) for found in asked if found.kind == kind and found.key in by_key]
            for kind in ("blocks", "decide", "missing", "upcoming")
        },
        "indicative": True,
    }


def _counted(answers: Reader, asked: list[Finding], market: str, now: Now) -> list[dict[str, Any]]:
    keys = {kind: [found.key for found in asked if found.kind == kind] for kind in ("blocks", "decide", "missing")}
    query = _COUNTED.format(facts=FACTS, met=met(asked), examples=_EXAMPLES)
    return answers.records(query, market=market, today=now.today, **keys)


def _told(found: Finding, row: dict[str, Any]) -> dict[str, Any]:
    return {**found.as_dict(), "skus": row["skus"], "units": row["units"], "examples": row["examples"]}
