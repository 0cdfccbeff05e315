"""The content types that an Office Open XML package declares for its parts (ECMA-376 Part 2, section 10.1.2).

Read with bounds, since a zip says of itself what it likes: its table of contents is measured before it is loaded, and
the one part that is read is cut off at a size that no document's has.
"""

import re
import struct
import zipfile
import zlib
from typing import BinaryIO, Final

_CONTENTS: Final = "[Content_Types].xml"
_MOST_CONTENTS_BYTES: Final = 2**20
_MOST_ENTRIES: Final = 10_000
_MOST_DIRECTORY_BYTES: Final = 2**20
_END: Final = b"PK\x05\x06"
_END_BYTES: Final = 22
_MOST_COMMENT_BYTES: Final = 2**16
_TYPE: Final = re.compile(r"<Override\b[^>]*?\bContentType\s*=\s*[\"']([^\"']*)[\"']")
_ZIP_ERRORS: Final = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, OSError, ValueError,
                      RuntimeError)  # fmt: skip
"""What zipfile and zlib raise for damaged, encrypted or unusually packed archives."""


def main_types(file: BinaryIO) -> set[str]:
    """The declared types of parts; none where the file is no such package, or more than one could be."""
    if not _is_bounded(file):
        return set()
    try:
        with zipfile.ZipFile(file) as package, package.open(_CONTENTS) as part:
            text = part.read(_MOST_CONTENTS_BYTES).decode("utf-8", "replace")
    except _ZIP_ERRORS:
        return set()
    return set(_TYPE.findall(text))


def _is_bounded(file: BinaryIO) -> bool:
    """Whether the archive's table of contents is of a size that a document has."""
    length = file.seek(0, 2)
    file.seek(max(0, length - _END_BYTES - _MOST_COMMENT_BYTES))
    tail = file.read()
    start = tail.rfind(_END)
    if start < 0 or len(tail) - start < _END_BYTES:
        return False
    entries, directory_bytes = struct.unpack_from("<HI", tail, start + 10)
    return bool(entries <= _MOST_ENTRIES and directory_bytes <= _MOST_DIRECTORY_BYTES)
