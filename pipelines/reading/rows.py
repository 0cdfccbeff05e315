"""Types the rows of an upload: types every cell, collects faults with their place, leaves out rows with a fault.

`values.py` types a cell of each kind; the writing step finds faults between a row and the stored record.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import Final

import polars as pl

from pipelines.reading import graphs
from pipelines.reading.cells import TypedSheet, type_sheet
from pipelines.reading.fields import SKU_HELPERS, VOLUME_YEAR, faults_where
from pipelines.reading.graphs import volume_texts
from pipelines.reading.grid import LINES_OF_SHEET, letter
from pipelines.reading.sheet import Sheet
from pipelines.reading.upload import Upload
from schemas.messages import Message, from_json, stored_template, to_json

ERRORS: Final = pl.Schema(
    {
        "sheet": pl.String,
        "line": pl.Int64,
        "sku_code": pl.String,
        "field": pl.String,
        "column": pl.String,
        "value": pl.String,
        "code": pl.String,
        "message": pl.String,
        "template": pl.String,
    }
)
_LONGEST_VALUE: Final = 200
_TAKEN: Final = Message(
    "Another line of the file that was sent first has this sku_code, and counts; give this line another code."
)
_PLACE: Final = ("row", "line", "sheet")


@dataclass(frozen=True, slots=True)
class TypedRows:
    """The rows of an import, ready to be written, and the report of those that are not.

    `values` has one row per SKU: `row`, `line`, `sheet`, `sku_code`, `name`, then each given field typed; lists are
    Postgres array literals, `volumes` and `components` JSON text. `given` has the same fields as booleans: an empty
    cell is not given, the word `null` is given and null. `errors` are report rows, ordered by sheet and line;
    `rejected` counts the SKUs and lines that they keep out. `unnamed` are rows with a fault that also give no name,
    which is one more fault where the SKU is not stored: `sheet`, `line`, `sku_code`, `column`.
    """

    values: pl.DataFrame
    given: pl.DataFrame
    errors: pl.DataFrame
    rejected: int
    unnamed: pl.DataFrame


def type_rows(upload: Upload, *, default_year: int, served_markets: Set[str]) -> TypedRows:
    """Type the rows of an upload.

    `default_year` is the year of volumes that name none; `served_markets` are the codes that volumes may have.
    """
    main = _with_repeat_faults(_with_taken_codes(type_sheet(upload.main)))
    main, volumes = _with_volumes(main, default_year, served_markets)
    found = graphs.NO_GRAPHS if upload.parts is None else graphs.read_graphs(type_sheet(upload.parts))
    code = main.values["sku_code"]
    long = upload.source["layout"] == "long"  # only there a line that could not be read can have others of its SKU
    unread = {fault.sku_code for fault in upload.main.faults if fault.sku_code is not None} if long else set[str]()
    bad = _is_at(main.faults["at"], len(code)) | code.is_in(list(found.faulty | unread)).fill_null(value=False)
    values, given = (frame.filter(~bad) for frame in _main_frames(main, volumes))
    if upload.parts is not None:
        values, given = _with_graphs(values, given, code, found, upload.parts)
    values = values.with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64)).select(*_PLACE, pl.exclude(_PLACE))
    reports = [_error_rows(typed) for typed in (main, found.typed) if typed is not None]
    known = set(code.drop_nulls())
    without_row = sum(fault.sku_code not in unread & known for fault in main.sheet.faults)
    rejected = int(bad.sum()) + without_row + len(found.faulty - known) + found.nameless
    errors = pl.concat(reports)
    if upload.parts is not None and upload.parts.name == upload.main.name:
        errors = errors.sort("line", maintain_order=True)
    errors = errors.with_columns(pl.col("line") % LINES_OF_SHEET)
    return TypedRows(values, given, errors, rejected, _unnamed(main))


def _unnamed(main: TypedSheet) -> pl.DataFrame:
    """Return the rows with a fault and a code that give no name, except repeated lines: there an earlier one counts."""
    repeats = main.faults.filter(pl.col("code") == "duplicate_sku_code")["at"]
    height = main.sheet.table.height
    faulty = _is_at(main.faults["at"], height) & ~_is_at(repeats, height)
    column = next(column for column in main.sheet.columns if column.name == "name")
    place = None if column.constant is not None else letter(column.position)
    rows = pl.DataFrame({"line": main.sheet.table["line"], "sku_code": main.values["sku_code"]})
    found = rows.filter(faulty & ~main.given["name"] & rows["sku_code"].is_not_null())
    return found.with_columns(main.sheet.places(found["line"])).with_columns(column=pl.lit(place, pl.String))


def _main_frames(main: TypedSheet, volumes: pl.Series | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the values of the main sheet with their place, and which of them were given."""
    names = [column.name for column in main.sheet.columns if column.market is None and column.field not in SKU_HELPERS]
    values = pl.DataFrame([main.values[name].alias(name) for name in names])
    given = pl.DataFrame([main.given[name].alias(name) for name in names])
    if volumes is not None:
        values, given = values.with_columns(volumes=volumes), given.with_columns(volumes=volumes.is_not_null())
    return values.with_columns(main.sheet.places(main.sheet.table["line"])), given


