"""Finds the market, the year and the part of a year that words name: `Absatz DE 2026`, `2. Halbjahr`, `Q1 2025`.

What is counted, and the rest of a header, is `columns.py`'s.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

from compliance.catalogue import eu_codes, is_iso_3166, pinned, served
from pipelines.reading.grammar import MOST_KEPT, PIECES, Tokens, measure_at, roles_of_word, tokens_of
from pipelines.reading.grid import LONGEST_HEADER, VOLUME, VOLUME_HALF
from pipelines.reading.words import family_of_detail, unit_of
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import Unfit, place
from schemas.refusals import Refused
from schemas.words import fold, headers, languages_of_headers, languages_of_words, market_named, native_names, words

LONGEST_MARKET: Final = 5
_NO_MARKETS: Final = ("in", "na")  # before another word, as in `Sales in DE`, `Wprowadzone na rynek PL`
_OF_SELLING: Final = frozenset({"market", "country", "sale", "nothing"})
YEAR: Final = re.compile(r"20\d\d|2100")
_HALF: Final = re.compile(r"(?:h|s|hj)([12])|([12])(?:h|s|hj)")
_ORDINAL: Final = re.compile(r"([1-4])(?:st|nd|rd|th|er|eme|e|o|a|ere)?")
_PART: Final = re.compile(r"q[1-4]|m(?:0[1-9]|1[0-2])")
_THIRD: Final = 3
_MONTH: Final = re.compile(r"0[1-9]|1[0-2]")
_QUARTERS: Final = 4
_MONTHS: Final = 12
_PART_NUMBER: Final = re.compile(r"\d{1,2}")
_MARKED: Final = re.compile(r"\b(?=\w{2}\b)\w?[^\W\d_a-zA-Z]\w?\b")
_YEAR_AND_MONTH: Final = re.compile(r"(20\d\d)(0[1-9]|1[0-2])")
"""A period as programs write it: `202501`."""
WHOLE: Final = (
    frozenset(f"q{at}" for at in range(1, 5)),
    frozenset(("h1", "h2")),
    frozenset(f"m{at:02}" for at in range(1, 13)),
)
"""The quarters, the halves and the months of a year: of several that are whole the first counts."""


def market_of(header: str) -> str | None:
    """Return the market that a header names, alone or beside words of selling: `DE`, `Sold in France`."""
    placed = Placed()
    left = placed.left_of(tokens_of(header)) if len(header) < LONGEST_HEADER else ("",)
    said = placed.twice or placed.year or placed.half or placed.part or not is_of_selling(left)
    return None if said or family_of_detail(header) else placed.market


@cache
def headers_of_units() -> frozenset[str]:
    """Return the headers of units placed on a market, those that need a market or a year beside them too."""
    return frozenset((*headers("placed"), *(key for key, name in headers("sku").items() if name == VOLUME.name)))


def is_of_selling(tokens: Tokens) -> bool:
    """Return whether words say no more than that something is sold."""
    return all(
        token in words("selling") or ((roles := roles_of_word(token)) is not None and roles <= _OF_SELLING)
        for token in tokens
    )


@lru_cache(maxsize=MOST_KEPT)
def little_words(header: str) -> Mapping[str, bool]:
    """Return the words of a header that are a country's code, and in the language of its units a little word too.

    `de` in `Ventas de 2025` is no Germany: false. In capitals beside other letters it is (`Ventas DE 2025`), and in a
    program's name (`ventas_de_2025`). Where all letters are capitals it is open: true. A word whose letters have marks
    is no code: `ČR` is not Costa Rica.
    """
    little = languages_of_words("no_market")
    words_of_header = tokens_of(header) if re.search(r"\s", header.strip()) else ()
    marked = dict.fromkeys((fold(word) for word in _MARKED.findall(header)), False)
    if little.keys().isdisjoint(words_of_header):
        return marked
    listed = languages_of_headers(VOLUME.name)
    spoken = [listed[token] for token in words_of_header if token in listed and token not in little]
    found = [
        token for token in words_of_header if token in little and spoken and all(little[token] & of for of in spoken)
    ]
    shouts = not any(map(str.islower, header))
    return marked | {word: shouts for word in found if shouts or not re.search(rf"\b{word.upper()}\b", header)}


class Placed:
    """The market, the year and the half that the words of a volume's header name; `twice` is what is named again.

    `part` is a quarter or a month instead: `q1`, `m12`. `little` are `little_words`, which name no market or an open
    one.
    """

    def __init__(self, *, own: bool = False, little: Mapping[str, bool] | None = None) -> None:
        self.own = own  # the header is the field's own name, which any market has, or India's code
        self.little = little or {}
        self.market: str | None = None
        self.year: int | None = None
        self.half = 0
        self.part = ""
        self.twice: list[str] = []

    def left_of(self, tokens: Tokens) -> Tokens:
        """Take what is named out of the words, and return the others."""
        left: list[str] = []
        at = 0
        while at < len(tokens):
            measure = measure_at(tokens, at)
            counts = measure is not None and (
                self.market is not None
                or measure.end > at + 1
                or (not self.own and _is_piece(tokens[at : measure.end]))
            )
            end = None if counts else self._market_at(tokens, at) or self._period_at(tokens, at)
            if end is None:
                end = at + 1 if measure is None else measure.end
                left += tokens[at:end]
            at = end
        return left

    def _market_at(self, tokens: Tokens, at: int) -> int | None:
        for end in range(min(len(tokens), at + LONGEST_MARKET), at, -1):
            name = " ".join(tokens[at:end])
            code = market_code(name)
            if code is None or (not self.own and unit_of(name, "g") and code not in eu_codes()):  # `kg`, not `GR`
                continue
            no_part = tokens[at] in _NO_MARKETS or tokens[at] in self.little or _is_piece(tokens[end - 1 : end])
            if not self.own and end > at + 1 and no_part:
                continue  # `in NL` is no Nagaland in India, `DE (St)` no Saxony-Anhalt
            if not self.own and name in _NO_MARKETS and end < len(tokens):
                return end
            if not self.little.get(name, True):
                return end
            if self.market not in (None, code) or name in self.little:
                self.twice += tokens[at:end]
            self.market = self.market or code
            return end
        return None

    def _period_at(self, tokens: Tokens, at: int) -> int | None:
        word, after = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else ""
        if YEAR.fullmatch(word):
            self.twice += [word] if self.year not in (None, int(word)) else []
            self.year = self.year or int(word)
            return at + 1
        if (part := self._part_at(tokens, at)) is not None:
            self.twice += [word] if self.part not in ("", part[0]) else []
            self.part = self.part or part[0]
            return at + part[1]
        half = _HALF.fullmatch(word)
        number, end = (half[1] or half[2], at + 1) if half is not None else (None, at + 2)
        for noun, ordinal in ((word, after), (after, word)):
            match = _ORDINAL.fullmatch(ordinal) if words("header_part").get(noun) == "half" else None
            if number is None and match is not None and int(match[1]) < _THIRD:
                number = match[1]
        if number is None:
            return None
        self.twice += tokens[at:end] if self.half not in (0, int(number)) else []
        self.half = self.half or int(number)
        return end

    def _part_at(self, tokens: Tokens, at: int) -> tuple[str, int] | None:
        """Return the quarter or the month that begins at a word, and of how many words it is."""
        before, word, after = ("", *tokens, "")[at : at + 3]
        code = words("part_of_year").get(word) or (word if _PART.fullmatch(word) else None)
        if code not in (None, "quarter", "month"):
            return str(code), 1
        for noun, ordinal in ((word, after), (after, word)):
            match = _ORDINAL.fullmatch(ordinal) if words("part_of_year").get(noun) == "quarter" else None
            if match is not None:
                return f"q{match[1]}", 2
        if YEAR.fullmatch(before) and _MONTH.fullmatch(word):  # `2025-01`, and a day of a workbook: `2025-01-01`
            return f"m{word}", 1 + (after == "01")
        return None


def _is_piece(tokens: Tokens) -> bool:
    """Return whether a word means one piece, as `St` does, which is a country's code too."""
    measure = measure_at(tokens, 0)
    return len(tokens) == 1 and measure is not None and measure.unit == PIECES and measure.factor == 1


