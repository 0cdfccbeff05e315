"""Extracts figures from a text: numbers with units, dates, articles and acts, each replaced by a mark.

A unit is a row of `rules/statements/units.csv`: figures of one dimension compare after conversion. `claims` decides the
meaning of a figure in its sentence (at least, until).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from math import isclose
from typing import Final, TypeAlias

from compliance.tables import RULES, rows, words
from schemas.words import without_accents

FOLDER: Final = RULES / "statements"
MARK: Final = "@"
"""The first character of the token that replaces a figure."""

DAY_OF_YEAR: Final = "day of the year"
"""The dimension of a day without its year: 1 June is 601."""

_NUMBER: Final = r"\d{1,3}(?:[ .,']\d{3}){1,6}(?!\d)|\d+(?:[.,]\d+)?"
_ACT: Final = re.compile(
    r"\b(?:\((?:eu|ue|ec|ce|eg)\)\s*)?(?:no\.?\s*)?(\d{2,4}/\d{1,4})(?:/(?:eu|ec|ce|eg|ue|eec))?\b"
)
_ROMAN: Final = r"x{0,3}(?:ix|iv|v?i{0,3})"
_ANNEX: Final = re.compile(
    rf"\b(?:annex|annexe|anhang)\s+({_ROMAN})\b(?:,?\s+(?:table|tableau|tabelle|point|nummer|part|partie|teil)\s+(\w+)\b)?"
)
_ARTICLE: Final = re.compile(
    r"\b(?:article|articles|artikel|artikels|art)\b\.?\s*(\d+)((?:\s*\(\w+\))*)"
    r"(?:,?\s*(?:paragraph|paragraphe|absatz|abs\.?)\s*(\d+))?"
)
_ISO: Final = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_DOTTED: Final = re.compile(r"\b(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})\b")
_YEAR: Final = re.compile(r"\b((?:19|20)\d\d)\b")
_SAME_SHARE: Final = {("percent", "concentration_mass"): 1e4, ("concentration_mass", "percent"): 1e-4}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in the base unit of its dimension; `dimension` is the unit itself where it compares only with itself."""

    value: float
    dimension: str
    written: str = field(default="", compare=False)
    """The number and the unit as they stood, folded."""

    def equals(self, other: "Quantity") -> bool:
        """Return whether both are the same amount, whatever their units were."""
        return self.dimension == other.dimension and isclose(self.value, other.value, rel_tol=1e-9)

    def within(self, dimension: str) -> "Quantity":
        """Return the same amount in another dimension where possible: a share of a mass in percent as mg/kg."""
        factor = _SAME_SHARE.get((self.dimension, dimension))
        return self if factor is None else replace(self, value=self.value * factor, dimension=dimension)


@dataclass(frozen=True, slots=True)
class Day:
    """A date as precisely as it was written; month and day are 0 where they are not written."""

    year: int
    month: int = 0
    day: int = 0

    def __str__(self) -> str:
        return "-".join(f"{part:02}" for part in (self.year, self.month, self.day) if part)

    @property
    def first(self) -> date:
        """The first day that it can mean."""
        return date(self.year, self.month or 1, self.day or 1)

    def covers(self, exact: date) -> bool:
        """Return whether the written date is this day, or its month or year."""
        return self.year == exact.year and self.month in (0, exact.month) and self.day in (0, exact.day)


@dataclass(frozen=True, slots=True)
class Reference:
    """An article (`5(5)(a)`), an annex (`annex ii table 3`) or an act (`2025/40`)."""

    kind: str
    text: str


Figure: TypeAlias = Quantity | Day | Reference
Keep: TypeAlias = Callable[[Figure], str]


@dataclass(frozen=True, slots=True)
class Marked:
    """A folded text with marks in place of its figures."""

    text: str
    figures: tuple[Figure, ...]


def fold(text: str) -> str:
    """Return lower case without accents, with one form of each sign, so that texts of any keyboard compare."""
    signs = str.maketrans({"µ": "u", "μ": "u", "ß": "ss", "œ": "oe", "’": "'", "\u00a0": " ", "\u202f": " ", "–": "-"})
    return without_accents(text.lower().translate(signs))


def mark_figures(text: str, lang: str) -> Marked:
    """Return the text with its figures replaced by marks; `lang` decides the meaning of a comma in a number."""
    figures: list[Figure] = []

    def keep(figure: Figure) -> str:
        figures.append(figure)
        return f" {MARK}{len(figures) - 1} "

    folded = fold(text).replace(MARK, " ")  # after folding, which also makes a MARK of its full-width form
    folded = _ACT.sub(lambda hit: keep(Reference("act", hit[1])), folded)
    folded = _ANNEX.sub(lambda hit: keep(Reference("annex", " ".join(filter(None, hit.groups())))), folded)
    folded = _ARTICLE.sub(lambda hit: keep(Reference("article", _article(hit))), folded)
    folded = _dates(folded, keep)
    folded = _units().sub(lambda hit: keep(_quantity(hit[1], hit[2], lang)), folded)
    folded = _shares().sub(lambda hit: keep(Quantity(_spoken("share")[hit[0]], "percent", hit[0])), folded)
    folded = _YEAR.sub(lambda hit: keep(Day(int(hit[1]))), folded)
    folded = re.sub(
        rf"(?<![{MARK}\w])({_NUMBER})(?!\w)", lambda hit: keep(Quantity(number(hit[1], lang), "", hit[1])), folded
    )
    return Marked(folded, tuple(figures))


