"""Reads request bodies: counts bytes against a limit while they arrive, and parses JSON.

Nothing here knows the meaning of a field; the models are in `schemas.skus.inputs`. This module refuses bodies that are
not
JSON or larger than the operation accepts; no bytes make it fail.
"""

import codecs
import hashlib
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import (
    Any,  # Any: fields of every kind
    Final,
)
from uuid import UUID

import orjson
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from api.http.errors import Encoded, TooLarge
from api.http.service import Sender, read_apart, service_of
from pipelines.readers.requests import detection_request
from schemas import texts as texts_schemas
from schemas.actors import Origin
from schemas.addresses import behind, network_of
from schemas.files import FIELDS, MAX_FILE_BYTES, declared_media_type, own_name, parse_fields, visible
from schemas.imports.inputs import MAX_IMPORT_BYTES
from schemas.issues import Issue
from schemas.json_values import Json
from schemas.messages import Message
from schemas.normalise import Unfit, quote
from schemas.refusals import Refused
from schemas.vocabularies import MediaType

_JSON: Final = "application/json"
_OTHER_FORMAT: Final = re.compile(
    r"^(multipart|image|audio|video|font)/|xml|csv|html|yaml|pdf|zip|msgpack|protobuf|ms-excel|msword"
)
"""A type that names another format than JSON; a missing one, text/plain and a form's are read as JSON."""
_ESCAPED_COLON: Final = re.compile(rb"\\u003[aA]")

MAX_JSON_BYTES: Final = 2 * 2**20
"""Largest body of a SKU write, a batch or a volumes write (interface v1, Limits)."""

IMPORT_PARTS: Final = ("file", "dry_run", "mapping", "mapping_name", "archived")
"""The parts that a multipart import may have (decisions §§12 and 13)."""

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
    """Yield the body's chunks; raise `TooLarge` at once for an announced excess, else at the byte above the limit.

    Raise `Encoded` for a body with a content coding, which nothing here takes off.
    """
    coding = request.headers.get("content-encoding")
    if coding is not None and coding.strip().lower() not in ("", "identity"):
        raise Encoded
    if (content_length(request) or 0) > limit:
        raise TooLarge(limit)
    received = 0
    async for chunk in request.stream():
        received += len(chunk)
        if received > limit:
            raise TooLarge(limit)
        yield chunk


async def json_body(request: Request) -> Json:
    """Return the parsed JSON of a body; raise `Refused`, also where its type names another format, and `TooLarge`.

    No body is an object without members where the operation asks for none (`api.openapi.document.ask_for_body`).
    """
    kind = request.headers.get("content-type", _JSON)
    if kind != _JSON and _OTHER_FORMAT.search(kind.partition(";")[0].lower()):
        sentence = Message("{type} is not taken here; send JSON (application/json).", type=quote(kind))
        raise Refused([Issue("unsupported_media_type", sentence, "Content-Type")])
    body = b"".join([chunk async for chunk in limited_chunks(request, MAX_JSON_BYTES)])
    published = getattr(request.scope["route"], "openapi_extra", None) or {}  # none of a route outside of the document
    is_asked_for = published.get("requestBody", {}).get("required", True)
    return _parsed(body if body.strip() or is_asked_for else b"{}")


def _parsed(body: bytes) -> Json:
    """Parse the JSON of a body; a byte order mark before it is skipped (RFC 8259, section 8.1).

    The parser refuses NaN, invalid UTF-8, lone surrogates and excessive nesting as invalid JSON.
    """
    body = body.removeprefix(codecs.BOM_UTF8)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if not body.strip():
            raise unreadable(Message("The body is empty; send JSON.")) from None
        _check_utf8(body)
        where = Message("line {line}, column {column}", line=error.lineno, column=error.colno)
        if "infinity" in error.msg:  # valid JSON, which no double holds
            raise unreadable(
                Message("The number at {where} is larger than any that a field holds.", where=where)
            ) from None
        raise unreadable(Message("The body is no valid JSON (RFC 8259) at {where}.", where=where)) from None
    try:
        # Its limit is 254 levels: a value below it can be quoted in a refusal without recursing too deep.
        whole = orjson.dumps(value)
    except orjson.JSONEncodeError:
        raise unreadable(Message("The body is nested more deeply than any field of the contract.")) from None
    if body.count(b":") != whole.count(b":") or _ESCAPED_COLON.search(body):
        # each member has one colon, and a text keeps its own
        json.loads(body, object_pairs_hook=_once)
    return value


