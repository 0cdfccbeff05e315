"""Opens untrusted Office packages: measures a zip's table of contents before loading it, and parses XML without DTDs.

Nothing that the file says of itself is trusted. `media.py` and `workbook/` read the parts.
"""

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pyexpat import ExpatError, ParserCreate
from typing import BinaryIO, Final, NoReturn

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
    depth = deepest = given = 0

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
                given += len(part)
                waiting = given - max(parser.CurrentByteIndex, 0)  # -1 means that nothing was found yet
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
