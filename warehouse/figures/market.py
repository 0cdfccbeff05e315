"""Reads one market's figures of its latest calendar year: tonnes by category, obligations, and undecided tonnes.

They are the company's stored figures (`warehouse.figures.stored`), with an `as_of` of their own. `readiness` decides
which of its SKUs may be sold there.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import Final, NamedTuple, TypedDict, cast

import polars as pl

from compliance import annex_v
from compliance.catalogue import coverages
from compliance.filings.document import latest_year
from compliance.readiness import Finding, findings
from compliance.representatives import published_entry, representative
from compliance.rollup.exact import in_tonnes, written_tonnes
from schemas.companies import NO_ANSWERS, ProfileFields
from schemas.figures import MarketFigures, MarketFinding, MarketReadiness
from schemas.json_values import JsonObject
from schemas.normalise import market as normalised
from schemas.pages import Pagination
from warehouse.figures.reader import FACTS, Now, applicable_findings, mask, of_mask, period, prepare, reader
from warehouse.figures.snapshots import Snapshot
from warehouse.figures.stored import StoredFigures

_CATEGORY: Final = (
    "category_code",
    "category_name",
    "basis",
    "tonnes",
    "in_scope_tonnes",
    "undecided_tonnes",
    "out_of_scope_tonnes",
    "units",
    "skus",
    "scope_key",
    "confidence",
)
_UNCOUNTED: Final = ("sku_code", "units", "reason", "fields", "tonnes", "archived")
_WORST: Final = 10
"""The most SKUs with a missing fact that are listed, by units."""
_SKUS: Final = pl.col("sku_code").n_unique()
"""How many items some rows are about: one may have several rows."""
_YEAR: Final = 0


class Placed(NamedTuple):
    """One market and period: tonnes by category, every SKU that is not counted with its reason, and verdicts.

    `grams` are the exact ones of each category, from which sums of several are rounded; `uncounted_tonnes` have none.
    `halves` are those that are there, of a half-yearly market's calendar year, else None.
    """

    year: int
    halves: list[int] | None
    periods: list[tuple[int, int]]
    tonnes: list[JsonObject]
    grams: dict[str, Decimal]
    uncounted: list[JsonObject]
    uncounted_tonnes: float
    scope_missing: int
    obligations: list[JsonObject]


def figures_in(figures: StoredFigures, market: str, this_year: int) -> MarketFigures | None:
    """Return the market's figures of its `latest_year`; None where nothing is counted or listed.

    Tonnes are as they were written, to six places.
    """
    here = (pl.col("market") == market) & (pl.col("half") == _YEAR)
    tonnes, listed = (pl.read_parquet(path).filter(here) for path in (figures.tonnes, figures.uncounted))
    year = latest_year({*tonnes["year"], *listed["year"]}, this_year)
    if year is None:
        return None
    of_year = here & (pl.col("year") == year)
    missing = pl.scan_parquet(figures.scope_missing).filter(of_year)
    worst = missing.sort("units", "sku_code", descending=[True, False]).head(_WORST).collect()
    uncounted = listed.filter(of_year)
    verdicts = pl.read_parquet(figures.obligations).filter((pl.col("market") == market) & (pl.col("year") == year))
    return {
        "as_of": figures.origin.as_of,
        "ruleset_version": figures.origin.ruleset_version,
        "year": year,
        "halves": _halves(tonnes.filter(of_year), uncounted),
        "tonnes": _plain(tonnes.filter(of_year).select(_CATEGORY)),
        "uncounted": uncounted.height,
        "uncounted_tonnes": _left_out(uncounted),
        "scope_missing": missing.select(_SKUS).collect().item(),
        "scope_missing_first": _plain(worst.select("sku_code", "units", "category_codes", "fields", "archived")),
        "obligations": _plain(verdicts.drop("market", "year", "halves")),
    }


def placed_in(figures: StoredFigures, market: str, year: int | None, half: int, this_year: int) -> Placed:
    """Return what is counted, and not counted, of one market in a year or a half of it; tonnes to six places.

    Without a year it is the latest that is not ahead. `periods` are all that have a figure. A market that is held by
    the year has no half: the caller asks for half 0 then.
    """
    here = pl.col("market") == market
    tonnes = pl.read_parquet(figures.tonnes).filter(here)
    uncounted = pl.read_parquet(figures.uncounted).filter(here)
    periods = sorted({*tonnes.select("year", "half").rows(), *uncounted.select("year", "half").rows()})
    if year is None:
        year = latest_year({year for year, _ in periods}, this_year) or this_year
    of_period = (pl.col("year") == year) & (pl.col("half") == half)
    left_out = uncounted.filter(of_period).sort("units", "sku_code", descending=[True, False], nulls_last=True)
    verdicts = pl.read_parquet(figures.obligations).filter(here & (pl.col("year") == year))
    missing = pl.scan_parquet(figures.scope_missing).filter(here & of_period).select(_SKUS).collect().item()
    of_year = (pl.col("year") == year) & (pl.col("half") == _YEAR)
    return Placed(
        year,
        _halves(tonnes.filter(of_year), uncounted.filter(of_year)) if half == _YEAR else None,
        periods,
        _plain(tonnes.filter(of_period).select(_CATEGORY)),
        dict(tonnes.filter(of_period).select("category_code", "grams").rows()),
        _plain(left_out.with_columns(in_tonnes().alias("tonnes")).select(*_UNCOUNTED)),
        _left_out(left_out),
        missing,
        _plain(verdicts.drop("market", "year", "halves")),
    )


def _left_out(uncounted: pl.DataFrame) -> float:
    """Return the tonnes of these rows that have no category: with those of all categories, what was placed."""
    return float(written_tonnes(cast(Decimal, uncounted["grams"].sum())))


def _halves(tonnes: pl.DataFrame, uncounted: pl.DataFrame) -> list[int] | None:
    """Return the halves that the rows of one market's year name; None where they name none, or there are no rows."""
    rows = pl.concat([frame.select("halves") for frame in (tonnes, uncounted)])
    return rows.row(0)[0] if rows.height else None


