"""Runs the tasks of a reader process: each reads an open file and writes its answer into another.

`requests` is the parent's side, which sends a task and reads the answer.
"""

import io
from collections.abc import Callable, Mapping
from datetime import date
from typing import BinaryIO, Final

from pipelines.imports import rejections
from pipelines.imports.rejections import Edit, as_csv, as_workbook, rejected_tables
from pipelines.readers import requests
from pipelines.reading.grid import refuse
from pipelines.reading.media import detect_media_type
from pipelines.reading.rows import type_rows
from pipelines.reading.upload import PackedUpload, Upload, read_upload
from schemas.imports.types import ImportSource
from schemas.json_values import JsonObject
from schemas.messages import Message, templates
from schemas.vocabularies import MEDIA_TYPES

_NONE_REJECTED: Final = Message("The import has rejected no row.")
_SAMPLE: Final = b"sku_code,name,weight_grams,annual_volume_fr\nA-1,Bottle,12.5,100\n"


def table(
    source: BinaryIO,
    answer: BinaryIO,
    *,
    filename: str,
    mapping: dict[str, object] | None,
    mapping_name: str | None,
    words: dict[str, dict[str, object]],
    taken_codes: list[str],
    today: str,
) -> None:
    """Write the tables of an import, packed for a worker; raises as `read_upload`."""
    upload = read_upload(
        source.read(),
        filename,
        mapping=mapping,
        mapping_name=mapping_name,
        words=words,
        taken_codes=taken_codes,
        today=date.fromisoformat(today),
    )
    packed = PackedUpload.of(upload)
    about = {"source": packed.source, "rows": packed.rows, "codes": packed.codes, "templates": templates(packed.source)}
    requests.write(answer, about, [packed.table])


def rows(source: BinaryIO, answer: BinaryIO, *, default_year: int, served_markets: list[str]) -> None:
    """Write the typed rows of a table that was packed."""
    blobs, rejected = _typed(Upload.from_bytes(source.read()), default_year, served_markets)
    requests.write(answer, {"rejected": rejected}, blobs)


def table_and_rows(
    source: BinaryIO,
    answer: BinaryIO,
    *,
    filename: str,
    mapping: dict[str, object] | None,
    default_year: int,
    served_markets: list[str],
    words: dict[str, dict[str, object]],
    today: str,
) -> None:
    """Write a file's tables and typed rows; raises as `read_upload`."""
    upload = read_upload(source.read(), filename, mapping=mapping, words=words, today=date.fromisoformat(today))
    blobs, rejected = _typed(upload, default_year, served_markets)
    requests.write(answer, {"rejected": rejected}, [upload.to_bytes(), *blobs])


def kind(source: BinaryIO, answer: BinaryIO, *, declared: str | None) -> None:
    """Write the media type of a document; raises as `detect_media_type`."""
    found = detect_media_type(source, next((each for each in MEDIA_TYPES if each.media_type == declared), None))
    requests.write(answer, {"media_type": found.media_type}, [])


def rejected_rows(source: BinaryIO, answer: BinaryIO, *, offset: int, limit: int) -> None:
    """Write a page of the rejected rows of a file; `source` is a file with the import's report beside it."""
    about, [data] = requests.read(source)
    tables = rejected_tables(data, about["source"], about["report"], about["lang"], with_reasons=False)
    if not any(table.lines for table in tables):
        raise refuse("no_rows", _NONE_REJECTED)
    total = sum(len(table.lines) for table in tables)
    about = {"headers": rejections.headers(tables), "rows": rejections.rows(tables, offset, limit), "total": total}
    requests.write(answer, about, [])


def corrected_file(
    source: BinaryIO,
    answer: BinaryIO,
    *,
    changes: list[JsonObject],
    form: str,
    with_reasons: bool,
    whole: bool,
    taken_codes: list[str],
) -> None:
    """Write the rejected rows, or the `whole` file, with these cells; `source` as for `rejected_rows`.

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
    requests.write(answer, {"sheets": [table.name for table in tables], "taken_codes": taken}, [data])


_ALL_TASKS: Final = (table, rows, table_and_rows, kind, rejected_rows, corrected_file)
TASKS: Final[Mapping[str, Callable[..., None]]] = {task.__name__: task for task in _ALL_TASKS}


def warm_up() -> None:
    """Read a small table, so that first-time work is done before a caller waits."""
    answer = io.BytesIO()
    plain: JsonObject = {"filename": "a.csv", "mapping": None, "mapping_name": None, "words": {}, "taken_codes": []}
    table(io.BytesIO(_SAMPLE), answer, today="2026-01-01", **plain)
    _, [packed] = requests.read(answer)
    rows(io.BytesIO(packed), io.BytesIO(), default_year=2026, served_markets=["FR"])


def _typed(upload: Upload, default_year: int, served_markets: list[str]) -> tuple[list[bytes], int]:
    typed = type_rows(upload, default_year=default_year, served_markets=frozenset(served_markets))
    frames = (typed.values, typed.given, typed.errors, typed.unnamed)
    return [requests.pack_table(frame) for frame in frames], typed.rejected
