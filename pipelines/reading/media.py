"""Decides which accepted media type a file's bytes have. The name is ignored; a declared type must agree.

A signature at the start decides for PDF and images. Word and Excel share their containers with other programs, so there
the container's own table of contents decides: the directory of a compound file, of .doc and .xls ([MS-CFB], sections
2.2 to 2.6), or the content types of an Office Open XML package (ECMA-376 Part 2, section 10.1.2).

Packages are untrusted: a zip's table of contents is measured before it is loaded, and XML is parsed without DTDs.
Nothing that the file says of itself is believed. `workbook/` reads the parts.
"""

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pyexpat import ExpatError, ParserCreate
from typing import BinaryIO, Final, NoReturn

import puremagic

from schemas.messages import Message
from schemas.normalise import Unfit
from schemas.vocabularies import MEDIA_TYPES, TAKEN, MediaType

_HEAD_BYTES: Final = 4096
_OLE: Final = bytes.fromhex("d0cf11e0a1b11ae1")
_ZIP: Final = b"PK\x03\x04"


def detect_media_type(file: BinaryIO, declared: MediaType | None) -> MediaType:
    """Return the media type of the bytes.

    Raises `Unfit` (`unsupported_media_type`) for a type that is not accepted, or is not the declared one.
    """
    head = file.read(_HEAD_BYTES)
    if head.startswith((_OLE, _ZIP)):
        container, marks = ("ole", ole_streams(file)) if head.startswith(_OLE) else ("ooxml", main_types(file))
        media_type = next((kind for kind in MEDIA_TYPES if kind.container == container and kind.marks & marks), None)
    else:
        media_type = _of_signature(head)
    if media_type is None:
        raise Unfit(
            "unsupported_media_type",
            Message("The file's bytes are none of the kinds that are taken: {taken}.", taken=TAKEN),
        )
    if declared not in {None, media_type}:
        assert declared is not None
        sentence = Message(
            "The file is declared as {declared}, but its bytes are {found}; "
            "declare what it is, or send it as application/octet-stream.",
            declared=declared.media_type,
            found=media_type.media_type,
        )
        raise Unfit("unsupported_media_type", sentence)
    return media_type


def _of_signature(head: bytes) -> MediaType | None:
    try:
        types = {match.mime_type for match in puremagic.magic_string(head)}
    except (puremagic.PureError, ValueError):  # an unknown signature, or no bytes
        return None
    return next((kind for kind in MEDIA_TYPES if not kind.container and kind.media_type in types), None)


_MOST_SECTORS: Final = 256
_ENTRY_BYTES: Final = 128
_NAME_BYTES: Final = 64
_HEADER_FAT_SECTORS: Final = 109
_LAST: Final = 0xFFFFFFFA  # a larger sector number is a mark, such as the end of a chain


def ole_streams(file: BinaryIO) -> set[str]:
    """Return the names of streams and storages; of a damaged file only those before the damage.

    Reading ends after `_MOST_SECTORS` sectors, and a sector outside the file gives no names. A document protected by a
    password is such a container too, without the streams of Word or Excel.
    """
    names: set[str] = set()
    for sector in _directory(file):
        for start in range(0, len(sector) - _ENTRY_BYTES + 1, _ENTRY_BYTES):
            name, length = struct.unpack_from(f"<{_NAME_BYTES}sH", sector, start)
            if 2 <= length <= _NAME_BYTES:
                names.add(name[: length - 2].decode("utf-16-le", "replace"))
    return names


