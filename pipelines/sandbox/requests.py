"""Defines the requests to a reader: the task, its file, and how the answer is read from the reader's file.

An answer comes from a process that has read hostile bytes: it is read as texts, numbers and tables, never executed.
The tasks themselves belong in `tasks`.
"""

import io
from collections.abc import Callable, Sequence, Set
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, BinaryIO, Generic, Literal, NamedTuple, TypeVar  # Any: arguments of the function that is called

from pipelines.corrections import Edit, RejectedRow
from pipelines.reading import TypedRows, Upload
from pipelines.reading.named_fields import Words
from pipelines.reading.upload import PackedUpload
from pipelines.sandbox import answer_file
from pipelines.sandbox.limits import FileKind
from schemas.messages import stored_message
from schemas.report import ImportRowError, ImportSource
from schemas.technical_files import MEDIA_TYPES, MediaType

T_co = TypeVar("T_co", covariant=True)


class RejectedRows(NamedTuple):
    """A page of the rejected rows of all sheets, with the header of each; `total` counts the rows of all pages."""

    headers: list[RejectedRow]
    rows: list[RejectedRow]
    total: int


class CorrectedFile(NamedTuple):
    """A file of corrected rows, the names of its sheets (None for a text), and the codes that no row of it may have."""

    data: bytes
    sheets: list[str | None]
    taken_codes: list[str]


Source = bytes | Callable[[], BinaryIO]
"""The bytes, or a function that opens a file with them."""


@dataclass(frozen=True, slots=True)
class ReadRequest(Generic[T_co]):
    """One reading, whose answer is a `T_co`. A refusal names `file_kind`, the expected kind of file."""

    task: str
    arguments: dict[str, Any]
    source: Source
    read_answer: Callable[[BinaryIO], T_co]
    file_kind: FileKind = "table"


def reading_request(
    data: bytes,
    filename: str,
    *,
    mapping: dict[str, object] | None,
    mapping_name: str | None,
    words: Words,
    taken_codes: Sequence[str] = (),
    today: date,
) -> ReadRequest[PackedUpload]:
    """Request `pipelines.reading.read_upload`, with its result packed for the worker."""
    parameters = {
        "filename": filename,
        "mapping": mapping,
        "mapping_name": mapping_name,
        "words": words,
        "taken_codes": list(taken_codes),
        "today": today.isoformat(),
    }
    return ReadRequest("table", parameters, data, _packed_upload)


def typing_request(packed: Source, *, default_year: int, served_markets: Set[str]) -> ReadRequest[TypedRows]:
    """Request `pipelines.reading.type_rows` of a table that `reading_request` has packed."""
    return ReadRequest("rows", _of_markets(default_year, served_markets), packed, _typed_rows)


def preview_request(
    data: bytes,
    filename: str,
    *,
    mapping: dict[str, object] | None = None,
    default_year: int,
    served_markets: Set[str],
    words: Words,
    today: date,
) -> ReadRequest[tuple[Upload, TypedRows]]:
    """Request both together, for a file that is not stored."""
    parameters = _of_markets(default_year, served_markets) | {
        "filename": filename,
        "mapping": mapping,
        "words": words,
        "today": today.isoformat(),
    }
    return ReadRequest("table_and_rows", parameters, data, _upload_and_rows)


def detection_request(source: Source, declared: MediaType | None) -> ReadRequest[MediaType]:
    """Request `pipelines.reading.media.detect_media_type` of a document."""
    parameters = {"declared": None if declared is None else declared.media_type}
    return ReadRequest("kind", parameters, source, _media_type, file_kind="document")


def rejected_rows_request(
    data: bytes, source: ImportSource, report: Sequence[ImportRowError], *, lang: str, offset: int, limit: int
) -> ReadRequest[RejectedRows]:
    """Request a page of the rejected rows of an import, from its file, `source` and report in this language."""
    beside = _with_report(data, source, report, lang)
    return ReadRequest("rejected_rows", {"offset": offset, "limit": limit}, beside, _rejected_rows)


def corrected_file_request(
    data: bytes,
    source: ImportSource,
    report: Sequence[ImportRowError],
    *,
    lang: str,
    edits: Sequence[Edit],
    form: Literal["csv", "xlsx"],
    with_reasons: bool,
    whole: bool = False,
    taken_codes: Sequence[str] = (),
) -> ReadRequest[CorrectedFile]:
    """Request the rejected rows of an import as a file, with these cells changed, and the reasons behind them.

    With `whole` it has all rows of the file. `taken_codes` are those that no row of the import's own file may have.
    """
    parameters = {
        "changes": [asdict(edit) for edit in edits],
        "form": form,
        "with_reasons": with_reasons,
        "whole": whole,
        "taken_codes": list(taken_codes),
    }
    return ReadRequest("corrected_file", parameters, _with_report(data, source, report, lang), _corrected_file)


def _with_report(data: bytes, source: ImportSource, report: Sequence[ImportRowError], lang: str) -> bytes:
    """Return a file for the reader with the report beside the data: it may be longer than a message."""
    packed = io.BytesIO()
    answer_file.write(packed, {"source": source, "report": report, "lang": lang}, [data])
    return packed.getvalue()


def _of_markets(default_year: int, served_markets: Set[str]) -> dict[str, object]:
    return {"default_year": default_year, "served_markets": sorted(served_markets)}


def _packed_upload(file: BinaryIO) -> PackedUpload:
    about, [table] = answer_file.read(file)
    source, templates = about["source"], about["templates"]
    for each, name in (
        *((each, "message") for each in source["asked"]),
        *((each, "reason") for each in source["skipped"]),
    ):
        each[name] = stored_message(each[name], templates)
    return PackedUpload(source, about["rows"], about["codes"], table)


def _typed_rows(file: BinaryIO) -> TypedRows:
    about, frames = answer_file.read(file)
    return _of_frames(frames, about["rejected"])


def _upload_and_rows(file: BinaryIO) -> tuple[Upload, TypedRows]:
    about, [upload, *frames] = answer_file.read(file)
    return Upload.from_bytes(upload), _of_frames(frames, about["rejected"])


def _of_frames(frames: list[bytes], rejected: int) -> TypedRows:
    values, given, errors, unnamed = map(answer_file.unpack_table, frames)
    return TypedRows(values, given, errors, rejected, unnamed)


def _rejected_rows(file: BinaryIO) -> RejectedRows:
    about, _ = answer_file.read(file)
    return RejectedRows(about["headers"], about["rows"], about["total"])


def _corrected_file(file: BinaryIO) -> CorrectedFile:
    about, [data] = answer_file.read(file)
    return CorrectedFile(data, about["sheets"], about["taken_codes"])


def _media_type(file: BinaryIO) -> MediaType:
    about, _ = answer_file.read(file)
    return next(kind for kind in MEDIA_TYPES if kind.media_type == about["media_type"])