def _once(members: list[tuple[str, Json]]) -> dict[str, Json]:
    """Return an object of these members; raise `Refused` where two have one name (RFC 8259, section 4)."""
    whole = dict(members)
    if len(whole) < len(members):
        counts = Counter(name for name, _ in members)
        twice = next(name for name in counts if counts[name] > 1)
        raise unreadable(Message("The name {name} stands twice in one object; send it once.", name=quote(twice)))
    return whole


def _check_utf8(body: bytes) -> None:
    """Raise `Refused` with the place of the first byte that is no UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        before = body[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        where = Message("line {line}, column {column} (byte {byte})", line=line, column=column, byte=error.start)
        raise unreadable(Message("The body is not in UTF-8 at {where}.", where=where)) from None


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
    return Upload(data, _filename(filename), {})


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


async def form_with_file(
    request: Request, parts: Sequence[str] | None, *, pasted_bytes: int = 0
) -> tuple[dict[str, str], Upload | None]:
    """Return the text fields of a multipart body, and its part `file` where it has one.

    `parts` are those it may have; None allows every part.

    `pasted_bytes` are those that a text field may have which stands for a file. Raise `Refused` and `TooLarge`, as for
    an import.
    """
    limit = max(MAX_IMPORT_BYTES, pasted_bytes) + _MULTIPART_ALLOWANCE
    stream = limited_chunks(request, limit)
    text_bytes = limit if pasted_bytes else MultiPartParser.max_part_size
    parser = _Parser(request.headers, stream, max_files=1, max_fields=16, max_part_size=text_bytes)
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


async def _sent(form: FormData, parts: Sequence[str] | None) -> tuple[dict[str, str], Upload | None]:
    names = [name for name, _ in form.multi_items()]
    if parts is not None:
        refuse_unknown(names, parts, Message("part"))
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise unreadable(Message("The body has two parts named {name}; send each once.", name=quote(twice)), twice)
    file = form.get("file")
    fields = {name: value for name, value in form.items() if isinstance(value, str)}
    if not isinstance(file, UploadFile):
        return fields, None
    if (file.size or 0) > MAX_IMPORT_BYTES:
        raise TooLarge(MAX_IMPORT_BYTES)
    return fields, Upload(await file.read(), _filename(file.filename or ""), fields)


def _filename(filename: str) -> str:
    if texts_schemas.control_in(filename) or len(filename) > 255:
        raise unreadable(Message("The file name is at most 255 characters, without control characters."), "filename")
    return visible(texts_schemas.code(filename))


def refuse_unknown(names: Iterable[str], allowed: Sequence[str], what: Message) -> None:
    """Refuse a part or a parameter that an import does not have: the sender expects an effect of it."""
    issues = [
        Issue(
            "unknown_field",
            Message(
                "An import has no {what} {name}; it has {known}.", what=what, name=quote(name), known=", ".join(allowed)
            ),
            name,
        )
        for name in dict.fromkeys(names)
        if name not in allowed
    ]
    if issues:
        raise Refused(issues)


def unreadable(message: Message, field: str | None = None) -> Refused:
    """Return the refusal of a body or parameter that is malformed."""
    return Refused([Issue("invalid_format", message, field)])


def _missing(field: str, message: Message) -> Refused:
    return Refused([Issue("required", message, field)])


_ALLOWANCE_BYTES: Final = 64 * 2**10
"""Bytes that part headers and text fields may add to a file of the full size."""
_MOST_PARTS: Final = 16
_MOST_FIELD_BYTES: Final = 16 * 2**10
_MOST_BESIDE: Final = 1_000
_MOST_BYTES: Final = {False: MAX_FILE_BYTES + _ALLOWANCE_BYTES, True: 3 * MAX_FILE_BYTES}
"""Largest body. One with an answer is read to its end when the file is too large, so that the answer is not lost."""


class FileForm:
    """One upload as it arrives. Read `file()` to its end; then all other fields are known."""

    def __init__(self, request: Request, *, answering: bool = False) -> None:
        """With `answering` the file is a part of a form with other fields, which are kept whatever the file is."""
        self.fields: dict[str, Any] = {}
        """The text fields as they are stored; an omitted or empty one is null."""
        self.filename = ""
        self.declared: MediaType | None = None
        self.size_bytes = 0
        self._answering = answering
        self._beside: list[tuple[str, bytearray]] = []
        self._fault: Refused | TooLarge | None = None  # of an answer's file, raised when the answer is read
        self._request = request
        self._digest = hashlib.sha256()
        self._texts: dict[str, bytearray] = {}
        self._headers: dict[str, str] = {}
        self._header_name, self._header_value = bytearray(), bytearray()
        self._field: bytearray | None = None  # of the current part; None while that is the file
        self._file_seen = self._closed = False
        self._pending: list[bytes] = []

    @property
    def sha256(self) -> str:
        """SHA-256 of the file's bytes so far, hexadecimal."""
        return self._digest.hexdigest()

    @property
    def beside(self) -> list[tuple[str, str]]:
        """The other fields of an answer as far as they were read, in their order; a name may repeat."""
        return [(name, data.decode(errors="replace")) for name, data in self._beside]

    @property
    def typed(self) -> list[tuple[str, str]]:
        """The text fields as they were typed, so that a form is shown again with them; not yet checked."""
        return [(name, data.decode(errors="replace")) for name, data in self._texts.items()]

    async def file(self) -> AsyncIterator[bytes]:
        """Yield the file's bytes as they arrive. End with the body.

        Raise `Refused` and `TooLarge` as early as the fault is seen: at the latest when the body has ended, so that a
        consumer of the bytes has not finished storing them.
        """
        parser = self._parser()
        async for chunk in limited_chunks(self._request, _MOST_BYTES[self._answering]):
            try:
                parser.write(chunk)
            except FormParserError as error:
                raise unreadable(Message("The body is no valid multipart/form-data: {why}", why=error)) from None
            pieces, self._pending = self._pending, []
            for piece in pieces:
                yield piece
        self._finish()

    def _parser(self) -> MultipartParser:
        kind, options = parse_options_header(self._request.headers.get("content-type"))
        if kind != b"multipart/form-data" or not options.get(b"boundary"):
            raise unreadable(Message("Send multipart/form-data with its boundary: a part file, and a field type."))
        try:
            return MultipartParser(
                options[b"boundary"],
                {
                    "on_header_field": self._on_header_field,
                    "on_header_value": self._on_header_value,
                    "on_header_end": self._on_header_end,
                    "on_headers_finished": self._on_headers_finished,
                    "on_part_data": self._on_part_data,
                    "on_part_end": self._on_part_end,
                    "on_end": self._on_end,
                },
            )
        except FormParserError as error:
            raise unreadable(Message("The body is no valid multipart/form-data: {why}", why=error)) from None

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def _on_header_end(self) -> None:
        self._headers[self._header_name.decode("latin-1").lower()] = self._header_value.decode("latin-1")
        self._header_name, self._header_value = bytearray(), bytearray()

    def _on_headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get("content-disposition"))
        content_type, self._headers = self._headers.get("content-type", ""), {}
        if b"name" not in options:
            raise unreadable(Message("Each part of the body needs a Content-Disposition with a name."))
        name = _text(options[b"name"])
        if self._answering and b"filename" not in options and name not in FIELDS:
            self._begin_beside(name)
            return
        if name in self._texts or (name == "file" and self._file_seen) or len(self._texts) == _MOST_PARTS:
            raise unreadable(
                Message("The body has two parts named {name}, or too many parts; send each once.", name=quote(name)),
                name,
            )
        if b"filename" in options:
            self._begin_file(name, _text(options[b"filename"]), content_type)
        else:
            self._field = self._texts[name] = bytearray()

    def _begin_beside(self, name: str) -> None:
        if len(self._beside) == _MOST_BESIDE:
            raise unreadable(Message("The body has more than {most} fields; send fewer.", most=_MOST_BESIDE))
        self._field = bytearray()
        self._beside.append((name, self._field))

    def _begin_file(self, name: str, filename: str, content_type: str) -> None:
        if name != "file":
            raise Refused(
                [Issue("unknown_field", Message("The file is the part named file; no other is taken."), name)]
            )
        self._field, self._file_seen = None, True
        try:
            self.filename, self.declared = own_name(filename), declared_media_type(content_type)
        except Unfit as unfit:
            self._refuse(refusal_of_file(unfit))

    def _refuse(self, fault: Refused | TooLarge) -> None:
        """Raise the fault now, or for an answer once the rest of it is read."""
        if not self._answering:
            raise fault
        self._fault = self._fault or fault

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        piece = data[start:end]
        if self._field is None:
            self.size_bytes += len(piece)
            if self.size_bytes > MAX_FILE_BYTES:
                self._refuse(TooLarge(MAX_FILE_BYTES))
            if self._fault is None:
                self._digest.update(piece)
                self._pending.append(piece)
        else:
            self._field += piece
            if len(self._field) > _MOST_FIELD_BYTES:
                raise Refused(
                    [Issue("too_long", Message("A text field has at most {most} bytes.", most=_MOST_FIELD_BYTES))]
                )

    def _on_part_end(self) -> None:
        self._field = None

    def _on_end(self) -> None:
        self._closed = True

    def _finish(self) -> None:
        if not self._closed:
            raise unreadable(Message("The multipart body ends before its closing boundary."))
        if self._fault is not None:
            raise self._fault
        issues: list[Issue] = []
        if not self._file_seen:
            issues.append(Issue("required", Message("The body needs a part named file, with a filename."), "file"))
        elif self.size_bytes == 0:
            issues.append(Issue("too_short", Message("The file has no bytes; send the document itself."), "file"))
        texts = {}
        for name, data in self._texts.items():
            try:
                texts[name] = data.decode()
            except UnicodeDecodeError:
                issues.append(Issue("invalid_format", Message("The text is not in UTF-8."), name))
        self.fields, faults = parse_fields(texts)
        issues += [fault for fault in faults if fault.field not in {issue.field for issue in issues}]
        if issues:
            raise Refused(issues)


