"""Extracts figures, and names phrases of three languages as one set of concepts: a row of `lexicon.csv` each.

    kind      topic, ruletopic, class, format, adj, actor: content, which a fact must know
              mode, not, mark: what the statement demands, denies, or says of its reach
              compare, when: what stands before (`_`) or after a figure
              free, be: packaging, the market, copulas: any statement may have them
              skip: function words, which cannot change the truth of a statement
    corpus    regulation or service, where the words mean this in statements about one of them alone
    within    wider concepts: wine lies within beverage

A word in another number or case than the listed one is recognised by its stem, which is no more than its ending cut
off; a German compound by its parts. Two concepts with one stem are told apart by their listed forms alone.

Figures (numbers with units, dates, articles and acts) are taken out of a text first, each replaced by a mark. A unit is
a row of `units.csv`: figures of one dimension compare after conversion. `claims` decides the meaning of a figure in its
sentence (at least, until).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from math import isclose
from typing import Final, Literal, TypeAlias

from compliance.tables import RULES, TableError, rows, words
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


Lang = Literal["en", "fr", "de"]
LANGS: Final[tuple[Lang, ...]] = ("en", "fr", "de")
CorpusName = Literal["regulation", "service"]
CLASSES: Final = frozenset({"class", "format"})
CONTENT: Final = CLASSES | {"topic", "ruletopic", "adj", "actor"}
_KINDS: Final = CONTENT | {"mode", "not", "mark", "compare", "when", "free", "be", "skip"}
_GERMAN_ENDING: Final = re.compile(r"(?<=bar|.ig|ich|sch|.iv)(e[nrms]?)$|(?<=.{4})(en|es|em|e|n|s)$")
_FRENCH_ENDING: Final = re.compile(r"(?<=.{4})e?s?$|(?<=.{4})x$")
_LINKS: Final = ("", "s", "n", "en", "es")
"""What German puts between the parts of a compound."""
_LEAST_LETTERS: Final = 4
_MOST_LETTERS: Final = 60
"""Fewest letters of a part of a German compound, and most of a compound: each is cut at every place."""
_HEADS: Final = CONTENT | {"free"}


@dataclass(frozen=True, slots=True)
class Concept:
    """What a phrase means, and its kind."""

    name: str
    kind: str


def stem(word: str, lang: Lang) -> str:
    """Return a folded word without its ending of number, gender or case; never another word class."""
    if lang == "en":
        if len(word) > 5 and word.endswith("ies"):
            return word[:-3] + "y"
        return word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] not in "sui" else word
    if lang == "fr":
        return _FRENCH_ENDING.sub("", word) if len(word) > 4 else word
    return _GERMAN_ENDING.sub("", word) if len(word) > 5 else word


class Lexicon:
    """One language in statements about one corpus: its phrases by words and by stems, and those beside figures."""

    def __init__(self, lang: Lang, corpus: CorpusName) -> None:
        self.lang: Final = lang
        self.beside: Final[dict[tuple[str, int, str], Concept]] = {}
        """By kind (compare, when), side of the figure (-1 before, 1 after) and phrase."""
        self._exact: Final[dict[str, Concept]] = {}
        self._stems: Final[dict[str, Concept | None]] = {}
        for row in rows(FOLDER / "lexicon.csv"):
            if row["kind"] not in _KINDS:
                raise TableError(f"lexicon.csv: {row['concept']} has the unknown kind {row['kind']}.")
            concept = Concept(row["concept"], row["kind"])
            for phrase in words(row[lang]) if row["corpus"] in ("", corpus) else ():
                self._add(re.findall(r"[a-z0-9_]+", fold(phrase)), concept)
        self._longest: Final = max(phrase.count(" ") for phrase in self._exact) + 1

    def _add(self, phrase: list[str], concept: Concept) -> None:
        if concept.kind in ("compare", "when"):
            side = 1 if phrase[0] == "_" else -1
            self.beside[concept.kind, side, " ".join(word for word in phrase if word != "_")] = concept
            return
        text = " ".join(phrase)
        if (other := self._exact.setdefault(text, concept)) != concept:
            raise TableError(f"lexicon.csv, {self.lang}: {text} is {concept.name} and {other.name}.")
        stems = " ".join(stem(word, self.lang) for word in phrase)
        self._stems[stems] = concept if self._stems.get(stems, concept) == concept else None

    def longest_at(self, tokens: list[str], start: int) -> tuple[int, list[Concept]]:
        """Return how many tokens from `start` are the longest listed phrase, with its concepts; none where unlisted."""
        for size in range(min(self._longest, len(tokens) - start), 0, -1):
            if concept := self.concept(tokens[start : start + size]):
                return size, [concept]
        return 1, self._parts(tokens[start]) if self.lang == "de" else []

    def concept(self, phrase: list[str]) -> Concept | None:
        """Return the concept of a phrase, by its words or else by its stems."""
        exact = self._exact.get(" ".join(phrase))
        return exact or self._stems.get(" ".join(stem(word, self.lang) for word in phrase))

    def _parts(self, word: str) -> list[Concept]:
        """Return the concepts of a compound whose every part is a listed content word."""
        for end in range(len(word) - _LEAST_LETTERS if len(word) <= _MOST_LETTERS else 0, _LEAST_LETTERS - 1, -1):
            links = (link for link in _LINKS if word[:end].endswith(link))
            heads = (self.concept([word[: end - len(link)]]) for link in links)
            head = next((concept for concept in heads if concept), None)
            if head is None or head.kind not in _HEADS:
                continue
            rest = self.concept([word[end:]])
            tail = [rest] if rest and rest.kind in _HEADS | {"mark", "mode"} else self._parts(word[end:])
            if tail:
                return [head, *tail]
        return []


@lru_cache(maxsize=6)
def lexicon(lang: Lang, corpus: CorpusName) -> Lexicon:
    """Return a language's phrases. Raise `TableError` where two concepts claim one."""
    return Lexicon(lang, corpus)


@lru_cache(maxsize=1)
def kinds() -> dict[str, str]:
    """Return every concept's kind."""
    return {row["concept"]: row["kind"] for row in rows(FOLDER / "lexicon.csv")}


@lru_cache(maxsize=1)
def within() -> dict[str, frozenset[str]]:
    """Return every concept with itself and all that it lies within."""
    direct = {row["concept"]: row["within"].split() for row in rows(FOLDER / "lexicon.csv")}

    def wider(name: str) -> frozenset[str]:
        return frozenset({name}).union(*(wider(other) for other in direct[name]))

    return {name: wider(name) for name in direct}


@lru_cache(maxsize=2)
def _lead_ins(denies: str) -> re.Pattern[str]:
    """Return the pattern of a beginning that asks whether the rest is so, or that says that it is not."""
    phrases = [
        phrase for row in rows(FOLDER / "lead_ins.csv") if row["denies"] == denies for phrase in words(row["words"])
    ]
    longest_first = sorted(phrases, key=len, reverse=True)
    return re.compile(
        "|".join(r"[\s,]+".join(map(re.escape, phrase.split())) for phrase in longest_first), re.IGNORECASE
    )


def without_lead_in(statement: str) -> tuple[str, bool]:
    """Return a statement without "is it true that" or "it is false that", and whether its beginning denies the rest."""
    text = statement.strip().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    for denies in ("", "yes"):
        if hit := _lead_ins(denies).match(text):
            rest = text[hit.end() :]
            if rest.strip() and (hit[0].endswith("'") or rest[:1] in (" ", ",")):
                return rest.strip(" ,"), bool(denies)
    return statement, False