@lru_cache(maxsize=MOST_KEPT)
def market_code(name: str) -> str | None:
    """Return the code of a market that is named by code or by a country's name; a region only where ISO has it."""
    code = words("market").get(name) or _served_countries().get(name)
    if code is not None:
        return code
    try:
        code = place(name)
    except Unfit:
        return None
    return code if "-" not in code or is_iso_3166(code) else None


_SHORTEST_COUNTRY: Final = 5
"""Letters of the shortest name of a country among other words: `Lati` is Latvia in Estonian, and sides in Italian."""


@cache
def _served_countries() -> dict[str, str]:
    """Return the countries that the catalogue serves by their names in many languages: `Sverige`, `Polska`."""
    codes = {entry.code for entry in served(pinned())}
    return {name: code for name, code in native_names().items() if code in codes and len(name) >= _SHORTEST_COUNTRY}


class Period(NamedTuple):
    """The year that a cell names, its half, or a quarter or a month of it; what is not named is None, 0 or empty."""

    year: int | None
    half: int = 0
    part: str = ""


def period_of(text: str, header: str = "") -> Period:
    """Return the period that a cell names: `H1`, `2. Halbjahr`, `2026-H1`, `1`; a month or a quarter: `01/2025`, `Q1`.

    A number alone is a month or a quarter where the `header` says so, else a half. Raise `Refused`.
    """
    noun = words("part_of_year").get(fold(header))
    said = Placed()
    joined = _YEAR_AND_MONTH.fullmatch(text.strip())
    named = said.left_of(tokens_of(" ".join(joined.groups()) if joined else text))
    left = tuple(word for word in named if word != "/")
    number = int(left[0]) if len(left) == 1 and _PART_NUMBER.fullmatch(left[0]) else None
    other = said.market is not None or bool(said.twice)
    if said.part and not left and not other and not said.half:
        return Period(said.year, part=said.part)
    if not (other or said.part or said.half) and number is not None and number > 0:
        if noun == "quarter" and number <= _QUARTERS:
            return Period(said.year, part=f"q{number}")
        if (noun == "month" or (said.year and len(left[0]) > 1)) and number <= _MONTHS:
            return Period(said.year, part=f"m{number:02}")
    other |= bool(said.part) or noun in ("quarter", "month") or bool(left and said.half)
    if left in ((), ("0",), ("1",), ("2",)) and not other:
        return Period(said.year, said.half or int(left[0] if left else 0))
    message = Message("Write H1 or H2, with the year or without; leave it empty for the year.")
    raise Refused([Issue("invalid_format", message, VOLUME_HALF.name)])


def parts_of_years(lines: Iterable[Sequence[str]], header: str) -> list[list[str]]:
    """Return the parts of each year that lines name in their last cell; the others say of what, such as a SKU.

    There are none where a line names no part: `header` is that of the last cells.
    """
    years: dict[tuple[object, ...], list[str]] = {}
    periods: dict[str, Period] = {}
    for *of, text in lines:
        try:
            said = periods[text] if text in periods else periods.setdefault(text, period_of(text, header))
        except Refused:
            return []
        if not said.part:
            return []
        years.setdefault((*of, said.year), []).append(said.part)
    return list(years.values())


def is_whole_year(parts: Iterable[str]) -> bool:
    """Return whether parts are the four quarters, the two halves or the twelve months of a year, each once."""
    listed = list(parts)
    return len(listed) == len(set(listed)) and set(listed) in WHOLE


@cache
def is_served(value: str) -> bool:
    """Return whether a value names a market that the catalogue serves, itself or as a part of one."""
    try:
        code = market_named(value)
    except Unfit:
        return False
    return not {code, code.split("-")[0]}.isdisjoint(entry.code for entry in served(pinned()))
