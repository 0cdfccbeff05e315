"""The caller's mapping: what they say about the file where detection is not enough, checked for its shape.

`{"columns": {field: header or column letter}, "sheet"?, "header_row"?, "decimal"?: "," | ".", "layout"?,
"components"?: {"columns"?, "sheet"?, "header_row"?}}`; the last speaks of the components sheet.
Whether the columns exist is found when the header is (`header.py`).
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Literal

from pipelines.steps.reading.refusal import refuse
from schemas.normalise import shown

LAYOUTS = ("rows", "long", "wide", "materials")


@dataclass(frozen=True, slots=True)
class MappedSheet:
    """What a mapping says about one sheet; everything is optional."""

    columns: Mapping[str, str] = field(default_factory=dict)
    sheet: str | None = None
    header_row: int | None = None


@dataclass(frozen=True, slots=True)
class Mapped(MappedSheet):
    """A mapping whose parts have the right types: the sheet of SKUs, and what holds for the whole file."""

    decimal: Literal[",", "."] | None = None
    layout: str | None = None
    components: MappedSheet | None = None


def check_mapping(mapping: Mapping[str, object] | None) -> Mapped:
    """The mapping as the reader uses it. Raises `ReadingRefused` with `invalid_mapping`."""
    if mapping is None:
        return Mapped()
    _known(mapping, fields(Mapped))
    decimal = mapping.get("decimal")
    if decimal not in (None, ",", "."):
        raise _wrong('decimal must be "," or "."')
    layout = mapping.get("layout")
    if layout is not None and layout not in LAYOUTS:
        raise _wrong(f"layout must be one of: {', '.join(LAYOUTS)}")
    parts = mapping.get("components")
    if parts is not None and not isinstance(parts, Mapping):
        raise _wrong("components must be an object with columns, sheet or header_row")
    if parts is not None:
        _known(parts, fields(MappedSheet))
    components = None if parts is None else MappedSheet(**_sheet(parts))
    return Mapped(**_sheet(mapping), decimal=decimal, layout=layout, components=components)


def _known(mapping: Mapping[str, object], of: tuple[Field[Any], ...]) -> None:
    keys = [key.name for key in of]
    if unknown := sorted(set(mapping) - set(keys)):
        raise _wrong(f"{shown(unknown[0])} is none of its keys: {', '.join(keys)}")


def _sheet(mapping: Mapping[str, object]) -> dict[str, Any]:
    """What a mapping says about one sheet."""
    columns = mapping.get("columns", {})
    if not isinstance(columns, Mapping) or not all(isinstance(to, str) and to.strip() for to in columns.values()):
        raise _wrong("columns must be an object of field: header or column letter")
    sheet, row = mapping.get("sheet"), mapping.get("header_row")
    if sheet is not None and not isinstance(sheet, str):
        raise _wrong("sheet must be the name of a sheet")
    if row is not None and (not isinstance(row, int) or isinstance(row, bool) or row < 1):
        raise _wrong("header_row must be a line number, counted from 1")
    return {"columns": dict(columns), "sheet": sheet, "header_row": row}


def _wrong(what: str) -> Exception:
    return refuse("invalid_mapping", f"The mapping is wrong: {what}.", "mapping")