async def judge_file(request: Request, company_id: UUID, sender: Sender, object_key: str, form: FileForm) -> MediaType:
    """Return the media type of the bytes stored under a key. Raise `Refused` and what `read_apart` raises."""
    order = detection_request(partial(service_of(request).objects.file, object_key), form.declared)
    try:
        return await read_apart(request, company_id, sender, order, field="file")
    except Unfit as unfit:
        raise refusal_of_file(unfit) from None


def refusal_of_file(unfit: Unfit) -> Refused:
    """Return the refusal of the part file."""
    return Refused([Issue(unfit.code, unfit.message, "file")])


def _text(value: bytes) -> str:
    """Decode a name in a part's header; old programs send other encodings than UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


_LONGEST_AGENT: Final = 500


def client_address(request: Request) -> str | None:
    """Return the address of the request's sender, seen through the proxies that the operator trusts."""
    peer, forwarded = request.client.host if request.client else "", request.headers.get("x-forwarded-for", "")
    return behind(peer, forwarded, service_of(request).settings.trusted_proxies)


def client_network(request: Request) -> str:
    """Return the network that an address limit counts: an IPv4 address, or 64 bits of IPv6 (RFC 4291, 2.5.4)."""
    return network_of(client_address(request) or "unknown")


def origin_of_actor(request: Request, actor_type: str, actor_id: str, actor_name: str | None) -> Origin:
    """Return the audit ledger's origin of a request by an actor of any type."""
    agent = request.headers.get("user-agent")
    return Origin(
        actor_type=actor_type,
        actor_id=actor_id,
        actor_name=actor_name,
        correlation_id=request.state.correlation_id,
        ip=client_address(request),
        user_agent=agent[:_LONGEST_AGENT] if agent else None,
    )
