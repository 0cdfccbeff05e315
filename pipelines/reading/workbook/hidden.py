"""Finds the hidden rows and columns of a sheet, hidden by hand or left out by a filter, and its merged cells.

They are read like all others; the caller's report lists them. They are found in the XML while the cells are read.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from pipelines.reading.grid import position

_TAG: Final = re.compile(rb"<(?:\w{1,64}:)?(row|col)\s([^<>]*+)>")
_ATTRIBUTE: Final = re.compile(rb"\b(r|min|max|hidden)=[\"'](\w{1,7})[\"']")
_WORD: Final = b"hidden"
_MERGED: Final = b"mergeCell"
_MERGE: Final = re.compile(rb"<(?:\w{1,64}:)?mergeCell\s[^<>]{0,200}?ref=[\"']([A-Z0-9:]{5,21})[\"']")
_AREA: Final = re.compile(r"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})")
_MOST_MERGES: Final = 50_000
_TRUE: Final = ("1", "true", "on")
_LONGEST_TAG: Final = 4096
_MOST_COLUMNS: Final = 16_384


class Hidden:
    """The hidden rows (counted from 1) and columns (from 0) of a sheet, as far as its XML has been read.

    `merges` are its merged cells: first row, last row, first column and last column of each.
    """

    def __init__(self) -> None:
        """Start before any XML has been read."""
        self.rows: set[int] = set()
        self.columns: set[int] = set()
        self.merges: dict[tuple[int, int, int, int], None] = {}
        self._passed = 0

    def passing(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the pieces of a sheet in UTF-8 unchanged, and search each for hidden rows and columns."""
        rest = b""
        for piece in pieces:
            edge = rest + piece[: len(_MERGED) - 1]
            if any(word in piece or word in edge for word in (_WORD, _MERGED)):
                whole, end, rest = (rest + piece).rpartition(b">")
                self._look(whole + end)
            else:  # most pieces, which are not copied
                rest = (rest if len(piece) < _LONGEST_TAG else b"") + piece[-_LONGEST_TAG:]
            rest = rest[-_LONGEST_TAG:]
            yield piece

    def _look(self, xml: bytes) -> None:
        for found in _MERGE.findall(xml):
            self.note_merge(found.decode())
        for kind, written in _TAG.findall(xml):
            if _WORD in written:
                self.note(kind.decode(), {key.decode(): value.decode() for key, value in _ATTRIBUTE.findall(written)})

    def note_merge(self, area: str) -> None:
        """Record the area of a merged cell, such as `C2:C4`."""
        if (found := _AREA.fullmatch(area)) and len(self.merges) < _MOST_MERGES:
            left, top, right, bottom = found.groups()
            self.merges[int(top), int(bottom), position(left), position(right)] = None

    def note(self, kind: str, attributes: Mapping[str, str]) -> None:
        """Record a `row` or `col` element if it is hidden; invalid attributes are ignored."""
        if attributes.get("hidden") not in _TRUE:
            return
        if kind == "row":
            self.rows.update(filter(None, [_number(attributes.get("r"))]))
        elif first := _number(attributes.get("min")):
            # Columns come once and in order; a file that repeats them must not cost time for each repetition.
            last = min(_number(attributes.get("max")) or first, _MOST_COLUMNS)
            self.columns.update(range(max(first - 1, self._passed), last))
            self._passed = max(self._passed, last)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and len(text) < 8 and text.isascii() and text.isdigit() else None
