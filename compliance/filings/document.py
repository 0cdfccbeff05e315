"""Declaration by scheme category: tonnes of one market and period, uncounted SKUs, and the obligations that follow.

The document follows decisions, section 10, field by field; numbers are exact decimals, rounded once, here.
`compliance.filings.uk` makes the file of the United Kingdom.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from typing import Final, NamedTuple, NotRequired, TypedDict, cast

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.obligations import Obligation, obligations, quantities
from compliance.rollup.exact import difference, rounded, written_tonnes
from compliance.rollup.parts import Portfolio
from compliance.rollup.periods import halves_of, market_of
from compliance.rollup.tonnes import Figures
from compliance.scopes import ALL, Standing, asked_fields, judge_scope

UNCOUNTED_COLUMNS: Final = ("sku_code", "units", "reason", "fields")
MISSING_COLUMNS: Final = ("sku_code", "units", "category_codes", "fields")
ARCHIVED: Final = "archived"
"""The mark of an archived SKU, true: only a row of one has it, so that other declarations stay as they were."""


class ScopedTonnes(TypedDict):
    """The tonnes of a figure, and those of them in its category's scope, as they are written."""

    tonnes: Decimal
    in_scope_tonnes: Decimal
    undecided_tonnes: Decimal
    out_of_scope_tonnes: Decimal


class TonnesRow(TypedDict):
    """The tonnes of one scheme category, in the order of the columns."""

    category_code: str
    category_name: str
    basis: str
    tonnes: Decimal
    units: int
    skus: int
    in_scope_tonnes: Decimal
    undecided_tonnes: Decimal
    out_of_scope_tonnes: Decimal
    scope_key: str | None
    confidence: str | None


TONNES_COLUMNS: Final = tuple(TonnesRow.__annotations__)


class UncountedRow(TypedDict):
    """A SKU that no figure counts, and why."""

    sku_code: str
    units: int
    reason: str
    fields: list[str]
    archived: NotRequired[bool]


class ScopeMissingRow(TypedDict):
    """A SKU without the fields that would decide whether its categories are in scope."""

    sku_code: str
    units: int
    category_codes: list[str]
    fields: list[str]
    archived: NotRequired[bool]


class Totals(TypedDict):
    """The tonnes of a whole declaration: in scope (what is filed), undecided and out of it, and all of them together.

    Each is rounded from the exact sum, not summed from rounded rows.
    """

    in_scope_tonnes: Decimal
    undecided_tonnes: Decimal
    out_of_scope_tonnes: Decimal
    total_tonnes: Decimal


class Question(TypedDict):
    """The missing fact that decides most of the undecided tonnes, the tonnes that wait for it, and how many SKUs.

    Tonnes that lack several facts wait for each of them.
    """

    field: str
    tonnes: Decimal
    skus: int


class Declaration(Totals):
    """The document of a declaration.

    `halves` are those that are there, of a half-yearly market's calendar year; `question` is None where nothing is
    undecided.
    """

    company_id: str
    market: str
    year: int
    half: int
    halves: list[int] | None
    as_of: str
    ruleset_version: str
    snapshot: str
    tonnes: list[TonnesRow]
    question: Question | None
    uncounted: list[UncountedRow]
    scope_missing: list[ScopeMissingRow]
    obligations: list[dict[str, object]]


class Source(NamedTuple):
    """The source of a declaration, which every form of it names: the company's snapshot of an instant, the rule-set."""

    company_id: str
    as_of: str
    ruleset_version: str
    snapshot: str


def document(figures: Figures, market: str, year: int, half: int, source: Source) -> Declaration:
    """Return the declaration as a document; `half` 0 is the year. Obligations are those of the calendar year."""
    return {
        "company_id": source.company_id,
        "market": market,
        "year": year,
        "half": half,
        "halves": halves_there(figures, market, year, half),
        "as_of": source.as_of,
        "ruleset_version": source.ruleset_version,
        "snapshot": source.snapshot,
        "tonnes": list(tonnes_rows(figures, market, year, half)),
        **totals(figures, market, year, half),
        "question": question(figures, market, year, half),
        "uncounted": list(uncounted_rows(figures.uncounted.filter(_of_period(market, year, half)))),
        "scope_missing": list(missing_rows(figures.scope_missing.filter(_of_period(market, year, half)))),
        "obligations": [obligation(entry) for entry in obligations(market, quantities(figures, market, year), year)],
    }


