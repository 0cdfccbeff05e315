"""The caller's mapping: what they say about the file where detection is not enough, checked for its shape.

`{"columns": {field: header or column letter}, "sheet"?, "header_row"?, "decimal"?: "," | ".", "layout"?}`.
Whether the columns exist is found when the header is (`header.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pipelines.steps.reading.refusal import refuse
from schemas.normalise import shown

LAYOUTS = ("rows", "long", "wide", "materials")


@dataclass(frozen=True, slots=True)
class Mapped:
    """A mapping whose parts have the right types; everything is optional."""

    columns: Mapping[str, str] = field(default_factory=dict)
    sheet: str | None = None
    header_row: int | None = None
    decimal: Literal[",", "."] | None = None
    layout: str | None = None


def check_mapping(mapping: Mapping[str, object] | None) -> Mapped:
    """The mapping as the reader uses it. Raises `ReadingRefused` with `invalid_mapping`."""
    if mapping is None:
        return Mapped()
    if unknown := sorted(set(mapping) - set(Mapped.__dataclass_fields__)):
        raise _wrong(f"{shown(unknown[0])} is none of its keys: {', '.join(Mapped.__dataclass_fields__)}")
    columns = mapping.get("columns", {})
    if not isinstance(columns, Mapping) or not all(isinstance(to, str) and to.strip() for to in columns.values()):
        raise _wrong("columns must be an object of field: header or column letter")
    sheet, row = mapping.get("sheet"), mapping.get("header_row")
    if sheet is not None and not isinstance(sheet, str):
        raise _wrong("sheet must be the name of a sheet")
    if row is not None and (not isinstance(row, int) or isinstance(row, bool) or row < 1):
        raise _wrong("header_row must be a line number, counted from 1")
    decimal = mapping.get("decimal")
    if decimal not in (None, ",", "."):
        raise _wrong('decimal must be "," or "."')
    layout = mapping.get("layout")
    if layout is not None and layout not in LAYOUTS:
        raise _wrong(f"layout must be one of: {', '.join(LAYOUTS)}")
    return Mapped(dict(columns), sheet, row, decimal, layout)


def _wrong(what: str) -> Exception:
    return refuse("invalid_mapping", f"The mapping is wrong: {what}.", "mapping")
