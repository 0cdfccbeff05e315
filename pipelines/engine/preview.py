"""Prepares what runs show of figures, of verdicts on obligations, and of declarations."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import (  # Any: Dagster's metadata takes any value
    Any,
    Final,
    TypeAlias,  # Any: Dagster's metadata takes any value
)
from uuid import UUID

import dagster as dg
import polars as pl

from compliance.filings.document import ARCHIVED, MISSING_COLUMNS, TONNES_COLUMNS, UNCOUNTED_COLUMNS, scoped_tonnes
from compliance.rollup.tonnes import Figures
from pipelines import figures as figures_pipelines
from pipelines.filings import ComputedFiling, halves_by_year, tonnes_by_period, tonnes_of_latest_years
from pipelines.imports.report import Work
from schemas.fields import SKU
from schemas.vocabularies import VOCABULARIES
from warehouse.companies import queries as companies
from warehouse.figures.snapshots import Snapshot
from warehouse.figures.stored import Basis, StoredFigures
from warehouse.operate.sessions import Connection
from warehouse.skus import earlier

PREVIEW_ROWS: Final = 20
_LONGEST_CELL: Final = 120
_BAR = {"height": 22, "width": 150, "label": 110}
"""Pixels; with its number a bar is as wide as the column of values in the UI."""
_COLOURS: Final = {
    "A": "#2e7d32",
    "B": "#9e9d24",
    "C": "#ef6c00",
    "not_recyclable": "#b71c1c",
    "not_assessed": "#757575",
}
_PLAIN: Final = "#5472d3"
_TITLE: Final = re.compile(r"[A-Za-z0-9 ,]{1,100}")


def column_schema(frame: pl.DataFrame) -> dg.TableSchema:
    """Return the frame's columns with type, meaning and unit."""
    return dg.TableSchema(
        columns=[dg.TableColumn(name, str(dtype), _meaning(name)) for name, dtype in frame.schema.items()]
    )


def _meaning(name: str) -> str | None:
    field = SKU.get(name)
    return None if field is None else field.meaning + (f" Unit: {field.unit}." if field.unit else "")


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, most: int = PREVIEW_ROWS, total: int | None = None
) -> dg.TableMetadataValue:
    """Return the first rows as a table, each cell as text and cut.

    Where there are more rows, of `total` where the caller knows, the last line says how many.
    """
    shown = list(rows)
    records = [dict(zip(columns, map(_shown_cell, row), strict=True)) for row in shown[:most]]
    more = (len(shown) if total is None else total) - len(records)
    if more > 0:
        records.append({**dict.fromkeys(columns, ""), columns[0]: f"and {more} more"})
    schema = dg.TableSchema(columns=[dg.TableColumn(name) for name in columns])
    return dg.MetadataValue.table([dg.TableRecord(record) for record in records], schema)


def _shown_cell(value: object) -> str:
    text = " ".join(("" if value is None else str(value)).split())
    return text if len(text) <= _LONGEST_CELL else text[:_LONGEST_CELL] + "…"


def frame_table(frame: pl.DataFrame, *, most: int = PREVIEW_ROWS) -> dg.TableMetadataValue:
    """Return a frame's first rows as a table."""
    return table(frame.columns, frame.head(most).iter_rows(), most=most, total=frame.height)


def period(year: str, half: str) -> pl.Expr:
    """Join year and half of two columns: 2026, 2026-H1."""
    halved = pl.format("{}-H{}", pl.col(year), pl.col(half))
    return pl.when(pl.col(half) == 0).then(pl.col(year).cast(pl.String)).otherwise(halved).alias("period")


def import_metadata(work: Work) -> dict[str, str]:
    """Name the import, the company and the file, under the names that they have everywhere."""
    return {
        "import_id": str(work.id),
        "company": work.company_name,
        "company_id": str(work.company_id),
        "filename": work.filename,
    }