def tonnes_rows(figures: Figures, market: str, year: int, half: int) -> Iterator[TonnesRow]:
    """Yield one row for each category with tonnes, by its code."""
    for row in figures.tonnes.filter(_of_period(market, year, half)).sort("category_code").iter_rows(named=True):
        with_tonnes = {**row, **scoped_tonnes(row), "units": int(row["units"])}
        yield cast(TonnesRow, {name: with_tonnes[name] for name in TONNES_COLUMNS})


def scoped_tonnes(row: Mapping[str, Decimal]) -> ScopedTonnes:
    """Return the tonnes of a figure, and those of them in its category's scope, as they are written."""
    every, in_scope, undecided = row["grams"], row["in_scope_grams"], row["undecided_grams"]
    return {
        "tonnes": written_tonnes(every),
        "in_scope_tonnes": written_tonnes(in_scope),
        "undecided_tonnes": written_tonnes(undecided),
        "out_of_scope_tonnes": written_tonnes(difference(every, in_scope, undecided)),
    }


def halves_there(figures: Figures, market: str, year: int, half: int) -> list[int] | None:
    """Return the halves of a calendar year that are there, empty where it is recorded whole.

    None for one half, and for a market that is declared by the year.
    """
    halves = halves_of(figures.halves, market, year) if half == 0 else None
    return list(halves.there) if halves else None


def totals(figures: Figures, market: str, year: int, half: int) -> Totals:
    """Return the tonnes of a whole declaration, by what its categories are about."""
    rows = figures.tonnes.filter(_of_period(market, year, half))
    sums = scoped_tonnes({name: sum(rows[name], Decimal(0)) for name in _GRAMS})
    return {
        "in_scope_tonnes": sums["in_scope_tonnes"],
        "undecided_tonnes": sums["undecided_tonnes"],
        "out_of_scope_tonnes": sums["out_of_scope_tonnes"],
        "total_tonnes": sums["tonnes"],
    }


def question(figures: Figures, market: str, year: int, half: int) -> Question | None:
    """Return the missing fact for which most tonnes wait, the first of equals in the order of the facts."""
    lacking = figures.questions.filter(_of_period(market, year, half))
    waiting = {
        field: sum(lacking.filter(pl.col("fields").list.contains(field))["grams"], Decimal(0))
        for field in asked_fields()
    }
    field = max(waiting, key=lambda name: waiting[name])
    if not waiting[field]:
        return None
    missing = figures.scope_missing.filter(_of_period(market, year, half) & pl.col("fields").list.contains(field))
    return {"field": field, "tonnes": written_tonnes(waiting[field]), "skus": missing["sku_code"].n_unique()}


class CategoryScope(NamedTuple):
    """What a declaration files of a category, what would decide more of it, and why the rest is out of its scope.

    `question` is the missing fact for which most of its undecided tonnes wait, with these; `excluded` are its tonnes
    out of scope by the fact that is out, most first. A half has neither: standings are kept by calendar year.
    """

    row: TonnesRow
    question: tuple[str, Decimal] | None
    excluded: tuple[tuple[str, Decimal], ...]


def category_scopes(figures: Figures, market: str, year: int, half: int) -> list[CategoryScope]:
    """Return each category with tonnes, by its code."""
    rows = {row["category_code"]: row for row in tonnes_rows(figures, market, year, half)}
    waiting: dict[str, dict[str, Decimal]] = {code: defaultdict(Decimal) for code in rows}
    out: dict[str, dict[str, Decimal]] = {code: defaultdict(Decimal) for code in rows}
    of_year = figures.standings.filter((pl.col("market") == market) & (pl.col("year") == year) & (half == 0))
    for code, standing, grams in of_year.select("category_code", "standing", "grams").iter_rows():
        judged = judge_scope(rows[code]["scope_key"] or ALL, Standing.from_code(standing))
        for field in judged.fields:
            waiting[code][field] += grams
        if judged.fact:
            out[code][judged.fact] += grams
    return [
        CategoryScope(row, next(iter(_most(waiting[code])), None), tuple(_most(out[code])))
        for code, row in rows.items()
    ]


