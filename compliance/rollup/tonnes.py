"""Computes figures: tonnes by market, year, half and category, and what could not be counted (rollup.md, step 6).

Figures add up over SKUs: a large portfolio is rolled up in blocks of SKUs, whose figures `combine_blocks` adds, so that
memory follows the block. Figures stay exact here; `compliance.rollup.exact` rounds them when written.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.rollup.categories import judgements
from compliance.rollup.exact import COUNT, GRAMS, times_units, within_reach
from compliance.rollup.lines import (
    BASIS,
    BIT,
    LISTED_SCHEMA,
    Prepared,
    bit_of_path,
    categories,
    codes,
    lines_of,
    placed_nowhere,
    prepare_lines,
    spans_of,
)
from compliance.rollup.parts import Portfolio
from compliance.rollup.periods import HALVES_SCHEMA, PERIOD_COLUMNS, combine_halves, recorded_halves
from compliance.ruleset import RuleSet
from compliance.scopes import ASK, IN, Standing

MISSING_SCHEMA: Final = pl.Schema(
    {
        **PERIOD_COLUMNS,
        "sku_code": pl.String(),
        "units": pl.Int64(),
        "category_codes": pl.List(pl.String()),
        "fields": pl.List(pl.String()),
        "archived": pl.Boolean(),
    }
)
STANDING_SCHEMA: Final = pl.Schema(
    {"market": pl.String(), "year": pl.Int32(), "category_code": pl.String(), "standing": pl.String(), "grams": GRAMS}
)
"""Grams of a calendar year by category and `Standing.code`."""
QUESTION_SCHEMA: Final = pl.Schema({**PERIOD_COLUMNS, "fields": pl.List(pl.String()), "grams": GRAMS})
"""Undecided grams of a period by the facts that would decide whether their categories are about them."""
_YEAR: Final = 0


def category_grams(grams: pl.DataFrame, judged: pl.DataFrame, answered: Sequence[Standing]) -> pl.DataFrame:
    """Return, by period and category: all grams, those of single use, in scope and undecided; the least sure basis.

    `judged` are the `judgements` of the known standings by the scopes of the market's categories.
    """
    single_use = [number for number, standing in enumerate(answered) if standing.is_single_use]
    verdict = pl.col("verdict")
    return (
        grams.join(judged.select("standing", "scope_key", "verdict"), on=["standing", "scope_key"], how="inner")
        .group_by("year", "half", "category_code")
        .agg(
            pl.col("basis").max(),
            pl.col("grams").sum(),
            pl.col("grams").filter(pl.col("standing").is_in(single_use)).sum().alias("single_use_grams"),
            pl.col("grams").filter(verdict == IN).sum().alias("in_scope_grams"),
            pl.col("grams").filter(verdict == ASK).sum().alias("undecided_grams"),
        )
    )


def standing_grams(market: str, grams: pl.DataFrame, answered: Sequence[Standing]) -> pl.DataFrame:
    """Return grams of the calendar years by category and standing, in rows that are still to be summed."""
    names = {number: standing.code for number, standing in enumerate(answered)}
    return grams.filter(pl.col("half") == _YEAR).select(
        pl.lit(market).alias("market"),
        "year",
        "category_code",
        pl.col("standing").replace_strict(names, return_dtype=pl.String),
        "grams",
    )


def question_grams(market: str, grams: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Return the undecided grams of each period by the facts that they lack, in rows that are still to be summed."""
    questions = judged.filter(pl.col("verdict") == ASK).select("standing", "scope_key", "fields")
    return grams.join(questions, on=["standing", "scope_key"], how="inner").select(
        pl.lit(market).alias("market"), *list(QUESTION_SCHEMA)[1:]
    )


