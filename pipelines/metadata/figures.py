"""Prepares what runs show of snapshots, overviews, figures, verdicts on obligations, and declarations."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final  # Any: a row of a declaration, by column
from uuid import UUID

import dagster as dg
import polars as pl

from compliance.filings.document import ARCHIVED, MISSING_COLUMNS, TONNES_COLUMNS, UNCOUNTED_COLUMNS, scoped_tonnes
from compliance.rollup.exact import in_tonnes
from compliance.rollup.tonnes import Figures
from pipelines.figures import SCOPED
from pipelines.filings import ComputedFiling, halves_by_year, tonnes_by_period, tonnes_of_latest_years
from pipelines.metadata.tables import PREVIEW_ROWS, Metadata, bars, frame_table, grade_bars, records, table
from warehouse.figures.snapshots import Snapshot
from warehouse.figures.stored import Basis, StoredFigures
from warehouse.operate.sessions import Connection
from warehouse.skus import history

_MOST_ROWS: Final = 200
"""Maximum rows of a table in a run's metadata, enough for one company's usual declarations; the files have all."""
_VERDICT: Final = ("obligation", "material", "tonnes", "tonnes_upper", "threshold_tonnes", "verdict", "reason")
_PERIOD: Final = (
    pl.when(pl.col("half") == 0)
    .then(pl.col("year").cast(pl.String))
    .otherwise(pl.format("{}-H{}", pl.col("year"), pl.col("half")))
    .alias("period")
)
"""Year and half of two columns as one: 2026, 2026-H1."""
_FIGURE: Final = ("market", _PERIOD, "category_code", "tonnes", "units", "skus", "basis", *SCOPED[1:])
_IMPORTS: Final = ("import that wrote last", "file", "sent at (UTC)", "SKUs")
_FLAGS: Final = ("code", "text", "applies_from", "skus", "certain", "depends")
_SCOPE: Final = ("code", "name", "system", "depth", "verified_on", "skus")


def portfolio(snapshot: Snapshot) -> Metadata:
    """Name the snapshot as a declaration does; `audit_links` is the last link of the audit chain in it."""
    return {
        "as_of": dg.MetadataValue.timestamp(snapshot.as_of),
        "snapshot": snapshot.path,
        "audit_links": snapshot.number,
        **{f"{name}_rows": rows for name, rows in snapshot.rows.items()},
    }


def portfolio_snapshot(conn: Connection, snapshot: Snapshot, skus_by_import: Mapping[UUID, int]) -> Metadata:
    """Return what a run shows of a new snapshot, with the imports that wrote last, in the company's session."""
    files = history.files(conn, [*skus_by_import][:PREVIEW_ROWS])
    rows = (
        (import_id, file.filename, f"{file.sent_at:%Y-%m-%d %H:%M:%S}", skus_by_import[import_id])
        for import_id, file in files.items()
    )
    return {
        **portfolio(snapshot),
        "dagster/row_count": snapshot.rows["skus"],
        "size_bytes": snapshot.size_bytes,
        "skus_by_import": table(_IMPORTS, rows, total=len(skus_by_import)),
        "skus_by_single_writes": snapshot.rows["skus"] - sum(skus_by_import.values()),
    }


def portfolio_overview(snapshot: Snapshot, overview: Mapping[str, Any]) -> Metadata:
    """Return what a run shows of a portfolio's overview."""
    return {
        "as_of": dg.MetadataValue.timestamp(snapshot.as_of),
        "snapshot": snapshot.path,
        "skus": overview["skus"],
        "skus_provisional": sum(overview["provisional"].values()),
        **{f"grade_{grade}": number for grade, number in overview["grades"].items()},
        "grades_picture": grade_bars(overview["grades"]),
        "markets_picture": bars("SKUs by market", {row["market"]: row["skus"] for row in overview["markets"]}),
        "doc_status": table(("DoC status", "SKUs"), overview["doc_status"].items()),
        "packaging_levels": table(("level", "SKUs"), overview["packaging_levels"].items()),
        "flags": records(_FLAGS, overview["annex_v_flags"]),
        "jurisdictions": records(_SCOPE, overview["jurisdictions"]),
    }


