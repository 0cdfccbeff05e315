"""Sums up the portfolio by one property: items, units and tonnes of each value, the most or the least first.

Units and tonnes are those of one calendar year or half, or of each year for `period`, and of archived SKUs too: what
was placed stays placed. Items are those that are held. Grams are those of an item's parts, of the item itself where it
has none.
"""

from collections.abc import Sequence
from datetime import date
from typing import Final, Literal, NamedTuple, TypeAlias, TypedDict
from uuid import UUID

from compliance.annex_v import dated_ban
from compliance.readiness import findings
from compliance.rollup.periods import HALF_YEARLY
from compliance.rule_rows import LOWERING_VERDICTS, RuleSet
from warehouse import library
from warehouse.figures.reader import FACTS, Now, Reader, in_market, keep, keep_texts, mask, of_mask, prepare, reader
from warehouse.figures.reader import period as latest_period
from warehouse.figures.snapshots import Snapshot
from warehouse.operate.sessions import Connection

OF_ITEM: Final = {
    "item": "skus.sku_code",
    "brand": "skus.brand_id",
    "category": "skus.product_category",
    "site": "skus.manufacturing_site_id",
    "packing_site": "skus.packing_site_id",
    "format": "skus.packaging_format",
    "level": "skus.packaging_level",
    "role": "skus.ppwr_role",
    "reusable": "skus.reusable::VARCHAR",
    "grade": "skus.recyclability_grade",
    "provisional": "skus.grade_provisional::VARCHAR",
    "declaration": "skus.doc_status",
    "stream": "skus.stream",
}
"""Properties of which an item has one value, or none."""
OF_PART: Final = {"material": "lines.material", "polymer": "lines.polymer", "supplier": "lines.supplier_id"}
"""Properties of a part: the tonnes are those of the parts."""
OF_MANY: Final = {
    "reason": "unnest(skus.rules)",
    "rule": "unnest(skus.rules)",
    "ban": "unnest(list_distinct(list_transform(skus.flags, lambda flag: flag.code)))",
    "gap": "unnest(gaps.keys)",
}
"""Properties of which an item may have several values: it counts at each, and once in the total."""
OF_PLACE: Final = {"market": "placed.market", "period": "placed.year::VARCHAR"}
"""Properties of what was placed; a market counts the items of which it is one in effect or has units."""
PROPERTIES: Final = (*OF_ITEM, *OF_PART, *OF_MANY, *OF_PLACE)
Measure: TypeAlias = Literal["items", "units", "tonnes"]

_PLACES: Final = 6
_HALVES: Final = ", ".join(f"'{market}'" for market in sorted(HALF_YEARLY))
_ROWS: Final = f"""
WITH of_years AS (
    SELECT sku_code, market, year, CASE WHEN $half > 0
        THEN sum(units_placed) FILTER (half = $half AND market IN ({_HALVES}))
        ELSE coalesce(max(units_placed) FILTER (half = 0),
            sum(units_placed) FILTER (half > 0 AND market IN ({_HALVES}))) END AS units
    FROM every_volumes
    WHERE ($market IS NULL OR {in_market("market")}) AND ($year IS NULL OR year = $year) GROUP BY ALL
), placed AS (SELECT * FROM of_years WHERE units > 0 {{in_effect}}), lines AS (
    SELECT sku_code, material_family AS material, polymer_or_grade AS polymer, supplier_id, weight_g AS grams
    FROM every_components
    UNION ALL SELECT sku_code, material, material_subtype, NULL, weight_grams FROM every_skus
    WHERE sku_code NOT IN (SELECT sku_code FROM every_components)
), found AS (
    SELECT {{of}} AS of, skus.sku_code, skus.archived, placed.market, placed.year, placed.units, lines.grams
    FROM every_skus AS skus JOIN lines USING (sku_code) LEFT JOIN placed USING (sku_code)
    LEFT JOIN gaps USING (sku_code)
    WHERE ($material IS NULL OR lines.material = $material) AND ($grade IS NULL OR recyclability_grade = $grade)
      AND {{polymer}} AND {{codes}} AND {{supplier}}
      AND ($market IS NULL OR placed.units > 0 OR len(list_filter(markets_in_effect, lambda code:
           {in_market("code")})) > 0)
), of_place AS (
    SELECT of, sku_code, bool_or(archived) AS archived, any_value(units) AS units,
           sum(coalesce(grams, 0)) * coalesce(any_value(units), 0) AS grams
    FROM found GROUP BY of, sku_code, market, year
)
SELECT of, count(DISTINCT sku_code) FILTER (NOT archived) AS items, coalesce(sum(units), 0)::BIGINT AS units,
       coalesce(sum(grams), 0)::DOUBLE / 1e6 AS tonnes
FROM of_place GROUP BY of
"""
_IN_EFFECT: Final = f"""
UNION ALL SELECT held.sku_code, held.code, NULL, NULL
FROM (SELECT sku_code, unnest(markets_in_effect) AS code FROM skus) AS held
LEFT JOIN (SELECT * FROM of_years WHERE units > 0) AS of_year ON of_year.sku_code = held.sku_code AND market = held.code
WHERE of_year.units IS NULL AND ($market IS NULL OR {in_market("held.code")})"""
_GAPS: Final = """
CREATE TEMPORARY TABLE judged AS WITH {facts} SELECT sku_code, {mask} AS mask FROM facts"""
_KEYS: Final = """
CREATE TEMPORARY TABLE gaps AS SELECT judged.sku_code, named.keys FROM judged JOIN (
    SELECT unnest($masks::BIGINT[]) AS mask, unnest($keys::VARCHAR[]) AS joined
) AS texts USING (mask), LATERAL (SELECT string_split(joined, ' ') AS keys) AS named"""
_NO_SUPPLIER: Final = "lines.supplier_id IS NULL"
_NO_GAPS: Final = "CREATE TEMPORARY TABLE gaps (sku_code VARCHAR, keys VARCHAR[])"