def _is_at(at: pl.Series, height: int) -> pl.Series:
    """Return a boolean for each of `height` rows: whether it is among the positions."""
    return pl.repeat(value=False, n=height, eager=True).scatter(at.unique(), values=True)


def _with_taken_codes(main: TypedSheet) -> TypedSheet:
    """Add the faults of lines whose sku_code a line of the file that was sent first has."""
    if not main.sheet.taken:
        return main
    found = main.values["sku_code"].is_in(list(main.sheet.taken))
    return main.with_faults("sku_code", faults_where(found, "duplicate_sku_code", _TAKEN))


def _with_repeat_faults(main: TypedSheet) -> TypedSheet:
    """Add the faults of lines that repeat an earlier line's sku_code."""
    table = pl.DataFrame({"code": main.values["sku_code"], "line": main.sheet.table["line"]}).with_row_index("at")
    repeats = table.filter(pl.col("code").is_not_null() & ~pl.col("code").is_first_distinct())
    if not repeats.height:
        return main
    first = table.filter(pl.col("code").is_first_distinct()).select("code", first="line")
    found = repeats.join(first, on="code", how="left", maintain_order="left").select(
        "at", "first", code=pl.lit("duplicate_sku_code")
    )
    messages = [
        Message(
            "The same sku_code stands in line {line}, which counts; give each SKU one line, or another code.", line=line
        )
        for line in found["first"]
    ]
    found = found.drop("first").with_columns(message=pl.Series(map(to_json, messages), dtype=pl.String))
    return main.with_faults("sku_code", found)


def _with_volumes(main: TypedSheet, default_year: int, served_markets: Set[str]) -> tuple[TypedSheet, pl.Series | None]:
    """Return the sheet with the faults of volumes, and each row's volumes; None where no column contains volumes."""
    columns = [column for column in main.sheet.columns if column.market is not None]
    if not columns:
        return main, None
    height = main.sheet.table.height
    own = main.values.get(VOLUME_YEAR.name, pl.Series([None], dtype=pl.Int64).new_from_index(0, height))
    texts, faults = volume_texts(columns, main.values, main.given, own.fill_null(default_year), served_markets)
    for name, found in faults:
        main = main.with_faults(name, found)
    return main, texts


def _with_graphs(
    values: pl.DataFrame, given: pl.DataFrame, codes: pl.Series, found: graphs.Graphs, parts: Sheet
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Add their graphs to the rows, and a row for each SKU that only the components name."""
    texts = found.texts
    values = values.join(texts.select("sku_code", "components"), on="sku_code", how="left", maintain_order="left")
    given = given.with_columns(components=values["components"].is_not_null())
    alone = texts.filter(~pl.col("sku_code").is_in(codes.drop_nulls().unique().implode()))
    if alone.height:
        extra = alone.with_columns(parts.places(alone["line"]))
        values = pl.concat([values, extra.select("line", "sheet", "sku_code", "components")], how="diagonal")
        given_alone = alone.select("sku_code", "components").select(pl.all().is_not_null())
        given = pl.concat([given, given_alone], how="diagonal").fill_null(value=False)
    return values, given


def _error_rows(typed: TypedSheet) -> pl.DataFrame:
    """Return the report rows of a table, by its lines and then by column."""
    sheet = typed.sheet
    rows = [*_cell_error_rows(typed), *_line_error_rows(sheet)]
    rows.sort(key=lambda row: (row[1], row[-1]))
    return pl.DataFrame([row[:-1] for row in rows], schema=ERRORS, orient="row")


def _cell_error_rows(typed: TypedSheet) -> list[tuple[object, ...]]:
    sheet, table = typed.sheet, typed.sheet.table
    columns = {column.name: column for column in sheet.columns}
    lines, codes = table["line"], typed.values["sku_code"]
    reports: list[tuple[object, ...]] = []
    for at, code, text, name in typed.faults.iter_rows():
        message = sheet.told(from_json(text))
        column = columns.get(name)
        place = letter(column.position) if column and column.constant is None else None
        cell = table[name][at] if column else None
        shown_code = codes[at] if codes[at] is not None else _quotable(table["sku_code"][at])
        order = column.position if column else len(columns)
        template = stored_template(message)
        own = sheet.sheet_of(lines[at])
        reports.append((own, lines[at], shown_code, name, place, _quotable(cell), code, message, template, order))
    return reports


def _line_error_rows(sheet: Sheet) -> list[tuple[object, ...]]:
    reports: list[tuple[object, ...]] = []
    for fault in sheet.faults:
        message = sheet.told(fault.message)
        report = (fault.code, message, stored_template(message))
        reports.append(
            (sheet.sheet_of(fault.line), fault.line, fault.sku_code, None, None, _quotable(fault.value), *report, -1)
        )
    return reports


def _quotable(cell: str | None) -> str | None:
    """Return a cell as the report quotes it."""
    return cell if cell is None or len(cell) <= _LONGEST_VALUE else cell[:_LONGEST_VALUE] + "…"
