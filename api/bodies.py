"""Reads request bodies: counts bytes against a limit while they arrive, and parses JSON.

Nothing here knows the meaning of a field; the models are in `schemas.models`. This module refuses bodies that are not
JSON or larger than the operation accepts; no bytes make it fail.
"""

import hashlib
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import orjson
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from api.errors import TooLarge
from schemas import texts
from schemas.issues import Issue
from schemas.json_values import Json
from schemas.messages import Message
from schemas.normalise import shown
from schemas.refusals import Refused
from schemas.technical_file_form import visible

MAX_JSON_BYTES: Final = 2 * 2**20
"""Largest body of a SKU write, a batch or a volumes write (interface v1, Limits)."""

IMPORT_PARTS: Final = ("file", "dry_run", "mapping", "mapping_name", "archived")
"""The parts that a multipart import may have (decisions §§12 and 13)."""

MAX_IMPORT_BYTES: Final = 10 * 2**20
"""Largest import file (interface v1, Limits)."""

_MULTIPART_ALLOWANCE: Final = 64 * 2**10
"""Bytes that part headers and the mapping may add to a file of the full size."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as it was sent, and the text fields sent with it."""

    data: bytes
    filename: str
    fields: dict[str, str]


def content_length(request: Request) -> int | None:
    """Return the number of bytes in Content-Length, None without the header; an absurd value exceeds every limit."""
    length = request.headers.get("content-length", "")
    return int(length[:20]) if length.isdecimal() else None


async def limited_chunks(request: Request, limit: int) -> AsyncGenerator[bytes, None]:
    """Yield the body's chunks; raise `TooLarge` at once for an announced excess, else at the byte above the limit."""
    if (content_length(request) or 0) > limit:
        raise TooLarge(limit)
    received = 0
    async for chunk in request.stream():
        received += len(chunk)
        if received > limit:
            raise TooLarge(limit)
        yield chunk


async def json_body(request: Request) -> Json:
    """Return the parsed JSON of a body, whatever its content type; raise `Refused` and `TooLarge`."""
    return _parsed(b"".join([chunk async for chunk in limited_chunks(request, MAX_JSON_BYTES)]))


def _parsed(body: bytes) -> Json:
    """Parse the JSON of a body.

    The parser refuses NaN, invalid UTF-8, lone surrogates and excessive nesting as invalid JSON.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise unreadable(
            Message("The body is no valid JSON (RFC 8259) at {where}: {why}.", where=where, why=error.msg)
        ) from None
    try:
        orjson.dumps(
            value
        )  # its limit is 254 levels: a value below it can be quoted in a refusal without recursing too deep
    except orjson.JSONEncodeError:
        raise unreadable(Message("The body is nested more deeply than any field of the contract.")) from None
    return value


def fingerprint(meaning: Json) -> bytes:
    """Return the SHA-256 of a request's meaning as JSON: equal for bodies that differ only in white space or key order.

    A file is included by its own hash. A multipart boundary does not belong in it, nor a header.
    """
    return hashlib.sha256(orjson.dumps(meaning, option=orjson.OPT_SORT_KEYS)).digest()


async def upload(request: Request, filename: str | None) -> Upload:
    """Return the file of an import: the `file` part of a multipart body, or the raw body with `filename`."""
    if request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        return await _multipart(request)
    if not filename:
        raise _missing(
            "filename", Message("A raw body needs ?filename=NAME.csv or NAME.xlsx; or send multipart/form-data.")
        )
    data = b"".join([chunk async for chunk in limited_chunks(request, MAX_IMPORT_BYTES)])
    return Upload(data, _named(filename), {})


class _Parser(MultiPartParser):
    """Records whether the closing boundary came: the framework accepts a truncated body as complete."""

    closed = False

    def on_end(self) -> None:
        self.closed = True


async def _multipart(request: Request) -> Upload:
    fields, file = await form_with_file(request, IMPORT_PARTS)
    if file is None:
        raise _missing("file", Message("A multipart body needs a part named file, with a filename."))
    return Upload(file.data, file.filename, fields)


async def form_with_file(request: Request, parts: Sequence[str]) -> tuple[dict[str, str], Upload | None]:
    """Return the text fields of a multipart body, and its part `file` where it has one; `parts` are those it may have.

    Raise `Refused` and `TooLarge`, as for an import.
    """
    stream = limited_chunks(request, MAX_IMPORT_BYTES + _MULTIPART_ALLOWANCE)
    parser = _Parser(request.headers, stream, max_files=1, max_fields=16)
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise unreadable(Message("The body is no valid multipart/form-data: {why}", why=error.message)) from None
    try:
        if not parser.closed:
            raise unreadable(Message("The multipart body ends before its closing boundary."))
        return await _sent(form, parts)
    finally:
        await form.close()


async def _sent(form: FormData, parts: Sequence[str]) -> tuple[dict[str, str], Upload | None]:
    names = [name for name, _ in form.multi_items()]
    refuse_unknown(names, parts, Message("part"))
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise unreadable(Message("The body has two parts named {name}; send each once.", name=shown(twice)), twice)
    file = form.get("file")
    fields = {name: value for name, value in form.items() if isinstance(value, str)}
    if not isinstance(file, UploadFile):
        return fields, None
    if (file.size or 0) > MAX_IMPORT_BYTES:
        raise TooLarge(MAX_IMPORT_BYTES)
    return fields, Upload(await file.read(), _named(file.filename or ""), fields)


def _named(filename: str) -> str:
    if texts.control_in(filename) or len(filename) > 255:
        raise unreadable(Message("The file name is at most 255 characters, without control characters."), "filename")
    return visible(texts.code(filename))


def refuse_unknown(names: Iterable[str], known: Sequence[str], what: Message) -> None:
    """Refuse a part or a parameter that an import does not have: the sender expects an effect of it."""
    issues = [
        Issue(
            "unknown_field",
            Message(
                "An import has no {what} {name}; it has {known}.", what=what, name=shown(name), known=", ".join(known)
            ),
            name,
        )
        for name in dict.fromkeys(names)
        if name not in known
    ]
    if issues:
        raise Refused(issues)


def unreadable(message: Message, field: str | None = None) -> Refused:
    """Return the refusal of a body or parameter that is malformed."""
    return Refused([Issue("invalid_format", message, field)])


def _missing(field: str, message: Message) -> Refused:
    return Refused([Issue("required", message, field)])
