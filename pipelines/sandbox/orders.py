"""Defines the requests to a reader: the task, its file, and how the answer is read from the reader's file.

An answer comes from a process that has read hostile bytes: it is read as texts, numbers and tables, never executed.
The tasks themselves belong in `tasks`.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass
from datetime import date
from typing import Any, BinaryIO, Generic, TypeVar

from pipelines.reading import TypedRows, Upload
from pipelines.reading.packed import PackedUpload
from pipelines.sandbox import parcel
from pipelines.sandbox.limits import What
from schemas.messages import stored_message
from schemas.technical_files import MEDIA_TYPES, MediaType

T_co = TypeVar("T_co", covariant=True)

Source = bytes | Callable[[], BinaryIO]
"""The bytes, or a function that opens a file with them."""


@dataclass(frozen=True, slots=True)
class Order(Generic[T_co]):
    """One reading, whose answer is a `T_co`. A refusal names `what`, the expected kind of file."""

    task: str
    arguments: dict[str, Any]
    source: Source
    taken: Callable[[BinaryIO], T_co]
    what: What = "table"


def order_reading(
    data: bytes, filename: str, *, mapping: dict[str, object] | None, mapping_name: str | None, today: date
) -> Order[PackedUpload]:
    """Order `pipelines.reading.read_upload`, with its result packed for the worker."""
    parameters = {"filename": filename, "mapping": mapping, "mapping_name": mapping_name, "today": today.isoformat()}
    return Order("table", parameters, data, _packed_upload)


def order_typing(packed: Source, *, default_year: int, served_markets: Set[str]) -> Order[TypedRows]:
    """Order `pipelines.reading.type_rows` of a table that `order_reading` has packed."""
    return Order("rows", _of_markets(default_year, served_markets), packed, _typed_rows)


def order_preview(
    data: bytes, filename: str, *, default_year: int, served_markets: Set[str], today: date
) -> Order[tuple[Upload, TypedRows]]:
    """Order both together, for a file that is not stored."""
    parameters = _of_markets(default_year, served_markets) | {"filename": filename, "today": today.isoformat()}
    return Order("table_and_rows", parameters, data, _upload_and_rows)


def order_judging(source: Source, declared: MediaType | None) -> Order[MediaType]:
    """Order `pipelines.reading.media.judge` of a document."""
    parameters = {"declared": None if declared is None else declared.media_type}
    return Order("kind", parameters, source, _media_type, what="document")


def _of_markets(default_year: int, served_markets: Set[str]) -> dict[str, object]:
    return {"default_year": default_year, "served_markets": sorted(served_markets)}


def _packed_upload(file: BinaryIO) -> PackedUpload:
    about, [table] = parcel.read(file)
    source, templates = about["source"], about["templates"]
    for each, name in (
        *((each, "message") for each in source["asked"]),
        *((each, "reason") for each in source["skipped"]),
    ):
        each[name] = stored_message(each[name], templates)
    return PackedUpload(source, about["rows"], about["codes"], table)


def _typed_rows(file: BinaryIO) -> TypedRows:
    about, frames = parcel.read(file)
    return _of_frames(frames, about["rejected"])


def _upload_and_rows(file: BinaryIO) -> tuple[Upload, TypedRows]:
    about, [upload, *frames] = parcel.read(file)
    return Upload.from_bytes(upload), _of_frames(frames, about["rejected"])


def _of_frames(frames: list[bytes], rejected: int) -> TypedRows:
    values, given, errors, unnamed = map(parcel.unpack_table, frames)
    return TypedRows(values, given, errors, rejected, unnamed)


def _media_type(file: BinaryIO) -> MediaType:
    about, _ = parcel.read(file)
    return next(kind for kind in MEDIA_TYPES if kind.media_type == about["media_type"])
