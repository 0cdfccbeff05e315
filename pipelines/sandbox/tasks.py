"""Runs the tasks of a reader process: each reads an open file and writes its answer into another.

`requests` is the parent's side, which sends a task and reads the answer.
"""

import io
from collections.abc import Callable, Mapping
from datetime import date
from typing import BinaryIO, Final

from pipelines.reading import Upload, read_upload, type_rows
from pipelines.reading.media.detect import detect_media_type
from pipelines.reading.packed import PackedUpload
from pipelines.sandbox import answer_file
from schemas.messages import templates
from schemas.technical_files import MEDIA_TYPES

_SAMPLE: Final = b"sku_code,name,weight_grams,annual_volume_fr\nA-1,Bottle,12.5,100\n"


def table(
    source: BinaryIO,
    answer: BinaryIO,
    *,
    filename: str,
    mapping: dict[str, object] | None,
    mapping_name: str | None,
    today: str,
) -> None:
    """Write the tables of an import, packed for a worker; raises as `read_upload`."""
    day = date.fromisoformat(today)
    upload = read_upload(source.read(), filename, mapping=mapping, mapping_name=mapping_name, today=day)
    packed = PackedUpload.of(upload)
    about = {"source": packed.source, "rows": packed.rows, "codes": packed.codes, "templates": templates(packed.source)}
    answer_file.write(answer, about, [packed.table])


def rows(source: BinaryIO, answer: BinaryIO, *, default_year: int, served_markets: list[str]) -> None:
    """Write the typed rows of a table that was packed."""
    blobs, rejected = _typed(Upload.from_bytes(source.read()), default_year, served_markets)
    answer_file.write(answer, {"rejected": rejected}, blobs)


def table_and_rows(
    source: BinaryIO, answer: BinaryIO, *, filename: str, default_year: int, served_markets: list[str], today: str
) -> None:
    """Write a file's tables and typed rows; raises as `read_upload`."""
    upload = read_upload(source.read(), filename, today=date.fromisoformat(today))
    blobs, rejected = _typed(upload, default_year, served_markets)
    answer_file.write(answer, {"rejected": rejected}, [upload.to_bytes(), *blobs])


def kind(source: BinaryIO, answer: BinaryIO, *, declared: str | None) -> None:
    """Write the media type of a document; raises as `detect_media_type`."""
    found = detect_media_type(source, next((each for each in MEDIA_TYPES if each.media_type == declared), None))
    answer_file.write(answer, {"media_type": found.media_type}, [])


TASKS: Final[Mapping[str, Callable[..., None]]] = {task.__name__: task for task in (table, rows, table_and_rows, kind)}


def warm_up() -> None:
    """Read a small table, so that first-time work is done before a caller waits."""
    answer = io.BytesIO()
    table(io.BytesIO(_SAMPLE), answer, filename="a.csv", mapping=None, mapping_name=None, today="2026-01-01")
    _, [packed] = answer_file.read(answer)
    rows(io.BytesIO(packed), io.BytesIO(), default_year=2026, served_markets=["FR"])


def _typed(upload: Upload, default_year: int, served_markets: list[str]) -> tuple[list[bytes], int]:
    typed = type_rows(upload, default_year=default_year, served_markets=frozenset(served_markets))
    frames = (typed.values, typed.given, typed.errors, typed.unnamed)
    return [answer_file.pack_table(frame) for frame in frames], typed.rejected