def company(conn: Connection, company_id: UUID) -> dict[str, str]:
    """Name the company of a portfolio, by name and id, in a session of the company."""
    named = companies.of(conn, company_id)
    return {"company": named[0] if named else "", "company_id": str(company_id)}


def of_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """Name the snapshot as a declaration does; `audit_links` is the last link of the audit chain in it."""
    return {
        "as_of": dg.MetadataValue.timestamp(snapshot.as_of),
        "snapshot": snapshot.path,
        "audit_links": snapshot.number,
        **{f"{name}_rows": rows for name, rows in snapshot.rows.items()},
    }


def seconds(by_step: Mapping[str, float]) -> dg.TableMetadataValue:
    """Return seconds per step, in the order in which the steps ran."""
    return table(("step", "seconds"), [(step, f"{spent:.3f}") for step, spent in by_step.items()])


def grade_table(grades: Mapping[str, int]) -> dg.TableMetadataValue:
    """Return SKUs by grade, for every grade of the vocabulary."""
    total = sum(grades.values()) or 1
    counted = [(grade, grades.get(grade, 0)) for grade in VOCABULARIES["recyclability_grade"]]
    return table(("grade", "SKUs", "share"), [(grade, n, f"{100 * n / total:.1f} %") for grade, n in counted])


def grade_bars(grades: Mapping[str, int]) -> dg.MarkdownMetadataValue:
    """Return the same as a picture."""
    return bars("SKUs by grade", {grade: grades.get(grade, 0) for grade in VOCABULARIES["recyclability_grade"]})


def records(
    names: Sequence[str], rows: Iterable[Mapping[str, object]], *, total: int | None = None
) -> dg.TableMetadataValue:
    """Return a table of these fields of JSON objects."""
    return table(names, ([row[name] for name in names] for row in rows), total=total)


def bars(title: str, figures: Mapping[str, float]) -> dg.MarkdownMetadataValue:
    """Draw one bar per figure, inside the metadata itself: an image that needs no address.

    `title` is a text of ours: plain words, digits and commas. Labels and figures are drawn, so that none of them is
    Markdown. Raises `ValueError` for another title.
    """
    if not _TITLE.fullmatch(title):
        raise ValueError("a picture's title is plain words of ours")
    most = max(figures.values(), default=0) or 1
    drawn = [_bar(place, label, figure, most) for place, (label, figure) in enumerate(figures.items())]
    width, height = _BAR["label"] + _BAR["width"] + 80, len(drawn) * _BAR["height"]
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="12" fill="#888">{"".join(drawn)}</svg>'
    )
    return dg.MetadataValue.md(f"![{title}](data:image/svg+xml;base64,{b64encode(svg.encode()).decode()})")


def _bar(place: int, label: str, figure: float, most: float) -> str:
    top, length = place * _BAR["height"], round(_BAR["width"] * figure / most)
    return (
        f'<text x="0" y="{top + 15}">{escape(label)}</text>'
        f'<rect x="{_BAR["label"]}" y="{top + 4}" width="{length}" height="14" fill="{_COLOURS.get(label, _PLAIN)}"/>'
        f'<text x="{_BAR["label"] + length + 6}" y="{top + 15}">{figure:.10g}</text>'
    )


def counts(outcomes: Mapping[str, int]) -> dict[str, Any]:
    """Return SKUs by outcome as single figures, which the UI plots over runs."""
    return {f"skus_{name}": outcomes.get(name, 0) for name in VOCABULARIES["outcome"]}


