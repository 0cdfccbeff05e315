"""Makes tables and pictures of what runs show. A text of a caller is a cell of a table here, and never Markdown."""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final, TypeAlias  # Any: Dagster's metadata takes any value

import dagster as dg
import polars as pl

from schemas.vocabularies import VOCABULARIES

Metadata: TypeAlias = dict[str, Any]
"""What an asset's materialisation or a check shows, by name."""
PREVIEW_ROWS: Final = 20
_LONGEST_CELL: Final = 120
_BAR_HEIGHT: Final = 22
_BAR_WIDTH: Final = 150
_LABEL_WIDTH: Final = 110
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


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, most: int = PREVIEW_ROWS, total: int | None = None
) -> dg.TableMetadataValue:
    """Return the first rows as a table, each cell as text and cut.

    Where there are more rows, of `total` where the caller knows, the last line says how many.
    """
    listed = list(rows)
    records = [dict(zip(columns, map(_cell, row), strict=True)) for row in listed[:most]]
    more = (len(listed) if total is None else total) - len(records)
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


def records(
    names: Sequence[str], rows: Iterable[Mapping[str, object]], *, total: int | None = None
) -> dg.TableMetadataValue:
    """Return a table of these fields of JSON objects."""
    return table(names, ([row[name] for name in names] for row in rows), total=total)


def grade_bars(grades: Mapping[str, int]) -> dg.MarkdownMetadataValue:
    """Return SKUs by grade as a picture, for every grade of the vocabulary."""
    return bars("SKUs by grade", {grade: grades.get(grade, 0) for grade in VOCABULARIES["recyclability_grade"]})


def bars(title: str, figures: Mapping[str, float]) -> dg.MarkdownMetadataValue:
    """Draw one bar per figure, inside the metadata itself: an image that needs no address.

    `title` is a text of ours: plain words, digits and commas. Labels and figures are drawn, so that none of them is
    Markdown. Raises `ValueError` for another title.
    """
    if not _TITLE.fullmatch(title):
        raise ValueError("a picture's title is plain words of ours")
    most = max(figures.values(), default=0) or 1
    drawn = [_bar(place, label, figure, most) for place, (label, figure) in enumerate(figures.items())]
    width, height = _LABEL_WIDTH + _BAR_WIDTH + 80, len(drawn) * _BAR_HEIGHT
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="12" fill="#888">{"".join(drawn)}</svg>'
    )
    return dg.MetadataValue.md(f"![{title}](data:image/svg+xml;base64,{b64encode(svg.encode()).decode()})")


def _bar(place: int, label: str, figure: float, most: float) -> str:
    top, length = place * _BAR_HEIGHT, round(_BAR_WIDTH * figure / most)
    return (
        f'<text x="0" y="{top + 15}">{escape(label)}</text>'
        f'<rect x="{_LABEL_WIDTH}" y="{top + 4}" width="{length}" height="14" fill="{_COLOURS.get(label, _PLAIN)}"/>'
        f'<text x="{_LABEL_WIDTH + length + 6}" y="{top + 15}">{figure:.10g}</text>'
    )
