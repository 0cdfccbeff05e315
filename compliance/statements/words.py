"""Names the phrases of three languages as one set of concepts; `lexicon.csv` has a row for each concept.

    kind      topic, ruletopic, class, format, adj, actor: content, which a fact must know
              mode, not, mark: what the statement demands, denies, or says of its reach
              compare, when: what stands before (`_`) or after a figure
              free, be: packaging, the market, copulas: any statement may have them
              skip: function words, which cannot change the truth of a statement
    corpus    regulation or service, where the words mean this in statements about one of them alone
    within    wider concepts: wine lies within beverage

A word in another number or case than the listed one is recognised by its stem, which is no more than its ending cut
off; a German compound by its parts. Two concepts with one stem are told apart by their listed forms alone.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from compliance.statements.figures import FOLDER, fold
from compliance.tables import TableError, rows, words

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