class Filters(NamedTuple):
    """What is summed up, None is all: of a market with its subdivisions, a year, a family of materials, a grade.

    `polymer` is the canonical code of a polymer, a paper grade or an alloy: like `material` it leaves the parts of it,
    as `suppliers`, ids, leave theirs; no id leaves the parts without a supplier. `codes` are the items of a list:
    those that are held alone. `half` is 1 or 2 in markets that are held by halves; 0 is the whole year.
    """

    market: str | None = None
    year: int | None = None
    material: str | None = None
    grade: str | None = None
    polymer: str | None = None
    codes: Sequence[str] | None = None
    suppliers: Sequence[str] | None = None
    half: int = 0


class Sum(TypedDict):
    """What has one value of the property; `of` is None where it has none."""

    of: str | None
    items: int
    units: int
    tonnes: float


class Summary(NamedTuple):
    """All values in their order; the total of what they are of, each item once; the year, None for all years."""

    rows: tuple[Sum, ...]
    total: Sum
    year: int | None


def summarise(
    snapshot: Snapshot,
    rules: RuleSet,
    today: date,
    filters: Filters,
    *,
    by: str,
    measure: Measure,
    least_first: bool = False,
) -> Summary:
    """Sum up by one of `PROPERTIES`, sorted by a measure; reasons are the rules that lower a grade.

    Without a year the latest one counts that has units in the market and is not ahead.
    """
    expression = {**OF_ITEM, **OF_PART, **OF_MANY, **OF_PLACE}[by]
    with reader(snapshot) as answers:
        year = filters.year or (None if by == "period" else latest_period(answers, filters.market, today))
        _keep_gaps(answers, today, filters.market) if by == "gap" else answers.rows(_NO_GAPS)
        values = {"market": filters.market, "year": year, "material": filters.material, "grade": filters.grade}
        values["half"] = filters.half
        conditions = _keep_conditions(answers, filters)
        in_effect = _IN_EFFECT if by == "market" else ""
        rows = answers.records(Sum, _ROWS.format(of=expression, in_effect=in_effect, **conditions), **values)
        total = answers.records(Sum, _ROWS.format(of="'all'", in_effect="", **conditions), **values)
    for row in (*rows, *total):
        row["tonnes"] = round(row["tonnes"], _PLACES)
    kept = [row for row in rows if (row["items"] or row["units"]) and (by != "reason" or _lowers(row["of"], rules))]
    kept.sort(key=lambda row: (row[measure] if least_first else -row[measure], row["of"] or ""))
    return Summary(tuple(kept), total[0] if total else Sum(of="all", items=0, units=0, tonnes=0.0), year)


def _keep_conditions(answers: Reader, filters: Filters) -> dict[str, str]:
    """Return the conditions on polymer, codes and suppliers; make the tables that they name."""
    conditions = {"polymer": "true", "codes": "true", "supplier": "true"}
    if filters.polymer is not None:
        keep_texts(answers, lambda code: code == filters.polymer)
        conditions["polymer"] = "lines.polymer IN (FROM meant)"
    if filters.codes is not None:
        keep(answers, "listed", filters.codes)
        conditions["codes"] = "skus.sku_code IN (FROM listed)"
    if filters.suppliers is not None:
        keep(answers, "supplying", filters.suppliers)
        conditions["supplier"] = "lines.supplier_id IN (FROM supplying)" if filters.suppliers else _NO_SUPPLIER
    return conditions


def _lowers(rule_id: str | None, rules: RuleSet) -> bool:
    rule = rules.rules.get(rule_id or "")
    return rule is not None and rule.verdict in LOWERING_VERDICTS


_RESOURCES: Final = {"brand": "brand", "site": "site", "packing_site": "site", "supplier": "supplier"}
_NAMES: Final = "SELECT sku_code, name FROM every_skus WHERE sku_code IN (FROM listed)"


def names(
    conn: Connection, snapshot: Snapshot, rules: RuleSet, now: Now, *, by: str, rows: Sequence[Sum]
) -> dict[str, str]:
    """Return the names of values of a property, or the sentences that they stand for; none of what says itself."""
    codes = [row["of"] for row in rows if row["of"] is not None]
    if by == "item":
        with reader(snapshot) as answers:
            keep(answers, "listed", codes)
            return dict(answers.rows(_NAMES))
    if by in _RESOURCES:
        return library.names(conn, _RESOURCES[by], [UUID(code) for code in codes])
    texts = {
        "reason": (features := {rule.rule_id: rule.feature for rule in rules.rules.values()}),
        "rule": features,
        "ban": {ban.code: dated_ban(ban.flag_text, ban.applies_from, now.today) for ban in reversed(rules.bans)},
        "gap": {finding.key: finding.sentence for finding in findings()},
        "market": {entry.code: entry.name for entry in now.jurisdictions.values()},
    }.get(by, {})
    return {code: texts[code] for code in codes if code in texts}


def _keep_gaps(answers: Reader, today: date, market: str | None) -> None:
    """Make the table of the gaps of each SKU that has some, by the conditions of the list of gaps."""
    missing = [finding for finding in findings() if finding.on(today).kind == "missing"]
    prepare(answers)
    answers.rows(_GAPS.format(facts=FACTS, mask=mask(missing)), market=market, today=today)
    masks = [number for (number,) in answers.rows("SELECT DISTINCT mask FROM judged WHERE mask > 0")]
    keys = [" ".join(finding.key for finding in of_mask(missing, number)) for number in masks]
    answers.rows(_KEYS, masks=masks, keys=keys)