def missing_facts(
    market: str, placed: pl.DataFrame, judged: pl.DataFrame, by_code: pl.DataFrame, skus: pl.DataFrame
) -> pl.DataFrame:
    """Return one row per SKU, period and set of fields that would decide (`MISSING_SCHEMA`).

    `placed` has `sku`, `year`, `half`, `units`, `standing` and `held`, the SKU's categories by their bits.
    """
    of_scope = by_code.group_by("scope_key").agg(pl.col("bit").bitwise_or().alias("of_scope"))
    by_fields = (
        judged.filter(pl.col("verdict") == ASK)
        .join(of_scope, on="scope_key", how="inner")
        .group_by("standing", "fields")
        .agg(pl.col("of_scope").bitwise_or())
    )
    if by_fields.is_empty():
        return pl.DataFrame(schema=MISSING_SCHEMA)
    undecided = (
        placed.join(by_fields.select("standing", "fields", "of_scope"), on="standing", how="inner")
        .with_columns((pl.col("held") & pl.col("of_scope")).alias("undecided"))
        .filter(pl.col("undecided") > 0)
    )
    return (
        undecided.join(_codes(undecided["undecided"].unique(), by_code), on="undecided", how="inner")
        .join(skus.select("sku", "sku_code", "archived"), on="sku", how="inner")
        .select(pl.lit(market).alias("market"), *list(MISSING_SCHEMA)[1:])
    )


def _codes(numbers: Iterable[int], by_code: pl.DataFrame) -> pl.DataFrame:
    """Return the category codes whose bits each number has, sorted."""
    bits = by_code.select("category_code", "bit").rows()
    rows = [(number, [code for code, bit in bits if number & bit]) for number in numbers]
    return pl.DataFrame(rows, schema={"undecided": BIT, "category_codes": pl.List(pl.String)}, orient="row")


TONNES_SCHEMA: Final = pl.Schema(
    {
        **PERIOD_COLUMNS,
        "category_code": pl.String(),
        "category_name": pl.String(),
        "basis": BASIS,
        "grams": GRAMS,
        "single_use_grams": GRAMS,
        "units": COUNT,
        "skus": pl.UInt32(),
        "in_scope_grams": GRAMS,
        "undecided_grams": GRAMS,
        "scope_key": pl.String(),
        "confidence": pl.String(),
    }
)
_PERIOD: Final = ("year", "half")
_SUMMED: Final = ("grams", "single_use_grams", "units", "skus", "in_scope_grams", "undecided_grams")
_NAMED: Final = ("category_name", "scope_key", "confidence")


class Figures(NamedTuple):
    """Figures as frames, sorted by market, year, half, then by category code, or by SKU code.

    `tonnes` has `TONNES_SCHEMA`: exact grams, those of them of SKUs that are not reusable, units and SKUs once per
    category, the least sure basis, the grams in the category's scope, and those that the recorded facts do not decide.
    `uncounted` has `LISTED_SCHEMA`: one row per SKU and reason; units are null where they are unknown; `fields` are
    the facts to give, in the order of the parts. `scope_missing` has `MISSING_SCHEMA`: the facts that would decide.
    `standings` has `STANDING_SCHEMA`: the calendar years' grams once more, for the scopes of duties. `questions` has
    `QUESTION_SCHEMA`: the undecided grams by the facts that they lack. `halves` has `HALVES_SCHEMA`.
    """

    tonnes: pl.DataFrame
    uncounted: pl.DataFrame
    scope_missing: pl.DataFrame
    standings: pl.DataFrame
    questions: pl.DataFrame
    halves: pl.DataFrame


_SCHEMAS: Final = (*(TONNES_SCHEMA, LISTED_SCHEMA, MISSING_SCHEMA, STANDING_SCHEMA, QUESTION_SCHEMA, HALVES_SCHEMA),)
"""The schemas of `Figures`, in its order."""


def rollup(portfolio: Portfolio, jurisdictions: Iterable[Jurisdiction], rules: RuleSet) -> Figures:
    """Return the figures of every market, year and half with volumes; half 0 is the calendar year.

    What was placed on a market without a row in the catalogue is listed. Raise `OverflowError` beyond 10^14 tonnes.
    """
    ready = prepare_lines(portfolio, jurisdictions, rules)
    markets = ready.volumes["market"].unique().sort()
    return combine_blocks(_figures(market, span) for market in markets for span in spans_of(market, ready))


