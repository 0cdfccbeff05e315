"""Reads a multipart body with one file as it arrives: passes on the file's bytes, and collects the text fields.

What belongs here: the form of such a body (RFC 7578) and its limits. What does not: the meaning of the fields
(`schemas.technical_file_form`), the storage of the bytes (`warehouse.objects`), their type
(`services.technical_files`).
"""

import hashlib
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final  # Any: fields of every kind
from uuid import UUID

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from api.bodies import limited_chunks, unreadable
from api.errors import TooLarge
from api.read_apart import Sender, read_apart
from api.service import service_of
from pipelines.sandbox.requests import detection_request
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import Unfit, shown
from schemas.refusals import Refused
from schemas.technical_file_form import FIELDS, declared_media_type, own_name, parse_fields
from schemas.technical_files import MAX_FILE_BYTES, MediaType

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

        Raise `Refused` and `TooLarge` as early as the fault is seen: at the latest when the
        body has ended, so that a consumer of the bytes has not finished storing them.
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
                Message("The body has two parts named {name}, or too many parts; send each once.", name=shown(name)),
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
