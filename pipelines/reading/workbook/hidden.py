"""Finds the hidden rows and columns of a sheet: hidden by hand, or left out by a filter.

They are read like all others; the caller's report lists them. They are found in the XML while the cells are read.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

_TAG: Final = re.compile(rb"<(?:\w{1,64}:)?(row|col)\s([^<>]*+)>")
_ATTRIBUTE: Final = re.compile(rb"\b(r|min|max|hidden)=[\"'](\w{1,7})[\"']")
_WORD: Final = b"hidden"
_TRUE: Final = ("1", "true", "on")
_LONGEST_TAG: Final = 4096
_MOST_COLUMNS: Final = 16_384


class Hidden:
    """The hidden rows (counted from 1) and columns (from 0) of a sheet, as far as its XML has been read."""

    def __init__(self) -> None:
        """Start before any XML has been read."""
        self.rows: set[int] = set()
        self.columns: set[int] = set()
        self._passed = 0

    def passing(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the pieces of a sheet in UTF-8 unchanged, and search each for hidden rows and columns."""
        rest = b""
        for piece in pieces:
            if _WORD in piece or _WORD in rest + piece[: len(_WORD) - 1]:
                whole, end, rest = (rest + piece).rpartition(b">")
                self._look(whole + end)
            else:  # most pieces, which are not copied
                rest = (rest if len(piece) < _LONGEST_TAG else b"") + piece[-_LONGEST_TAG:]
            rest = rest[-_LONGEST_TAG:]
            yield piece

    def _look(self, xml: bytes) -> None:
        for kind, written in _TAG.findall(xml):
            if _WORD in written:
                self.note(kind.decode(), {key.decode(): value.decode() for key, value in _ATTRIBUTE.findall(written)})

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
