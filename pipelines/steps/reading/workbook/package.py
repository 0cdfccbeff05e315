"""A workbook as a zip of XML parts, read with bounds: what it declares is not believed.

Every part is inflated in pieces, and all pieces together may hold `MOST_BYTES`. No part may have a document type
declaration, so that no entity is ever expanded. What the parts mean is `book.py`, `styles.py`, `strings.py` and
`cells.py`.
"""

import io
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections.abc import Iterator

from pipelines.steps.reading.refusal import ReadingRefused, refuse

MOST_BYTES = 300 * 1024 * 1024
"""Inflated size of all parts read. A workbook of 10 MiB with 50 000 rows of 25 columns has 60 MiB."""
_MOST_PARTS = 5_000
_LARGEST_TREE = 16 * 1024 * 1024
"""Bytes of a part that is held as a tree, which takes ten times as much; lists of 5 000 sheets have one MiB."""
_FIRST_PIECE = 256 * 1024
_PIECE = 4 * 1024 * 1024
_PROLOG = 4096
_ENCRYPTED_FLAG = 0x1
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError, RuntimeError)
"""What zipfile and zlib raise for damaged, truncated or unusually packed archives."""


class Package:
    """The parts of a workbook by path, each inflated at most `MOST_BYTES` in all."""

    def __init__(self, data: bytes) -> None:
        """Raises `ReadingRefused` (`unreadable_file`, `encrypted_file`) for what cannot be a workbook."""
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            infos = self._zip.infolist()
        except _ZIP_ERRORS:
            raise unreadable("it is cut off or damaged") from None
        if any(info.flag_bits & _ENCRYPTED_FLAG for info in infos):
            raise refuse("encrypted_file", "The workbook is protected by a password; save it without one.")
        if len(infos) > _MOST_PARTS or sum(info.file_size for info in infos) > MOST_BYTES:
            raise _too_large()
        self._names = {info.filename.lower().lstrip("/"): info.filename for info in infos}
        self._left = MOST_BYTES

    def __contains__(self, path: str) -> bool:
        return path.lower() in self._names

    def pieces(self, path: str) -> Iterator[bytes]:
        """A part's bytes in pieces. Raises `ReadingRefused` where it is damaged, too large or has a DTD."""
        begun = False
        try:
            with self._zip.open(self._names[path.lower()]) as part:
                while piece := part.read(_PIECE if begun else _FIRST_PIECE):
                    self._left -= len(piece)
                    if self._left < 0:
                        raise _too_large()
                    if not begun:
                        _check_prolog(piece)
                        begun = True
                    yield piece
        except KeyError:
            raise unreadable(f"its part {path} is missing") from None
        except _ZIP_ERRORS:
            raise unreadable("it is cut off or damaged") from None

    def tree(self, path: str) -> ET.Element:
        """A small part as an element tree. Raises `ReadingRefused` for one that is not small, or no XML."""
        whole = bytearray()
        for piece in self.pieces(path):
            whole += piece
            if len(whole) > _LARGEST_TREE:
                raise unreadable(f"its part {path} is larger than that of any workbook")
        try:
            return ET.fromstring(bytes(whole))  # noqa: S314  (no DTD: see `_check_prolog`)
        except (ET.ParseError, LookupError):  # no XML, or in an encoding that there is not
            raise unreadable(f"its part {path} is no XML") from None


def local(tag: str) -> str:
    """An element's name without its namespace: transitional and strict workbooks differ only there."""
    return tag.rpartition("}")[2]


def unreadable(why: str) -> ReadingRefused:
    """The refusal of a workbook that cannot be read."""
    return refuse(
        "unreadable_file", f"The workbook cannot be read: {why}. Open it in Excel and save it as .xlsx again."
    )


def _check_prolog(piece: bytes) -> None:
    """A DTD stands before the root element; UTF-16 would hide it, and no program writes workbooks so."""
    if b"\x00" in piece[:_PROLOG] or b"<!DOCTYPE" in piece or b"<!ENTITY" in piece:
        raise unreadable("one of its parts declares a document type, which no workbook needs")


def _too_large() -> ReadingRefused:
    return unreadable(f"unpacked it is larger than {MOST_BYTES // 1024 // 1024} MiB; send the table alone, or in parts")
