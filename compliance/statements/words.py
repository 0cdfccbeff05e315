"""Loads the words of three languages: the concept of a phrase, and the words without meaning of their own.

The rows are `rules/statements/concepts.csv` and `neutral.csv`. A concept is of one kind:

    topic   the subject; a fact must name each one that a statement has
    soft    a subject that any fact may leave unnamed
    free    a subject that every statement may have (packaging, the market, the Union)
    mark    a demand, comparison, date or negation
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from compliance.statements.figures import FOLDER, fold
from compliance.tables import TableError, rows, words

Lang = Literal["en", "fr", "de"]
LANGS: Final[tuple[Lang, ...]] = ("en", "fr", "de")
_KINDS: Final = frozenset({"topic", "soft", "free", "mark"})


@dataclass(frozen=True, slots=True)
class Concept:
    """One concept and its kind."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Words:
    """One language: phrases by their first word, the longest first, and the neutral words."""

    phrases: dict[str, list[tuple[tuple[str, ...], Concept]]]
    neutral: frozenset[str]

    def found(self, tokens: list[str]) -> Iterator[tuple[int, int, Concept | None]]:
        """Yield each token or phrase in turn: its start, its length, and its concept; None for a single word."""
        at = 0
        while at < len(tokens):
            hit = next(
                (
                    (len(phrase), concept)
                    for phrase, concept in self.phrases.get(tokens[at], ())
                    if tuple(tokens[at : at + len(phrase)]) == phrase
                ),
                (1, None),
            )
            yield at, *hit
            at += hit[0]


@lru_cache(maxsize=6)
def of(lang: Lang, corpus: str) -> Words:
    """Return a language's words in statements about `corpus`. Raise `TableError` where a row has an unknown kind."""
    phrases: dict[str, list[tuple[tuple[str, ...], Concept]]] = {}
    for row in rows(FOLDER / "concepts.csv"):
        if row["kind"] not in _KINDS:
            raise TableError(f"concepts.csv: {row['concept']} has the unknown kind {row['kind']}.")
        for written in words(row[lang]) if row["corpus"] in ("", corpus) else ():
            phrase = tuple(fold(written).split())
            phrases.setdefault(phrase[0], []).append((phrase, Concept(row["concept"], row["kind"])))
    for found in phrases.values():
        found.sort(key=lambda entry: -len(entry[0]))
    neutral = {
        fold(word) for row in rows(FOLDER / "neutral.csv") if row["lang"] == lang for word in words(row["words"])
    }
    return Words(phrases, frozenset(neutral))


@lru_cache(maxsize=1)
def _lead_ins() -> re.Pattern[str]:
    """Return the pattern of a beginning that asks whether the rest is so, in any language."""
    phrases = [words_of for row in rows(FOLDER / "lead_ins.csv") for words_of in words(row["words"])]
    longest_first = sorted(phrases, key=len, reverse=True)
    return re.compile("|".join(r"[\s,]+".join(map(re.escape, each.split())) for each in longest_first), re.IGNORECASE)


def without_lead_in(statement: str) -> str:
    """Return a statement without "is it true that": a question about it is judged as the statement itself."""
    text = statement.strip().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if (found := _lead_ins().match(text)) is None:
        return statement
    rest = text[found.end() :]
    whole_word = found[0].endswith("'") or rest[:1] in (" ", ",")
    return rest.strip() if whole_word and rest.strip() else statement


@lru_cache(maxsize=1)
def kinds() -> dict[str, str]:
    """Return every concept's kind."""
    return {row["concept"]: row["kind"] for row in rows(FOLDER / "concepts.csv")}
