"""Reads a file into an upload: its mapped columns of cell text, and the published `source`.

Typing does not belong here: see `rows.py`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Self

import polars as pl

from pipelines.reading import asked, open_parts, stored, unknown_materials
from pipelines.reading.delimited import detect_delimiter, read_delimited
from pipelines.reading.encoding import decode, detect_format
from pipelines.reading.fields import WEIGHTS
from pipelines.reading.grid import LINES_OF_SHEET, LineFault, own_line
from pipelines.reading.header_row import known_headers, mapped_headers
from pipelines.reading.judge import judged, without_asked
from pipelines.reading.long_layout import lines_are_parts, split_long, with_codes_filled, without_parts
from pipelines.reading.mapping import CheckedMapping, check_mapping
from pipelines.reading.materials import with_details, with_families
from pipelines.reading.named_fields import Words
from pipelines.reading.published import completed_by
from pipelines.reading.questions import NOTHING_READ
from pipelines.reading.readings import MOST, readings_of
from pipelines.reading.refusal import refuse
from pipelines.reading.sheet import Sheet, read_sheet, with_levels
from pipelines.reading.skipped import MOST_LISTED, SAME_PART
from pipelines.reading.wide_layout import layout_of, split_groups
from pipelines.reading.workbook import Workbook
from pipelines.reading.workbook_tables import read_tables
from schemas.messages import Message
from schemas.report import Asked, FileFormat, ImportSource, Reading, SkippedLine


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
    main, questions = _without_doubtful(main, of_parts=of_parts)
    before, before_parts = main, parts
    main, parts, layout = _split_layout(with_families(main), parts, mapped.layout)
    separate = parts is not None and layout == "rows"
    if parts is not None:
        parts, open_words = open_parts.without_open(parts, main, separate=separate)
        questions = [*questions, *open_words]
    main, parts = with_details(without_asked(main)).kept(), None if parts is None else with_details(parts).kept()
    readings = _readings(before, before_parts if separate else None, main, parts)
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


def _readings(before: Sheet, before_parts: Sheet | None, main: Sheet, parts: Sheet | None) -> list[Reading]:
    """Return what the texts of the file became; `before_parts` is a components sheet of its own."""
    if before_parts is None or parts is None:
        return readings_of(before, *(sheet for sheet in (main, parts) if sheet is not None))
    return [*readings_of(before, main), *readings_of(before_parts, parts)][:MOST]


def _without_doubtful(main: Sheet, *, of_parts: bool) -> tuple[Sheet, list[Asked]]:
    """Return the SKUs without the columns that may be the product's, and those as `source.asked` shows them."""
    settled = {column.name for column in main.columns if column.mapped}
    columns = asked.doubtful_columns(main, of_parts=of_parts, mapped=settled)
    columns = [column for column in columns if column.position not in main.asked]
    kept = replace(main, columns=tuple(column for column in main.columns if column not in columns))
    if columns and not any(column.field.name in WEIGHTS for column in kept.columns):
        kept = kept.without([column.name for column in kept.columns if column.field.name == "weight_unit"])
    headers = dict(main.ignored)
    more = [
        unknown_materials.published_question(at, headers[at], main.columns, main.name)
        for at in main.possible_materials
        if at in headers
    ]
    kept = replace(kept, ignored=tuple(entry for entry in kept.ignored if entry[0] not in main.possible_materials))
    return kept, [*(asked.published_question(column, main.name) for column in columns), *more]


def _split_layout(main: Sheet, parts: Sheet | None, layout: str | None) -> tuple[Sheet, Sheet | None, str]:
    """Return the SKUs, the components and the layout; a components sheet, or `rows`, leaves the main table unsplit."""
    found = layout_of(main.columns)
    if layout in ("wide", "materials") and layout != found:
        named = {"wide": Message("numbered groups of columns"), "materials": Message("weight columns of materials")}[
            layout
        ]
        raise refuse(
            "invalid_mapping",
            Message("The mapping's layout is {layout}, but no {columns} are recognised.", layout=layout, columns=named),
            "mapping",
        )
    if parts is not None and layout not in (None, "rows"):
        message = Message(
            "The mapping's layout is {told}, but the components stand in a sheet of their own; leave it out.",
            told=layout,
        )
        raise refuse("invalid_mapping", message, "mapping")
    stray = next((column.name for column in main.columns if column.table == "component" and column.mapped), None)
    if parts is not None and stray is not None:
        message = Message(
            "The mapping reads {name} beside the SKUs, but the components stand in a sheet of their own. Say it "
            "under components.",
            name=stray,
        )
        raise refuse("invalid_mapping", message, "mapping")
    if parts is not None or layout == "rows":
        return without_parts(main), parts, "rows"
    if found is not None and layout != "long":
        return *split_groups(main), found
    main, parts = split_long(main)
    return (main, None, "rows") if parts is None else (*_without_repeats(main, parts), "long")


def _without_repeats(main: Sheet, parts: Sheet) -> tuple[Sheet, Sheet]:
    """Return both without lines that say a part once more on a further sheet; other values are a fault of its SKU.

    Sheets of months list a packaging with all its parts each; sheets of levels list other parts of it.
    """
    named = [name for name in ("sku_code", "component_type", "material_family") if name in parts.table.columns]
    if not main.sheets:
        return main, parts
    said = [name for name in parts.table.columns if name != "line"]
    lines = parts.table.with_row_index("at").with_columns(sheet=pl.col("line") // LINES_OF_SHEET)
    lines = lines.with_columns(
        earlier=pl.col("sheet") > pl.col("sheet").min().over(named),
        first=pl.col("line").min().over(named),
        same=~pl.struct(said).is_first_distinct(),
    )
    again = lines.filter(pl.col("earlier") & pl.col("sku_code").is_not_null())
    faults = [
        LineFault(line, "duplicate_row", _other_part(first), None, code)
        for line, first, code in again.filter(~pl.col("same")).select("line", "first", "sku_code").iter_rows()
    ]
    listed = [(line, SAME_PART) for line in again.filter("same")["line"]]
    skipped = tuple(sorted((*main.skipped, *listed)))[:MOST_LISTED]
    kept = sorted(set(range(lines.height)) - set(again["at"]))
    return replace(main, skipped=skipped), replace(parts.rows_at(kept), faults=(*parts.faults, *faults))


def _other_part(line: int) -> Message:
    return Message(
        "Line {line} has the same part with other values; name a part on one sheet, or with the same values on each.",
        line=line,
    )


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
