"""Holds each SKU of a snapshot against one rule: recycled content of 2030, bisphenol A, format bans.

Each SKU that the rule is about has one state; `compliance.item_rules` has the rule, `warehouse.analytics.recycled` what
recycled content asks for. Labels on packaging are no part of
a snapshot (`warehouse.skus.labels`).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import polars as pl

from compliance.rule_rows import RuleSet
from schemas.json_values import JsonObject
from warehouse.analytics import recycled
from warehouse.analytics.findings import CONDITIONS, FACTS, prepare
from warehouse.analytics.now import Now
from warehouse.analytics.reader import reader
from warehouse.analytics.recycled import facts_of, hold_against_minimum
from warehouse.snapshots import Snapshot

_BPA: Final = """
CREATE TEMPORARY TABLE judged AS
WITH parts AS (
    SELECT sku_code, bool_or(bpa_status = 'above_limit') AS has_bpa,
           bool_and(coalesce(bpa_status, 'unknown') <> 'unknown') AS all_say
    FROM components GROUP BY sku_code
)
SELECT sku_code, name, CASE WHEN bpa_status = 'above_limit' OR has_bpa THEN 'contains'
        WHEN coalesce(bpa_status, 'unknown') <> 'unknown' OR all_say THEN 'declared_free' ELSE 'no_statement' END
    AS state, {'bpa_status': bpa_status} AS facts
FROM skus LEFT JOIN parts USING (sku_code) WHERE food_contact
"""
_BANS: Final = f"""
CREATE TEMPORARY TABLE judged AS
WITH {{facts}}
SELECT sku_code, name, CASE WHEN len(list_filter(flags, lambda flag: flag.certainty = 'certain')) > 0 THEN 'affected'
        WHEN len(flags) > 0 THEN 'depends' ELSE 'use_missing' END AS state,
    {{{{'bans': list_transform(flags, lambda flag: {{{{'code': flag.code, 'applies_from': flag.applies_from::VARCHAR,
        'certainty': flag.certainty, 'why': flag.text}}}}),
      'facts_missing': CASE WHEN {CONDITIONS["use_missing"]} THEN ['use_contexts'] ELSE [] END}}}} AS facts
FROM facts WHERE len(flags) > 0 OR ({CONDITIONS["use_missing"]})
"""
_COUNTED: Final = "SELECT state, count(*) FROM judged GROUP BY state ORDER BY count(*) DESC, state"
_PAGE: Final = """
SELECT sku_code, name, state, facts FROM judged WHERE $state IS NULL OR state = $state
ORDER BY array_position($order, state), sku_code LIMIT $limit OFFSET $offset
"""
STATES: Final[Mapping[str, tuple[str, ...]]] = {
    "recycled_content_2030": recycled.STATES,
    "bpa_in_food_contact": ("contains", "no_statement", "declared_free"),
    "format_bans": ("affected", "depends", "use_missing"),
}
"""The states of each rule, the gravest first, which is the order of a list."""


class Judged(NamedTuple):
    """How many SKUs have each state, and a page of the SKUs with the facts that gave it."""

    counts: dict[str, int]
    items: list[JsonObject]


def by_rule(
    snapshot: Snapshot, now: Now, rules: RuleSet, key: str, *, state: str | None, limit: int, offset: int
) -> Judged:
    """Judge the SKUs that a rule of `STATES` is about; the page has those of one state, or all, the gravest first."""
    if key == "recycled_content_2030":
        return _recycled(snapshot, rules, state=state, limit=limit, offset=offset)
    with reader(snapshot) as answers:
        if key == "bpa_in_food_contact":
            answers.rows(_BPA)
        else:
            prepare(answers)
            answers.rows(_BANS.format(facts=FACTS), market=None, today=now.today)
        counts = {str(name): int(count) for name, count in answers.rows(_COUNTED)}
        page = answers.rows(_PAGE, state=state, order=list(STATES[key]), limit=limit, offset=offset)
    items = [{"sku_code": code, "name": name, "state": found, **facts} for code, name, found, facts in page]
    return Judged({name: counts.get(name, 0) for name in STATES[key]}, items)


def _recycled(snapshot: Snapshot, rules: RuleSet, *, state: str | None, limit: int, offset: int) -> Judged:
    """Judge recycled content over frames: its bounds are a function of the rules of the law, not of SQL."""
    judged, parts = hold_against_minimum(snapshot, rules)
    counts = dict(judged["state"].value_counts().iter_rows())
    order = {name: place for place, name in enumerate(recycled.STATES)}
    listed = judged if state is None else judged.filter(pl.col("state") == state)
    page = listed.sort(pl.col("state").replace_strict(order), "sku_code").slice(offset, limit)
    of_page = parts.join(page.select("sku_code"), on="sku_code", how="semi").partition_by("sku_code", as_dict=True)
    items = [
        {name: row[name] for name in ("sku_code", "name", "state")}
        | facts_of(row, of_page[row["sku_code"],].sort("path").to_dicts())
        for row in page.iter_rows(named=True)
    ]
    return Judged({name: counts.get(name, 0) for name in recycled.STATES}, items)