def combine_blocks(blocks: Iterable[Figures]) -> Figures:
    """Return the figures of several blocks; no SKU may be in two of them for one market.

    Raise `OverflowError` beyond 10^14 tonnes.
    """
    every = list(blocks)
    key = ("market", "year", "half", "category_code", *_NAMED)
    tonnes, uncounted, scope_missing, standings, questions, halves = (
        pl.concat([pl.DataFrame(schema=schema), *(block[place] for block in every)])
        for place, schema in enumerate(_SCHEMAS)
    )
    within_reach(tonnes["grams"])
    return Figures(
        tonnes=tonnes.group_by(key)
        .agg(pl.col("basis").max(), pl.col(_SUMMED).sum())
        .select(pl.col(name).cast(dtype) for name, dtype in TONNES_SCHEMA.items())
        .sort("market", "year", "half", "category_code"),
        uncounted=uncounted.sort("market", "year", "half", "sku_code", "reason"),
        scope_missing=scope_missing.sort("market", "year", "half", "sku_code", pl.col("fields").list.join(" ")),
        standings=standings.group_by("market", "year", "category_code", "standing")
        .agg(pl.col("grams").sum())
        .select(pl.col(name).cast(dtype) for name, dtype in STANDING_SCHEMA.items())
        .sort("market", "year", "category_code", "standing"),
        questions=questions.group_by("market", "year", "half", "fields")
        .agg(pl.col("grams").sum())
        .select(pl.col(name).cast(dtype) for name, dtype in QUESTION_SCHEMA.items())
        .sort("market", "year", "half", pl.col("fields").list.join(" ")),
        halves=combine_halves(halves),
    )


def _figures(market: str, ready: Prepared) -> Figures:
    jurisdiction = ready.jurisdictions.get(market)
    if jurisdiction is None:
        listed = {"uncounted": placed_nowhere(market, ready)}
        nothing = dict(zip(Figures._fields, (schema.to_frame() for schema in _SCHEMAS), strict=True))
        return Figures(**nothing | listed)
    lines, counting, uncounted = lines_of(market, ready)
    category_of, by_code = categories(jurisdiction), codes(jurisdiction)
    judged = judgements(ready.standings.distinct, tuple(by_code["scope_key"].unique().sort()))
    counting = counting.with_columns(ready.standings.of_sku["standing"].gather(counting["sku"]))
    grams = _grams(lines, counting, category_of)
    placed = counting.join(_held(lines, jurisdiction), on="sku", how="inner")
    figures = (
        category_grams(grams, judged, ready.standings.distinct)
        .join(_units(placed, by_code), on=[*_PERIOD, "category_code"], how="inner")
        .join(by_code.select("category_code", *_NAMED), on="category_code", how="inner")
    )
    return Figures(
        figures.with_columns(pl.lit(market).alias("market")).select(
            pl.col(name).cast(dtype) for name, dtype in TONNES_SCHEMA.items()
        ),
        uncounted,
        missing_facts(market, placed, judged, by_code, ready.skus),
        standing_grams(market, grams, ready.standings.distinct),
        question_grams(market, grams, judged),
        recorded_halves(ready.volumes.filter(pl.col("market") == market), market),
    )


def _grams(lines: pl.DataFrame, counting: pl.DataFrame, category_of: pl.DataFrame) -> pl.DataFrame:
    """Return grams by period, path and standing, with the category facts of the path.

    Scopes are judged by these alone, in few rows; the sum over lines and periods is done here, once.
    """
    return (
        counting.lazy()
        .join(lines.lazy().select("sku", "path", "grams"), on="sku", how="inner")
        .with_columns(times_units("grams"))
        .group_by(*_PERIOD, "path", "standing")
        .agg(pl.col("grams").sum())
        .collect()
        .join(category_of.select("path", "category_code", "basis", "scope_key"), on="path", how="inner")
    )


def _held(lines: pl.DataFrame, jurisdiction: Jurisdiction) -> pl.DataFrame:
    """Return the categories of each SKU by their bits: `sku`, `held`."""
    bits = lines.lazy().select("sku", bit_of_path(jurisdiction).alias("held"))
    return bits.group_by("sku").agg(pl.col("held").bitwise_or()).collect()


def _units(placed: pl.DataFrame, by_code: pl.DataFrame) -> pl.DataFrame:
    """Return units and SKUs by category; a SKU counts once in each, however many of its lines belong to it."""
    by_bits = placed.group_by(*_PERIOD, "held").agg(pl.col("units").cast(COUNT).sum(), pl.len().alias("skus"))
    return (
        by_bits.join(by_code.select("category_code", "bit"), how="cross")
        .filter(pl.col("held") & pl.col("bit") > 0)
        .group_by(*_PERIOD, "category_code")
        .agg(pl.col("units", "skus").sum())
    )