def _directory(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    header = file.read(512)
    if len(header) < 512:
        return
    (shift,) = struct.unpack_from("<H", header, 30)
    if shift not in {9, 12}:  # sectors of 512 bytes in version 3, of 4096 in version 4
        return
    size = 1 << shift
    fat = struct.unpack_from(f"<{_HEADER_FAT_SECTORS}I", header, 76)
    (sector,) = struct.unpack_from("<I", header, 48)
    for _ in range(_MOST_SECTORS):
        if sector > _LAST:
            return
        yield _sector(file, sector, size)
        sector = _next(file, sector, size, fat)


def _next(file: BinaryIO, sector: int, size: int, fat: tuple[int, ...]) -> int:
    """Return the next sector of a chain; the end mark where the header's allocation table does not list it."""
    number, entry = divmod(sector, size // 4)
    if number >= len(fat) or fat[number] > _LAST:
        return _LAST + 1
    table = _sector(file, fat[number], size)
    return int(struct.unpack_from("<I", table, entry * 4)[0]) if len(table) == size else _LAST + 1


def _sector(file: BinaryIO, number: int, size: int) -> bytes:
    file.seek((number + 1) * size)
    return file.read(size)


_CONTENTS: Final = "[Content_Types].xml"
_MOST_CONTENTS_BYTES: Final = 2**20
"""A document's list of types has some kilobytes."""


def main_types(file: BinaryIO) -> set[str]:
    """Return the declared types of parts; none where the file is no such package, or its list is too long."""
    types: set[str] = set()

    def start(name: str, attributes: dict[str, str]) -> None:
        if local_name(name) == "Override":
            types.add(attributes.get("ContentType", ""))

    try:
        with open_zip(file) as package, package.open(_CONTENTS) as part:
            content = part.read(_MOST_CONTENTS_BYTES + 1)
        if len(content) > _MOST_CONTENTS_BYTES:
            return set()
        parse_xml([content], start)
    except ZIP_ERRORS:  # includes NoXmlError, which is a ValueError
        return set()
    return types


ZIP_ERRORS: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    ValueError,
    RuntimeError,
)
"""Errors that zipfile and zlib raise for damaged, truncated, encrypted or unusually packed archives."""

_MOST_PARTS: Final = 10_000
_MOST_DIRECTORY_BYTES: Final = 2**20
_MOST_COMMENT_BYTES: Final = 2**16
_PACKED: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""Methods that a package may use (ECMA-376 Part 2, section 8.2.3.6); others reserve the memory that a file asks for."""
_END, _END_BYTES = b"PK\x05\x06", 22
_LOCATOR, _LOCATOR_BYTES = b"PK\x06\x07", 20
_END_64, _END_64_BYTES = b"PK\x06\x06", 56

_PROLOG_PIECE: Final = 16 * 1024
"""Bytes of one piece before the root element: the parser finishes a piece even after a refusal."""
_LONGEST_PROLOG: Final = 2**20
_MOST_DEPTH: Final = 256
"""Deepest nesting of elements, each of which the parser keeps in memory until it ends; a sheet has seven levels."""
_LONGEST_TOKEN: Final = 4 * 2**20
"""Bytes of one tag or comment: the parser scans a token again with every piece until it has its end."""


class NoXmlError(ValueError):
    """The bytes are no XML, or no XML of a document's part."""


class DocumentTypeError(NoXmlError):
    """The XML declares a document type, which no part of a document needs."""


def open_zip(file: BinaryIO) -> zipfile.ZipFile:
    """Open the archive. Raises one of `ZIP_ERRORS` where it is none, or has more parts than a document has."""
    parts, directory_bytes = _directory_size(file)
    if parts > _MOST_PARTS or directory_bytes > _MOST_DIRECTORY_BYTES:
        raise zipfile.BadZipFile("its table of contents is larger than that of any document")
    archive = zipfile.ZipFile(file)
    if any(info.compress_type not in _PACKED for info in archive.infolist()):
        raise NotImplementedError("a part is packed in a way that documents are not")
    return archive


def _directory_size(file: BinaryIO) -> tuple[int, int]:
    """Return parts and bytes of the table of contents, from the record that zipfile uses: the 64-bit one if any."""
    length = file.seek(0, 2)
    file.seek(max(0, length - _END_BYTES - _MOST_COMMENT_BYTES - _LOCATOR_BYTES - _END_64_BYTES))
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_BYTES:
        raise zipfile.BadZipFile("it has no table of contents")
    wide = at - _LOCATOR_BYTES - _END_64_BYTES
    if wide >= 0 and tail[at - _LOCATOR_BYTES :].startswith(_LOCATOR) and tail[wide:].startswith(_END_64):
        parts, directory_bytes = struct.unpack_from("<QQ", tail, wide + 32)
    else:
        parts, directory_bytes = struct.unpack_from("<HI", tail, at + 10)
    return int(parts), int(directory_bytes)


def parse_xml(
    pieces: Iterable[bytes],
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] | None = None,
    text: Callable[[str], None] | None = None,
    *,
    until: Callable[[], bool] = lambda: False,
) -> None:
    """Pass the elements and texts of a part to the handlers, names as they are written, with their prefix.

    Ends early once `until` is true after a piece. Raises `NoXmlError`, also for a `ValueError` of a handler, and
    `DocumentTypeError` wherever the declaration is and whatever the encoding: no entity is ever declared.
    """
    parser = ParserCreate()
    parser.buffer_text = True
    depth = deepest = size = 0

    def enter(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, deepest
        depth += 1
        if depth > deepest:
            deepest = depth
            if depth > _MOST_DEPTH:
                raise NoXmlError("its elements stand within each other deeper than any document's")
        start(name, attributes)

    def leave(name: str) -> None:
        nonlocal depth
        depth -= 1
        if end is not None:
            end(name)

    parser.StartDoctypeDeclHandler = _refuse_document_type
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = enter, leave, text
    try:
        for piece in pieces:
            for part in [piece] if deepest else _split_small(piece):
                parser.Parse(part, False)
                size += len(part)
                waiting = size - max(parser.CurrentByteIndex, 0)  # -1 means that nothing was found yet
                if waiting > (_LONGEST_TOKEN if deepest else _LONGEST_PROLOG):
                    raise NoXmlError("one of its tags is longer than any document's")
            if until():
                return
        parser.Parse(b"", True)
    except NoXmlError:
        raise
    except (ExpatError, LookupError, ValueError) as error:  # an unknown encoding raises LookupError
        raise NoXmlError(str(error)) from None


def _split_small(piece: bytes) -> Iterator[bytes]:
    return (piece[at : at + _PROLOG_PIECE] for at in range(0, len(piece), _PROLOG_PIECE))


def _refuse_document_type(*_: object) -> NoReturn:
    raise DocumentTypeError("it declares a document type")


def local_name(name: str) -> str:
    """Return a name without its prefix: transitional and strict workbooks differ only there."""
    return name.rpartition(":")[2]
