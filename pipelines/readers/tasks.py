"""Runs the tasks of a reader process: each reads an open file and returns its answer, texts and blobs of bytes.

`requests` is the parent's side, which sends a task and makes something of its answer.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, BinaryIO, Final, TypeAlias  # Any: the mapping, which is checked where the file is read

from compliance import ruleset
from compliance.catalogue import pinned
from pipelines.imports import rejections
from pipelines.imports.rejections import Edit, as_csv, as_workbook, rejected_tables
from pipelines.readers import requests
from pipelines.reading import unread
from pipelines.reading.grid import MOST_COLUMNS, NUMBER, check_width, refuse
from pipelines.reading.header import recognised_fields
from pipelines.reading.lines import example_word
from pipelines.reading.media import detect_media_type
from pipelines.reading.rows import type_rows
from pipelines.reading.upload import PackedUpload, Upload, read_upload
from pipelines.reading.workbook.cells import Workbook
from schemas.imports.types import ImportSource
from schemas.json_values import JsonObject
from schemas.messages import Message, as_typed, templates
from schemas.vocabularies import MEDIA_TYPES
from schemas.words import code_lists, market_named

Answer: TypeAlias = tuple[JsonObject, list[bytes]]
_NONE_REJECTED: Final = Message("The import has rejected no row.")
_HEADERS: Final = ("sku_code", "name", "weight_grams", "annual_volume_fr")


def table(source: BinaryIO, *, filename: str, today: str, **told: Any) -> Answer:
    """Return the tables of an import, packed for a worker; `told` is what else `read_upload` is told."""
    packed = PackedUpload.from_upload(read_upload(source.read(), filename, today=date.fromisoformat(today), **told))
    about = {"source": packed.source, "rows": packed.rows, "codes": packed.codes, "templates": templates(packed.source)}
    return about, [packed.table]


def rows(source: BinaryIO, *, default_year: int, served_markets: list[str]) -> Answer:
    """Return the typed rows of a table that was packed."""
    return _typed(Upload.from_bytes(source.read()), default_year, served_markets)


def table_and_rows(
    source: BinaryIO, *, filename: str, today: str, default_year: int, served_markets: list[str], **told: Any
) -> Answer:
    """Return a file's tables and typed rows; `told` as for `table`."""
    upload = read_upload(source.read(), filename, today=date.fromisoformat(today), **told)
    about, blobs = _typed(upload, default_year, served_markets)
    return about, [upload.to_bytes(), *blobs]


def kind(source: BinaryIO, *, declared: str | None) -> Answer:
    """Return the media type of a document; raises as `detect_media_type`."""
    own = next((media_type for media_type in MEDIA_TYPES if media_type.media_type == declared), None)
    return {"media_type": detect_media_type(source, own).media_type}, []


def rejected_rows(source: BinaryIO, *, offset: int, limit: int) -> Answer:
    """Return a page of the rejected rows of a file; `source` is a file with the import's report beside it."""
    about, [data] = requests.read(source)
    tables = rejected_tables(data, about["source"], about["report"], about["lang"], with_reasons=False)
    if not any(table.lines for table in tables):
        raise refuse("no_rows", _NONE_REJECTED)
    page, total = rejections.rows(tables, offset, limit), sum(len(table.lines) for table in tables)
    return {"headers": rejections.headers(tables), "rows": page, "total": total}, []


def corrected_file(
    source: BinaryIO,
    *,
    changes: list[JsonObject],
    form: str,
    with_reasons: bool,
    whole: bool,
    taken_codes: list[str],
) -> Answer:
    """Return the rejected rows, or the `whole` file, with these cells; `source` as for `rejected_rows`.

    Beside it are the codes that its rows may not have; `taken_codes` are those of the file that was corrected. Raises
    as `with_edits`.
    """
    about, [data] = requests.read(source)
    place: ImportSource = about["source"]
    report = about["report"]
    before = rejected_tables(data, place, report, about["lang"], with_reasons=with_reasons, whole=whole)
    if not any(table.lines for table in before):
        raise refuse("no_rows", _NONE_REJECTED)
    tables = rejections.with_edits(before, [Edit(**change) for change in changes])
    taken = taken_codes if whole else rejections.taken_codes(before, tables, place, report, taken_codes)
    if form == "csv" and len(tables) > 1:
        message = Message("The rejected rows have several sheets, which a CSV cannot have; choose xlsx.")
        raise refuse("invalid_format", message, "format")
    data = as_workbook(tables) if form == "xlsx" else as_csv(tables[0], place)
    return {"sheets": [table.name for table in tables], "taken_codes": taken}, [data]


def cells(source: BinaryIO, *, text_titles: Sequence[str] = ()) -> Answer:
    """Return the texts of all cells of a workbook's first sheet, row by row, and which of them are numbers.

    Columns of the `text_titles` have the text that a cell shows, such as `00123`. `further` are the names of the other
    visible sheets with a cell.
    """
    book = Workbook(source.read())
    if not book.sheets:
        raise refuse("no_rows", Message("The workbook has no sheet."))
    first, *others = book.sheets
    top = book.top(first, 1)
    titles = top.row(0) if len(top.lines) else []
    shown = {at for at, title in enumerate(titles) if title and as_typed(title) in text_titles}
    grid = book.whole(first, set(range(MOST_COLUMNS)) - shown)
    check_width(len(grid.cells.columns))
    assert grid.kinds is not None, "the cells of a workbook have kinds"
    numbers = [[kind == NUMBER for kind in row] for row in grid.kinds.iter_rows()]
    further = [sheet.name for sheet in others if not sheet.hidden and len(book.top(sheet, 1).lines)]
    return {"cells": grid.cells.rows(), "numbers": numbers, "further": further}, []


_ALL_TASKS: Final = (table, rows, table_and_rows, kind, rejected_rows, corrected_file, cells)
TASKS: Final[Mapping[str, Callable[..., Answer]]] = {task.__name__: task for task in _ALL_TASKS}


def load_words() -> None:
    """Read the rules, the catalogue and the words by which headers and values are known, as the first file does.

    It starts no thread.
    """
    ruleset.load()
    pinned()
    market_named("US CA")  # it may be a country with a part, or two countries: all lists of places are asked
    for field in unread.LISTED:
        code_lists(field)
    recognised_fields(_HEADERS)
    example_word()


def _typed(upload: Upload, default_year: int, served_markets: list[str]) -> Answer:
    typed = type_rows(upload, default_year=default_year, served_markets=frozenset(served_markets))
    blobs = []
    for frame in (typed.values, typed.presence, typed.errors, typed.unnamed):
        buffer = io.BytesIO()
        frame.write_ipc(buffer)
        blobs.append(buffer.getvalue())
    return {"rejected": typed.rejected}, blobs
