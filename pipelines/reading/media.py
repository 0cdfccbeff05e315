"""Decides which accepted media type a file's bytes have. The name is ignored; a declared type must agree.

A signature at the start decides for PDF and images. Word and Excel share their containers with other programs, so there
the container's own table of contents decides: the directory of a compound file, of .doc and .xls ([MS-CFB], sections
2.2 to 2.6), or the content types of an Office Open XML package (ECMA-376 Part 2, section 10.1.2).
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO, Final

import puremagic

from pipelines.reading.office import ZIP_ERRORS, local_name, open_zip, parse_xml
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
    if head.startswith(_OLE):
        found = _of_container("ole", ole_streams(file))
    elif head.startswith(_ZIP):
        found = _of_container("ooxml", main_types(file))
    else:
        found = _of_signature(head)
    if found is None:
        raise Unfit(
            "unsupported_media_type",
            Message("The file's bytes are none of the kinds that are taken: {taken}.", taken=TAKEN),
        )
    if declared not in {None, found}:
        assert declared is not None
        sentence = Message(
            "The file is declared as {declared}, but its bytes are {found}; "
            "declare what it is, or send it as application/octet-stream.",
            declared=declared.media_type,
            found=found.media_type,
        )
        raise Unfit("unsupported_media_type", sentence)
    return found


def _of_container(container: str, marks: set[str]) -> MediaType | None:
    return next((kind for kind in MEDIA_TYPES if kind.container == container and kind.marks & marks), None)


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