def figures(computed: Figures, origin: Basis) -> Metadata:
    """Return the figures' basis, under a declaration's names, their sums, which the UI plots over runs, and tables."""
    by_period = tonnes_by_period(computed, origin.as_of.year)
    by_reason = computed.uncounted.group_by("market", _PERIOD, "reason")
    uncounted = by_reason.agg(pl.len().alias("skus"), pl.col("units").sum(), pl.col("grams").sum())
    return _basis(origin) | {
        "figures": computed.tonnes.height,
        "dagster/row_count": computed.tonnes.height,
        "tonnes_latest_year": tonnes_of_latest_years(computed, origin.as_of.year),
        "uncounted_skus": computed.uncounted["sku_code"].n_unique(),
        "skus_of_undecided_scope": computed.scope_missing["sku_code"].n_unique(),
        "tonnes_by_market": table(("market and period", "tonnes"), by_period.items(), most=_MOST_ROWS),
        "tonnes_by_market_picture": bars("Tonnes by market, latest year and its halves", by_period),
        "halves": halves_by_year(computed),
        "tonnes_by_category": frame_table(_by_category(computed.tonnes), most=_MOST_ROWS),
        "uncounted": frame_table(
            uncounted.sort("market", "period", "reason").with_columns(in_tonnes()).rename({"grams": "tonnes"}),
            most=_MOST_ROWS,
        ),
    }


def obligations(figures: StoredFigures, verdicts: pl.DataFrame) -> Metadata:
    """Describe the figures that are now current; `figures_changed` counts those that are new, changed or removed."""
    reached = verdicts.filter(pl.col("verdict").is_in(["above", "near"])).select("market", "year", *_VERDICT)
    return {
        "as_of": dg.MetadataValue.timestamp(figures.origin.as_of),
        "snapshot": figures.origin.snapshot,
        "figures_changed": figures.rows_written,
        **{f"{table}_rows": rows for table, rows in figures.rows.items()},
        "dagster/row_count": verdicts.height,
        "verdicts": frame_table(verdicts.group_by("verdict").len("rows").sort("verdict")),
        "reached": frame_table(reached, most=_MOST_ROWS),
    }


def declarations(filings: list[ComputedFiling], origin: Basis) -> Metadata:
    """Return what a run shows of declarations: a line each, their rows behind its name, and of one alone a picture."""
    summaries = [_summary(filing) for filing in filings]
    alone: Metadata = {}
    if len(filings) == 1:
        tonnes = {row["category_code"]: float(row["tonnes"]) for row in filings[0].tonnes}
        alone = summaries[0] | {"tonnes_picture": bars("Tonnes by scheme category", tonnes)}
    return {
        **_basis(origin),
        **alone,
        "dagster/row_count": sum(len(filing.tonnes) for filing in filings),
        "filings": table([*summaries[0]] if filings else ["filing"], ([*row.values()] for row in summaries)),
        "tonnes": _rows(TONNES_COLUMNS, filings, lambda filing: filing.tonnes),
        "uncounted": _rows((*UNCOUNTED_COLUMNS, ARCHIVED), filings, lambda filing: filing.uncounted),
        "scope_missing": _rows((*MISSING_COLUMNS, ARCHIVED), filings, lambda filing: filing.scope_missing),
        "obligations": _rows(_VERDICT, filings, lambda filing: filing.obligations.iter_rows(named=True)),
    }


def _basis(origin: Basis) -> Metadata:
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
    written = [pl.Series(name, [f"{row[name]:f}" for row in rows], pl.String) for name in SCOPED]
    return latest.with_columns(written).select(*_FIGURE, "scope_key", "confidence")


def _summary(filing: ComputedFiling) -> Metadata:
    totals: Metadata = {**filing.totals}
    return {
        "filing": filing.filing.name,
        **{name: float(tonnes) for name, tonnes in totals.items()},
        "halves": ", ".join(map(str, filing.halves or [])),
        "uncounted_skus": len({row["sku_code"] for row in filing.uncounted}),
        "skus_of_undecided_scope": len({row["sku_code"] for row in filing.scope_missing}),
    }


def _rows(
    names: tuple[str, ...], filings: Iterable[ComputedFiling], rows_of: Callable[[ComputedFiling], Iterable[Any]]
) -> dg.TableMetadataValue:
    def cell(value: object) -> object:
        return "; ".join(map(str, value)) if isinstance(value, list) else value

    rows_of_filings = ((filing.filing.name, row) for filing in filings for row in rows_of(filing))
    cells = ([name, *(cell(row.get(column)) for column in names)] for name, row in rows_of_filings)
    return table(("filing", *names), cells, most=_MOST_ROWS)