def _most(grams: Mapping[str, Decimal]) -> list[tuple[str, Decimal]]:
    """Return the facts with their tonnes, most first."""
    return [(fact, written_tonnes(grams[fact])) for fact in sorted(grams, key=lambda fact: -grams[fact]) if grams[fact]]


def uncounted_rows(uncounted: pl.DataFrame) -> Iterator[UncountedRow]:
    """Yield one row for each SKU and reason, by SKU code."""
    rows = uncounted.sort("sku_code", "reason").select(*UNCOUNTED_COLUMNS, ARCHIVED).iter_rows(named=True)
    return (cast(UncountedRow, _marked(row)) for row in rows)


def missing_rows(scope_missing: pl.DataFrame) -> Iterator[ScopeMissingRow]:
    """Yield one row for each SKU and set of fields that would decide whether its categories cover it, by SKU code."""
    rows = scope_missing.sort("sku_code", "fields").select(*MISSING_COLUMNS, ARCHIVED).iter_rows(named=True)
    return (cast(ScopeMissingRow, _marked(row)) for row in rows)


def _marked(row: Mapping[str, object]) -> Mapping[str, object]:
    """Return a row with its mark only where its SKU is archived."""
    return row if row[ARCHIVED] else {name: value for name, value in row.items() if name != ARCHIVED}


def obligation(entry: Obligation) -> dict[str, object]:
    """Return one answer with its rule, its source and its confidence."""
    rule = entry.rule
    return {
        "obligation": rule.obligation,
        "material": rule.material,
        "operator": rule.operator or None,
        "threshold_tonnes": rule.threshold_tonnes,
        "tonnes": None if entry.tonnes is None else rounded(entry.tonnes),
        "tonnes_upper": None if entry.tonnes_upper is None else rounded(entry.tonnes_upper),
        "verdict": entry.verdict,
        "reason": entry.reason,
        "fields": list(entry.fields),
        "group": rule.group,
        "group_verdict": entry.group_verdict,
        "source_url": rule.source_url,
        "confidence": rule.confidence,
        "scope_key": rule.scope_key,
        "scope_confidence": rule.scope_confidence,
    }


def _of_period(market: str, year: int, half: int) -> pl.Expr:
    return (pl.col("market") == market) & (pl.col("year") == year) & (pl.col("half") == half)


def of_market(portfolio: Portfolio, market: str, year: int, jurisdictions: Mapping[str, Jurisdiction]) -> Portfolio:
    """Return the volumes that count for a market and year in any of its halves, with their SKUs and components."""
    written = [code for code in portfolio.volumes["market"].unique() if market_of(code, jurisdictions) == market]
    volumes = portfolio.volumes.filter(pl.col("market").is_in(written) & (pl.col("year") == year))
    skus = portfolio.skus.join(volumes.select("sku_code").unique(), on="sku_code", how="semi")
    return Portfolio(skus, portfolio.components.join(skus.select("sku_code"), on="sku_code", how="semi"), volumes)


_PERIOD: Final = ("market", "year", "half")
_GRAMS: Final = ("grams", "in_scope_grams", "undecided_grams")


class PeriodTonnes(ScopedTonnes):
    """The tonnes of one market in a period; `half` is 0 for the calendar year."""

    market: str
    year: int
    half: int


def totals_by_period(tonnes: pl.DataFrame) -> list[PeriodTonnes]:
    """Return the total of each period that has figures (`compliance.rollup.tonnes`), by market, year and half."""
    summed = tonnes.group_by(_PERIOD).agg(pl.col(_GRAMS).sum()).sort(_PERIOD)
    return [
        {"market": row["market"], "year": row["year"], "half": row["half"], **scoped_tonnes(row)}
        for row in summed.iter_rows(named=True)
    ]


def latest_year(years: Collection[int], this_year: int) -> int | None:
    """Return the latest of the years that is not ahead, else the first that is; None of none."""
    return max((year for year in years if year <= this_year), default=min(years, default=None))


def of_latest_years(tonnes: pl.DataFrame, this_year: int) -> pl.DataFrame:
    """Return the figures of each market's latest year and its halves."""
    by_market = (tonnes.filter(pl.col("market") == market) for market in sorted(set(tonnes["market"])))
    latest = (rows.filter(pl.col("year") == latest_year(set(rows["year"]), this_year)) for rows in by_market)
    return pl.concat([tonnes.clear(), *latest])