def _article(hit: re.Match[str]) -> str:
    inner = re.sub(r"\s", "", hit[2] or "") or (f"({hit[3]})" if hit[3] else "")
    return f"{hit[1]}{inner}"


def _dates(folded: str, keep: Keep) -> str:
    names = "|".join(sorted(_months(), key=len, reverse=True))
    day_first = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s+(?:of\s+|de\s+)?({names})\.?,?\s+(\d{{4}})\b")
    month_first = re.compile(rf"\b({names})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b")
    month = re.compile(rf"\b({names})\.?\s+(\d{{4}})\b")
    no_year = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s+(?:of\s+|de\s+)?(?!may\b)({names})\b(?!\s+\d)")
    folded = _ISO.sub(lambda hit: keep(Day(int(hit[1]), int(hit[2]), int(hit[3]))), folded)
    folded = _DOTTED.sub(lambda hit: keep(Day(int(hit[3]), int(hit[2]), int(hit[1]))), folded)
    folded = day_first.sub(lambda hit: keep(Day(int(hit[3]), _months()[hit[2]], int(hit[1]))), folded)
    folded = month_first.sub(lambda hit: keep(Day(int(hit[3]), _months()[hit[1]], int(hit[2]))), folded)
    folded = month.sub(lambda hit: keep(Day(int(hit[2]), _months()[hit[1]])), folded)
    return no_year.sub(lambda hit: keep(Quantity(_months()[hit[2]] * 100 + int(hit[1]), DAY_OF_YEAR, hit[0])), folded)


def number(text: str, lang: str) -> float:
    """Parse a number as the language writes it: English groups by commas, French and German by spaces or points."""
    text = text.replace(" ", "").replace("'", "")
    if re.fullmatch(r"[1-9]\d{0,2}(?:[.,]\d{3})+", text) and (len(re.split(r"[.,]", text)) > 2 or _groups(text, lang)):
        return float(re.sub(r"[.,]", "", text))
    return float(text.replace(",", "."))


def _groups(text: str, lang: str) -> bool:
    return ("," in text) == (lang == "en")


def quantity(text: str) -> Quantity:
    """Parse the quantity of a table's cell, such as `25 ppb`; numbers there are written as in English."""
    amount, _, unit = text.partition(" ")
    return _quantity(amount, unit, "en") if unit else Quantity(number(amount, "en"), "", text)


def _quantity(amount: str, unit: str, lang: str) -> Quantity:
    dimension, factor = _of_unit()[re.sub(r"\s+", " ", unit.strip())]
    spoken = _spoken("number")
    value = spoken[amount] if amount in spoken else number(amount, lang)
    return Quantity(value * factor, dimension, f"{amount} {unit}")


@lru_cache(maxsize=1)
def _of_unit() -> dict[str, tuple[str, float]]:
    """Return every spelling of a unit, folded, with its dimension and its number of base units."""
    return {
        fold(name): (row["dimension"], float(row["factor"]))
        for row in rows(FOLDER / "units.csv")
        for name in words(row["written"])
    }


@lru_cache(maxsize=1)
def _units() -> re.Pattern[str]:
    names = "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in sorted(_of_unit(), key=len, reverse=True))
    spoken = "|".join(sorted(_spoken("number"), key=len, reverse=True))
    return re.compile(rf"(?<![{MARK}\w.,/])({_NUMBER}|(?:{spoken})(?=[\s-]))[\s-]*({names})(?!\w|(?<=um) +\d)")


@lru_cache(maxsize=1)
def _months() -> dict[str, int]:
    return {fold(row["word"]): int(row["value"]) for row in rows(FOLDER / "numbers.csv") if row["kind"] == "month"}


@lru_cache(maxsize=1)
def _shares() -> re.Pattern[str]:
    """Return a pattern of a share in words: `half of`, `la moitie du`."""
    names = "|".join(re.escape(name) for name in sorted(_spoken("share"), key=len, reverse=True))
    return re.compile(rf"(?<!first )(?<!second )\b(?:{names})\b")


@lru_cache(maxsize=2)
def _spoken(kind: str) -> dict[str, float]:
    return {fold(row["word"]): float(row["value"]) for row in rows(FOLDER / "numbers.csv") if row["kind"] == kind}
