"""Reads the directory of a compound file, the container of .doc and .xls ([MS-CFB], sections 2.2 to 2.6).

Reading is bounded: it ends after `_MOST_SECTORS` sectors, and a sector outside the file gives no names. A document
protected by a password is such a container too, without the streams of Word or Excel.
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO, Final

_MOST_SECTORS: Final = 256
_ENTRY_BYTES: Final = 128
_NAME_BYTES: Final = 64
_HEADER_FAT_SECTORS: Final = 109
_LAST: Final = 0xFFFFFFFA  # a larger sector number is a mark, such as the end of a chain


def streams(file: BinaryIO) -> set[str]:
    """Return the names of streams and storages; of a damaged file only those before the damage."""
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