Shown: TypeAlias = dict[str, Any]
_MOST_ROWS: Final = 200
"""Maximum rows of a table in a run's metadata, enough for one company's usual declarations; the files have all."""
_VERDICT: Final = ("obligation", "material", "tonnes", "tonnes_upper", "threshold_tonnes", "verdict", "reason")
_PERIOD: Final = period("year", "half")
_FIGURE: Final = ("market", _PERIOD, "category_code", "tonnes", "units", "skus", "basis", *figures_pipelines.SCOPED[1:])


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
        "tonnes_by_market": table(("market and period", "tonnes"), by_period.items(), most=_MOST_ROWS),
        "tonnes_by_market_picture": bars("Tonnes by market, latest year and its halves", by_period),
        "halves": halves_by_year(found),
        "tonnes_by_category": frame_table(_by_category(found.tonnes), most=_MOST_ROWS),
        "uncounted": frame_table(uncounted, most=_MOST_ROWS),
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
        "verdicts": frame_table(verdicts.group_by("verdict").len("rows").sort("verdict")),
        "reached": frame_table(reached, most=_MOST_ROWS),
    }


def declarations_metadata(found: list[ComputedFiling], origin: Basis) -> Shown:
    """Return what a run shows of declarations: a line each, their rows behind its name, and of one alone a picture."""
    summaries = [_summary(each) for each in found]
    return {
        **_basis(origin),
        **(summaries[0] | {"tonnes_picture": _picture(found[0])} if len(found) == 1 else {}),
        "dagster/row_count": sum(len(each.tonnes) for each in found),
        "filings": table([*summaries[0]] if found else ["filing"], ([*each.values()] for each in summaries)),
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
    written = [pl.Series(name, [f"{row[name]:f}" for row in rows], pl.String) for name in figures_pipelines.SCOPED]
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
    return bars("Tonnes by scheme category", by_category)


def _rows(
    names: tuple[str, ...], found: Iterable[ComputedFiling], rows_of: Callable[[ComputedFiling], Iterable[Any]]
) -> dg.TableMetadataValue:
    cells = ([each.filing.name, *(_cell(row.get(name)) for name in names)] for each in found for row in rows_of(each))
    return table(("filing", *names), cells, most=_MOST_ROWS)


def _cell(value: object) -> object:
    return "; ".join(map(str, value)) if isinstance(value, list) else value


_IMPORTS: Final = ("import that wrote last", "file", "sent at (UTC)", "SKUs")
_FLAGS: Final = ("code", "text", "applies_from", "skus", "certain", "depends")
_SCOPE: Final = ("code", "name", "system", "depth", "verified_on", "skus")


def snapshot_metadata(conn: Connection, snapshot: Snapshot, skus_by_import: Mapping[UUID, int]) -> Shown:
    """Return what a run shows of a new snapshot, with the imports that wrote last, in the company's session."""
    files = earlier.files(conn, [*skus_by_import][:PREVIEW_ROWS])
    rows = (
        (import_id, file.filename, f"{file.sent_at:%Y-%m-%d %H:%M:%S}", skus_by_import[import_id])
        for import_id, file in files.items()
    )
    return {
        **of_snapshot(snapshot),
        "dagster/row_count": snapshot.rows["skus"],
        "size_bytes": snapshot.size_bytes,
        "skus_by_import": table(_IMPORTS, rows, total=len(skus_by_import)),
        "skus_by_single_writes": snapshot.rows["skus"] - sum(skus_by_import.values()),
    }


def overview_metadata(snapshot: Snapshot, found: Mapping[str, Any]) -> Shown:
    """Return what a run shows of a portfolio's overview."""
    return {
        "as_of": dg.MetadataValue.timestamp(snapshot.as_of),
        "snapshot": snapshot.path,
        "skus": found["skus"],
        "skus_provisional": sum(found["provisional"].values()),
        **{f"grade_{grade}": number for grade, number in found["grades"].items()},
        "grades_picture": grade_bars(found["grades"]),
        "markets_picture": bars("SKUs by market", {row["market"]: row["skus"] for row in found["markets"]}),
        "doc_status": table(("DoC status", "SKUs"), found["doc_status"].items()),
        "packaging_levels": table(("level", "SKUs"), found["packaging_levels"].items()),
        "flags": records(_FLAGS, found["annex_v_flags"]),
        "jurisdictions": records(_SCOPE, found["jurisdictions"]),
    }
