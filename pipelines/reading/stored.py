"""Packs an upload into bytes and back: a line of JSON about the tables, then the tables as Parquet. Reads no file."""

import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from decimal import Decimal

import polars as pl

from pipelines.reading.fields import Column, fields_of, volume_field
from pipelines.reading.grid import LineFault, ReadSheet
from pipelines.reading.sheet import Sheet
from schemas.imports.types import ImportSource
from schemas.json_values import JsonObject
from schemas.messages import from_json, to_json

Content = tuple[ImportSource, Sheet, Sheet | None, int]


def pack(source: ImportSource, main: Sheet, parts: Sheet | None, rows: int) -> bytes:
    """Return the bytes of an upload."""
    sheets = [main] if parts is None else [main, parts]
    frames = [_parquet(frame) for sheet in sheets for frame in (sheet.table, sheet.kinds) if frame is not None]
    about = {"source": source, "rows": rows, "sheets": [_describe_sheet(sheet) for sheet in sheets]}
    about["sizes"] = [len(frame) for frame in frames]
    return json.dumps(about).encode("utf-8") + b"\n" + b"".join(frames)


def unpack(data: bytes) -> Content:
    """Return the upload that `pack` has written."""
    head, _, rest = data.partition(b"\n")
    about = json.loads(head)
    frames = _frames(rest, about["sizes"])
    sheets = [_sheet(of_sheet, frames) for of_sheet in about["sheets"]]
    return about["source"], sheets[0], sheets[1] if len(sheets) > 1 else None, about["rows"]


def _describe_sheet(sheet: Sheet) -> dict[str, object]:
    columns = [
        {**asdict(column), "factor": str(column.factor), "per": str(column.per), "field": column.field.name}
        for column in sheet.columns
    ]
    return {
        "name": sheet.name,
        "header_row": sheet.header_row,
        "columns": columns,
        "ignored": sheet.ignored,
        "marks": sheet.marks,
        "faults": [asdict(fault) | {"message": to_json(fault.message)} for fault in sheet.faults],
        "kinds": sheet.kinds is not None,
        "skipped": sheet.skipped,
        "taken": sheet.taken,
        "sheets": sheet.sheets,
    }


def _sheet(about: JsonObject, frames: Iterator[pl.DataFrame]) -> Sheet:
    return Sheet(
        about["name"],
        about["header_row"],
        tuple(_column(column) for column in about["columns"]),
        tuple((at, header) for at, header in about["ignored"]),
        next(frames),
        about["marks"],
        tuple(LineFault(**fault | {"message": from_json(fault["message"])}) for fault in about["faults"]),
        next(frames) if about["kinds"] else None,
        tuple((line, reason) for line, reason in about["skipped"]),
        taken=tuple(about.get("taken", ())),  # an upload that was queued under an earlier release has none
        sheets=tuple(ReadSheet(*sheet) for sheet in about.get("sheets", ())),
    )


def _column(about: JsonObject) -> Column:
    field = volume_field() if about["market"] else fields_of(about["table"])[about["field"]]
    fixed = tuple((name, value) for name, value in about["fixed"])
    return Column(
        **{
            **about,
            "field": field,
            "factor": Decimal(about["factor"]),
            "per": Decimal(about.get("per", 1)),
            "fixed": fixed,
        }
    )


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="lz4", statistics=False)
    return buffer.getvalue()


def _frames(data: bytes, sizes: list[int]) -> Iterator[pl.DataFrame]:
    start = 0
    for size in sizes:
        frame = data[start : start + size]
        # An upload that was queued under an earlier release is in Arrow's format.
        yield pl.read_ipc(io.BytesIO(frame)) if frame.startswith(b"ARROW1") else pl.read_parquet(io.BytesIO(frame))
        start += size