def _plain(frame: pl.DataFrame) -> list[JsonObject]:
    """Return rows for an answer: decimals as numbers."""
    decimals = [name for name, dtype in frame.schema.items() if dtype.base_type() == pl.Decimal]
    return frame.with_columns(pl.col(decimals).cast(pl.Float64)).to_dicts()


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


def readiness(
    snapshot: Snapshot,
    market: str,
    now: Now,
    figures: StoredFigures | None = None,
    profile: ProfileFields = NO_ANSWERS,
) -> MarketReadiness:
    """Count the SKUs of which the market is one in effect, by class, and list each finding with its SKUs.

    `market` is a jurisdiction code; a country counts its subdivisions. Units are of the calendar year `period`. Each
    SKU is in one class: blocked, else to decide, else incomplete, else ready. `upcoming` findings count for none of
    them. `coverage` and `figures` are of the market itself: the packaging that its duties cover, and the tonnes placed
    there; `authorised_representative` is of the company, by its `profile`. Raises `schemas.normalise.Unfit`
    (`unknown_market`) for what is no ISO 3166 code.
    """
    code = normalised(market)
    in_union = annex_v.may_be_in_the_union([code])
    applicable = applicable_findings(findings(), in_union=in_union, today=now.today)
    query = _GROUPS.format(facts=FACTS, mask=mask(applicable), examples=_EXAMPLES)
    with reader(snapshot) as answers:
        prepare(answers)
        groups = answers.records(_Group, query, market=code, today=now.today)
        units_of = period(answers, code, now.today)
    places = Counter[str]()
    by_key: dict[str, list[_Group]] = {}
    for group in groups:
        findings_here = of_mask(applicable, group["mask"])
        places[_place(findings_here)] += group["skus"]
        for finding in findings_here:
            by_key.setdefault(finding.key, []).append(group)
    rows = defaultdict[str, list[MarketFinding]](list)
    for finding in applicable:
        if finding.key in by_key:
            rows[finding.kind].append(_row(finding, by_key[finding.key]))
    jurisdiction = now.jurisdictions.get(code)
    return {
        **now.head(snapshot),
        "market": code,
        "in_european_union": in_union,
        "jurisdiction": published_entry(jurisdiction, now.today) if jurisdiction else None,
        "authorised_representative": representative(code, profile),
        "coverage": coverages().get(code),
        "period": units_of,
        "figures": figures_in(figures, code, now.today.year) if figures else None,
        "skus": places.total(),
        "blocked": places["blocked"],
        "to_decide": places["to_decide"],
        "incomplete": places["incomplete"],
        "ready": places["ready"],
        "blocks": rows["blocks"],
        "decide": rows["decide"],
        "missing": rows["missing"],
        "upcoming": rows["upcoming"],
        "indicative": True,
    }


def items_in(snapshot: Snapshot, market: str, now: Now, state: str, *, limit: int, offset: int) -> MarketItems:
    """Return a page of the SKUs that `readiness` counts in a class of the market, most units first, with why.

    `findings` are codes of the class's kind. Raises `schemas.normalise.Unfit` (`unknown_market`).
    """
    code = normalised(market)
    applicable = applicable_findings(findings(), in_union=annex_v.may_be_in_the_union([code]), today=now.today)
    parts = {"facts": FACTS, "mask": mask(applicable)}
    with reader(snapshot) as answers:
        prepare(answers)
        groups = answers.records(_Group, _GROUPS.format(**parts, examples=1), market=code, today=now.today)
        masks = [group["mask"] for group in groups if _place(of_mask(applicable, group["mask"])) == state]
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
                "findings": [finding.key for finding in of_mask(applicable, number) if finding.kind == kind],
            }
            for sku_code, name, units, number in rows
        ],
        "pagination": {
            "limit": limit,
            "offset": offset,
            "total": sum(group["skus"] for group in groups if group["mask"] in masks),
        },
    }


def _place(findings_of_place: Sequence[Finding]) -> str:
    kinds = {finding.kind for finding in findings_of_place}
    return next((place for kind, place in _PLACES.items() if kind in kinds), "ready")


def _row(finding: Finding, groups: Sequence[_Group]) -> MarketFinding:
    """Return a finding with the SKUs that have it; units are null where none of them has units of the period."""
    units = [group["units"] for group in groups if group["units"] is not None]
    return {
        **finding.as_dict(),
        "skus": sum(group["skus"] for group in groups),
        "units": sum(units) if units else None,
        "examples": sorted(code for group in groups for code in group["examples"])[:_EXAMPLES],
    }
