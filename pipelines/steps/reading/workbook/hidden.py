"""Which rows and columns of a sheet people do not see: hidden by hand, or left out by a filter.

They are read as all others; this is what lets the reader say so. They are found in the XML on its way to the cells.
"""

import re
from collections.abc import Iterator
from typing import Final

_PLACE: Final = re.compile(rb"<(?:\w+:)?(row|col)\s([^>]*\bhidden=[\"'](?:1|true|on)[\"'][^>]*)>")
_NUMBER: Final = re.compile(rb"\b(r|min|max)=[\"'](\d{1,7})[\"']")
_WORD: Final = b"hidden"
_LONGEST_TAG: Final = 4096
_MOST_COLUMNS: Final = 16_384


class Hidden:
    """The hidden rows (counted from 1) and columns (from 0) of a sheet, as far as its XML has passed."""

    def __init__(self) -> None:
        """Nothing has passed yet."""
        self.rows: set[int] = set()
        self.columns: set[int] = set()
        self._passed = 0

    def passing(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """The pieces as they are, each looked through on its way."""
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
        for kind, attributes in _PLACE.findall(xml):
            places = {name: int(number) for name, number in _NUMBER.findall(attributes)}
            if kind == b"row":
                self.rows.update({places[b"r"]} if b"r" in places else ())
            elif first := places.get(b"min"):
                # Columns stand in their order and once: what says otherwise shall not cost time for each repetition.
                last = min(places.get(b"max", first), _MOST_COLUMNS)
                self.columns.update(range(max(first - 1, self._passed), last))
                self._passed = max(self._passed, last)
