"""Makes tables, column lists and bars for the Dagster UI from the results of a step.

Only figures and report rows are shown, never credentials; previews are cut, because the event log keeps them. Text of a
record is shown as text or as a cell of a table, which the UI renders unchanged, never as Markdown: otherwise a caller
could make an analyst's browser fetch what a cell names (decision 0032). The one Markdown value is a picture that this
module draws (`bars`).
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final  # Any: Dagster's metadata takes any value
from uuid import UUID

import dagster as dg
import polars as pl

from pipelines.imports.work import Work
from schemas.fields import SKU
from schemas.vocabularies import VOCABULARIES
from warehouse.companies import queries as companies
from warehouse.sessions import Connection
from warehouse.snapshots import Snapshot

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
    records = [dict(zip(columns, map(_cell, row), strict=True)) for row in shown[:most]]
    more = (len(shown) if total is None else total) - len(records)
    if more > 0:
        records.append({**dict.fromkeys(columns, ""), columns[0]: f"and {more} more"})
    schema = dg.TableSchema(columns=[dg.TableColumn(name) for name in columns])
    return dg.MetadataValue.table([dg.TableRecord(record) for record in records], schema)


def _cell(value: object) -> str:
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
