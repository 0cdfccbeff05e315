"""Defines the requests to a reader: the task, its file, and how the answer is read from the reader's file.

An answer comes from a process that has read hostile bytes: it is read as texts, numbers and tables, never executed.
The tasks themselves belong in `tasks`.
"""

import io
import json
from collections.abc import Callable, Sequence, Set
from dataclasses import asdict, dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Generic, Literal, NamedTuple, Self, TypeVar

import polars as pl

from pipelines.imports.rejections import Edit
from pipelines.reading.grid import ReadingRefused
from pipelines.reading.mapping import Words
from pipelines.reading.rows import TypedRows
from pipelines.reading.upload import PackedUpload, Upload
from schemas.imports.types import ImportRowError, ImportSource, RejectedHeader
from schemas.issues import Issue
from schemas.json_values import JsonObject
from schemas.messages import Message, stored_message
from schemas.vocabularies import MEDIA_TYPES, MediaType

if TYPE_CHECKING:
    from warehouse.operate.settings import Settings


Reason = Literal["processor", "time", "memory", "crash"]
"""The limit that a reading used up: CPU seconds, wall time, memory; or its process ended by itself twice."""

FileKind = Literal["table", "document"]

_REMEDIES: Final[dict[FileKind, Message]] = {
    "table": Message("Save the table anew, values alone, as CSV or .xlsx, or send it in parts."),
    "document": Message("Save the document anew, as PDF if you can, and send that."),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one reading: processor seconds of all its threads, seconds by the clock, MiB of private memory."""

    cpu_seconds: float = 20.0
    wall_seconds: float = 60.0
    memory_mib: int = 768

    @classmethod
    def from_settings(cls, settings: "Settings") -> Self:
        """Return the limits of a deployment."""
        return cls(settings.reader_cpu_seconds, settings.reader_wall_seconds, settings.reader_memory_mib)


class ReadingStopped(ReadingRefused):
    """Reading the file used up a limit; it is refused as `unreadable_file`."""

    def __init__(self, reason: Reason, limits: Limits, file_kind: FileKind) -> None:
        """Make the refusal; `file_kind`, the expected kind, decides the advice to its sender."""
        super().__init__([Issue("unreadable_file", _sentence(reason, limits, _REMEDIES[file_kind]))])
        self.reason = reason


def _sentence(reason: Reason, limits: Limits, remedy: Message) -> Message:
    seconds, wall, mib = f"{limits.cpu_seconds:g}", f"{limits.wall_seconds:g}", limits.memory_mib
    match reason:
        case "processor":
            return Message(
                "Reading the file took more than {seconds} seconds of computing and was stopped. {remedy}",
                seconds=seconds,
                remedy=remedy,
            )
        case "time":
            return Message(
                "Reading the file took more than {wall} seconds and was stopped. {remedy}", wall=wall, remedy=remedy
            )
        case "memory":
            return Message(
                "Reading the file took more than {mib} MiB of memory and was stopped. {remedy}", mib=mib, remedy=remedy
            )
        case "crash":
            return Message(
                "The program that reads files cannot go through this one to its end. {remedy}", remedy=remedy
            )


def write(file: BinaryIO, about: JsonObject, blobs: Sequence[bytes]) -> None:
    """Write the answer to an empty file."""
    file.write(json.dumps(about | {"sizes": [len(blob) for blob in blobs]}).encode() + b"\n")
    file.writelines(blobs)
    file.flush()


def read(file: BinaryIO) -> tuple[JsonObject, list[bytes]]:
    """Read the answer that `write` has written, from the file's beginning. Raises `ValueError` where it is none."""
    file.seek(0)
    about = json.loads(file.readline())
    blobs = [file.read(size) for size in about["sizes"]]
    if [len(blob) for blob in blobs] != about["sizes"]:
        raise ValueError("the answer is shorter than it says")
    return about, blobs


T_co = TypeVar("T_co", covariant=True)


class RejectedRows(NamedTuple):
    """A page of the rejected rows of all sheets, with the header of each; `total` counts the rows of all pages."""

    headers: list[RejectedHeader]
    rows: list[RejectedHeader]
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
    """One reading: a task of `tasks.py` with its arguments, which may be anything that JSON has.

    `read_answer` makes its answer, a `T_co`, of what the task returns. A refusal names `file_kind`, the expected kind
    of file.
    """

    task: str
    arguments: dict[str, Any]
    source: Source
    read_answer: Callable[[JsonObject, list[bytes]], T_co]
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
    """Request `pipelines.reading.upload.read_upload`, with its result packed for the worker."""
    parameters = {
        "filename": filename,
        "mapping": mapping,
        "mapping_name": mapping_name,
        "words": words,
        "taken_codes": list(taken_codes),
        "today": today.isoformat(),
    }

    def read_answer(about: JsonObject, blobs: list[bytes]) -> PackedUpload:
        source, templates = about["source"], about["templates"]
        for name, entries in (("message", source["asked"]), ("reason", source["skipped"])):
            for entry in entries:
                entry[name] = stored_message(entry[name], templates)
        return PackedUpload(source, about["rows"], about["codes"], blobs[0])

    return ReadRequest("table", parameters, data, read_answer)


def typing_request(packed: Source, *, default_year: int, served_markets: Set[str]) -> ReadRequest[TypedRows]:
    """Request `pipelines.reading.rows.type_rows` of a table that `reading_request` has packed."""
    parameters = {"default_year": default_year, "served_markets": sorted(served_markets)}
    return ReadRequest("rows", parameters, packed, _typed_rows)


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
    parameters = {
        "default_year": default_year,
        "served_markets": sorted(served_markets),
        "filename": filename,
        "mapping": mapping,
        "words": words,
        "today": today.isoformat(),
    }

    def read_answer(about: JsonObject, blobs: list[bytes]) -> tuple[Upload, TypedRows]:
        return Upload.from_bytes(blobs[0]), _typed_rows(about, blobs[1:])

    return ReadRequest("table_and_rows", parameters, data, read_answer)


def detection_request(source: Source, declared: MediaType | None) -> ReadRequest[MediaType]:
    """Request `pipelines.reading.media.detect_media_type` of a document."""
    parameters = {"declared": None if declared is None else declared.media_type}

    def read_answer(about: JsonObject, _: list[bytes]) -> MediaType:
        return next(kind for kind in MEDIA_TYPES if kind.media_type == about["media_type"])

    return ReadRequest("kind", parameters, source, read_answer, file_kind="document")


class Cells(NamedTuple):
    """The cells of a sheet, row by row, and which of them are numbers; the names of other sheets with a cell."""

    texts: list[list[str | None]]
    numbers: list[list[bool]]
    further: Sequence[str] = ()


def cells_request(data: bytes, *, text_titles: Sequence[str] = ()) -> ReadRequest[Cells]:
    """Request all cells of the first sheet of a small workbook; those of the `text_titles` as they are shown."""

    def read_answer(about: JsonObject, _: list[bytes]) -> Cells:
        return Cells(about["cells"], about["numbers"], about["further"])

    return ReadRequest("cells", {"text_titles": list(text_titles)}, data, read_answer)


def rejected_rows_request(
    data: bytes, source: ImportSource, report: Sequence[ImportRowError], *, lang: str, offset: int, limit: int
) -> ReadRequest[RejectedRows]:
    """Request a page of the rejected rows of an import, from its file, `source` and report in this language."""

    def read_answer(about: JsonObject, _: list[bytes]) -> RejectedRows:
        return RejectedRows(about["headers"], about["rows"], about["total"])

    beside = _with_report(data, source, report, lang)
    return ReadRequest("rejected_rows", {"offset": offset, "limit": limit}, beside, read_answer)


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

    def read_answer(about: JsonObject, blobs: list[bytes]) -> CorrectedFile:
        return CorrectedFile(blobs[0], about["sheets"], about["taken_codes"])

    return ReadRequest("corrected_file", parameters, _with_report(data, source, report, lang), read_answer)


def _with_report(data: bytes, source: ImportSource, report: Sequence[ImportRowError], lang: str) -> bytes:
    """Return a file for the reader with the report beside the data: it may be longer than a message."""
    packed = io.BytesIO()
    write(packed, {"source": source, "report": report, "lang": lang}, [data])
    return packed.getvalue()


def _typed_rows(about: JsonObject, blobs: list[bytes]) -> TypedRows:
    values, presence, errors, unnamed = (pl.read_ipc(io.BytesIO(blob)) for blob in blobs)
    return TypedRows(values, presence, errors, about["rejected"], unnamed)
