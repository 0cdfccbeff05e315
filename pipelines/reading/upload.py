"""Reads a file into an upload: its mapped columns of cell text, and the published `source`.

Typing does not belong here: see `rows.py`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Self

import polars as pl

from pipelines.reading import open_parts, stored
from pipelines.reading.asked import without_doubtful
from pipelines.reading.delimited import detect_delimiter, read_delimited
from pipelines.reading.encoding import decode, detect_format
from pipelines.reading.grid import own_line
from pipelines.reading.header_row import known_headers, mapped_headers
from pipelines.reading.judge import judged, without_asked
from pipelines.reading.layouts import lines_are_parts, split_layout, with_codes_filled
from pipelines.reading.mapping import CheckedMapping, check_mapping
from pipelines.reading.materials import with_details, with_families
from pipelines.reading.named_fields import Words
from pipelines.reading.published import completed_by
from pipelines.reading.questions import NOTHING_READ
from pipelines.reading.readings import MOST, readings_of
from pipelines.reading.refusal import refuse
from pipelines.reading.sheet import Sheet, read_sheet, with_levels
from pipelines.reading.workbook import Workbook
from pipelines.reading.workbook_tables import read_tables
from schemas.messages import Message
from schemas.report import FileFormat, ImportSource, SkippedLine


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that can be imported: `source` is its published description, `main` and `parts` are its tables.

    `rows` are the data lines of the main sheet, those that could not be read included.
    """

    source: ImportSource
    main: Sheet
    parts: Sheet | None
    rows: int

    @property
    def table(self) -> pl.DataFrame:
        """Return the main table: cell text in one String column per field, an empty cell null, beside `line`."""
        return self.main.table

    @property
    def components(self) -> pl.DataFrame | None:
        """Return the components' table, of the same form; None where the file names none."""
        return None if self.parts is None else self.parts.table

    def to_bytes(self) -> bytes:
        """Return the upload as bytes for a worker, so that the caller's file is read only once."""
        return stored.pack(self.source, self.main, self.parts, self.rows)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Upload":
        """Return the upload that `to_bytes` has written."""
        return cls(*stored.unpack(data))


def read_upload(
    data: bytes,
    filename: str,
    *,
    mapping: Mapping[str, object] | None = None,
    mapping_name: str | None = None,
    words: Words | None = None,
    taken_codes: Collection[str] = (),
    today: date,
) -> Upload:
    """Read the tables of an uploaded file by its content; `filename` only names it in a refusal.

    `mapping` is the caller's (decisions §4), `mapping_name` is its name; `words` are the company's own;
    `taken_codes` are codes that no row may have (`pipelines.corrections.repeats`); `today` is the day of submission,
    for volumes that name no year.
    Raises `ReadingRefused` where the file as a whole cannot be imported.
    """
    mapped = check_mapping(mapping, words)
    of_format = _from_text if detect_format(data, filename) == "csv" else _from_workbook
    upload = of_format(data, mapped, today)
    upload.source["mapping_name"] = mapping_name
    return replace(upload, main=replace(upload.main, taken=tuple(taken_codes))) if taken_codes else upload


def _from_text(data: bytes, mapped: CheckedMapping, today: date) -> Upload:
    if mapped.components is not None:
        message = Message("The mapping speaks of a components sheet, but a text has no sheets; send a workbook.")
        raise refuse("invalid_mapping", message, "mapping")
    text = decode(data, mapped.encoding)
    of_mapping = mapped_headers(mapped)
    delimiter = detect_delimiter(text.text, lambda records: known_headers(records, of_mapping))
    grid = read_delimited(text.text, delimiter)
    about: FileFormat = {"format": "csv", "encoding": text.encoding, "delimiter": delimiter}
    with completed_by(about):
        sheet = read_sheet(grid, None, "sku", mapped, delimiter=delimiter)
        return _upload(sheet, None, about, mapped, today)


def _from_workbook(data: bytes, mapped: CheckedMapping, today: date) -> Upload:
    about: FileFormat = {"format": "xlsx", "encoding": None, "delimiter": None}
    with completed_by(about):
        read = read_tables(Workbook(data), mapped)
        parts = None if read.parts is None else with_codes_filled(read.parts)
        upload = _upload(read.main, parts, about, mapped, today)
    upload.source.update({"hidden": read.hidden, "unread_sheets": read.unread})
    if (components := upload.source["components"]) is not None and read.parts is not None:
        components["hidden"] = read.hidden_parts
    return upload


def _upload(main: Sheet, parts: Sheet | None, about: FileFormat, mapped: CheckedMapping, today: date) -> Upload:
    """Return the upload of the tables found. Raises `no_rows` where there is no data line."""
    lines = main.lines
    if lines == 0 and (parts is None or parts.lines == 0):
        raise refuse("no_rows", Message("The table has a header and no data line below it; nothing can be imported."))
    of_parts = parts is not None or (mapped.layout != "rows" and lines_are_parts(main))
    main = judged(with_levels(main), of_parts=of_parts and parts is None)
    parts = None if parts is None else judged(parts, of_parts=True)
    main, questions = without_doubtful(main, of_parts=of_parts)
    before, before_parts = main, parts
    main, parts, layout = split_layout(with_families(main), parts, mapped.layout)
    separate = parts is not None and layout == "rows"
    if parts is not None:
        parts, open_words = open_parts.without_open(parts, main, separate=separate)
        questions = [*questions, *open_words]
    main, parts = with_details(without_asked(main)).kept(), None if parts is None else with_details(parts).kept()
    readings = readings_of(before, main, *(() if separate or parts is None else (parts,)))
    if separate and before_parts is not None and parts is not None:
        readings = [*readings, *readings_of(before_parts, parts)][:MOST]
    dated = any(column.market and column.year is None for column in main.columns)
    source: ImportSource = {
        **NOTHING_READ,
        **about,
        **main.published(),
        "components": None if parts is None else parts.published(),
        "layout": layout,
        "skipped": _published_skipped(main),
        "volume_year": today.year if dated else None,
        "asked": [*main.questions, *(parts.questions if parts is not None and separate else ()), *questions],
        "readings": readings,
    }
    if main.sheets:
        source["sheets"] = [{"sheet": name, "header_row": row} for name, row in main.sheets]
    return Upload(source, main, parts, lines)


def _published_skipped(main: Sheet) -> list[SkippedLine]:
    """Return the lines that are no data, with their sheet where the table has several."""
    found: list[SkippedLine] = []
    for line, reason in main.skipped:
        found.append({"line": own_line(line), "reason": reason})
        if main.sheets:
            found[-1]["sheet"] = main.sheet_of(line)
    return found


@dataclass(frozen=True, slots=True)
class PackedUpload:
    """`source` and `rows` as in `Upload`; `codes` are the distinct ones of the main sheet, `table` is `to_bytes`."""

    source: ImportSource
    rows: int
    codes: list[str]
    table: bytes

    @classmethod
    def of(cls, upload: Upload) -> Self:
        """Return the upload, packed."""
        codes = upload.table["sku_code"].drop_nulls().unique().to_list()
        return cls(upload.source, upload.rows, codes, upload.to_bytes())
