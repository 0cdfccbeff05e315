"""Prepares what runs show of figures, of verdicts on obligations, and of declarations."""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias  # Any: Dagster's metadata takes any value

import dagster as dg
import polars as pl

from compliance.declarations.document import (
    ARCHIVED,
    MISSING_COLUMNS,
    TONNES_COLUMNS,
    UNCOUNTED_COLUMNS,
    scoped_tonnes,
)
from compliance.rollup.tonnes import Figures
from pipelines.declarations.filing import ComputedFiling
from pipelines.declarations.latest import halves_by_year, tonnes_by_period, tonnes_of_latest_years
from pipelines.figures import keep
from pipelines.shown import preview
from warehouse.figures import Basis, StoredFigures

Shown: TypeAlias = dict[str, Any]
_MOST_ROWS: Final = 200
"""Maximum rows of a table in a run's metadata, enough for one company's usual declarations; the files have all."""
_VERDICT: Final = ("obligation", "material", "tonnes", "tonnes_upper", "threshold_tonnes", "verdict", "reason")
_PERIOD: Final = preview.period("year", "half")
_FIGURE: Final = ("market", _PERIOD, "category_code", "tonnes", "units", "skus", "basis", *keep.SCOPED[1:])


def figures_metadata(found: Figures, origin: Basis) -> Shown:
    """Return the figures' basis, under a declaration's names, their sums, which the UI plots over runs, and tables."""
    by_period = tonnes_by_period(found, origin.as_of.year)
    by_reason = found.uncounted.group_by("market", _PERIOD, "reason")
    uncounted = by_reason.agg(pl.len().alias("skus"), pl.col("units").sum()).sort("market", "period", "reason")
    return _basis(origin) | {
        "figures": found.tonnes.height,
        "dagster/row_count": found.tonnes.height,
        "tonnes_latest_year": tonnes_of_latest_years(found, origin.as_of.year),
        "uncounted_skus": found.uncounted["sku_code"].n_unique(),
        "skus_of_undecided_scope": found.scope_missing["sku_code"].n_unique(),
        "tonnes_by_market": preview.table(("market and period", "tonnes"), by_period.items(), most=_MOST_ROWS),
        "tonnes_by_market_picture": preview.bars("Tonnes by market, latest year and its halves", by_period),
        "halves": halves_by_year(found),
        "tonnes_by_category": preview.frame_table(_by_category(found.tonnes), most=_MOST_ROWS),
        "uncounted": preview.frame_table(uncounted, most=_MOST_ROWS),
    }


def published_metadata(figures: StoredFigures, verdicts: pl.DataFrame) -> Shown:
    """Describe the figures that are now current; `figures_changed` counts those that are new, changed or removed."""
    reached = verdicts.filter(pl.col("verdict").is_in(["above", "near"])).select("market", "year", *_VERDICT)
    return {
        "as_of": dg.MetadataValue.timestamp(figures.origin.as_of),
        "snapshot": figures.origin.snapshot,
        "figures_changed": figures.rows_written,
        **{f"{table}_rows": rows for table, rows in figures.rows.items()},
        "dagster/row_count": verdicts.height,
        "verdicts": preview.frame_table(verdicts.group_by("verdict").len("rows").sort("verdict")),
        "reached": preview.frame_table(reached, most=_MOST_ROWS),
    }


def declarations_metadata(found: list[ComputedFiling], origin: Basis) -> Shown:
    """Return what a run shows of declarations: a line each, their rows behind its name, and of one alone a picture."""
    summaries = [_summary(each) for each in found]
    return {
        **_basis(origin),
        **(summaries[0] | {"tonnes_picture": _picture(found[0])} if len(found) == 1 else {}),
        "dagster/row_count": sum(len(each.tonnes) for each in found),
        "filings": preview.table([*summaries[0]] if found else ["filing"], ([*each.values()] for each in summaries)),
        "tonnes": _rows(TONNES_COLUMNS, found, lambda each: each.tonnes),
        "uncounted": _rows((*UNCOUNTED_COLUMNS, ARCHIVED), found, lambda each: each.uncounted),
        "scope_missing": _rows((*MISSING_COLUMNS, ARCHIVED), found, lambda each: each.scope_missing),
        "obligations": _rows(_VERDICT, found, lambda each: each.obligations.iter_rows(named=True)),
    }


def _basis(origin: Basis) -> Shown:
    return {
        "as_of": dg.MetadataValue.timestamp(origin.as_of),
        "snapshot": origin.snapshot,
        "ruleset_version": origin.ruleset_version,
        "catalogue_hash": origin.catalogue_hash,
    }


def _by_category(tonnes: pl.DataFrame) -> pl.DataFrame:
    """Return the figures that a declaration contains, latest year first within a market."""
    latest = tonnes.sort("market", "year", "half", "category_code", descending=[False, True, False, False])
    rows = [scoped_tonnes(row) for row in latest.iter_rows(named=True)]
    written = [pl.Series(name, [f"{row[name]:f}" for row in rows], pl.String) for name in keep.SCOPED]
    return latest.with_columns(written).select(*_FIGURE, "scope_key", "confidence")


def _summary(found: ComputedFiling) -> Shown:
    totals: Shown = {**found.totals}
    return {
        "filing": found.filing.name,
        **{name: float(tonnes) for name, tonnes in totals.items()},
        "halves": ", ".join(map(str, found.halves or [])),
        "uncounted_skus": len({row["sku_code"] for row in found.uncounted}),
        "skus_of_undecided_scope": len({row["sku_code"] for row in found.scope_missing}),
    }


def _picture(found: ComputedFiling) -> dg.MetadataValue:
    by_category = {row["category_code"]: float(row["tonnes"]) for row in found.tonnes}
    return preview.bars("Tonnes by scheme category", by_category)


def _rows(
    names: tuple[str, ...], found: Iterable[ComputedFiling], rows_of: Callable[[ComputedFiling], Iterable[Any]]
) -> dg.TableMetadataValue:
    cells = ([each.filing.name, *(_cell(row.get(name)) for name in names)] for each in found for row in rows_of(each))
    return preview.table(("filing", *names), cells, most=_MOST_ROWS)


def _cell(value: object) -> object:
    return "; ".join(map(str, value)) if isinstance(value, list) else value
