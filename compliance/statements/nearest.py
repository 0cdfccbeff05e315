"""Ranks the provisions that bear on claims, whatever their verdict: those that share most with them come first."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Final

from compliance.statements.claims import Claim
from compliance.statements.facts import Fact, load
from compliance.statements.figures import fold
from compliance.statements.judging import is_part_of
from compliance.statements.words import CorpusName, within

_WIDER: Final = 0.4
"""What a wider concept counts beside the same one: wine is also a beverage."""
_WORD: Final = 1.5
"""What an unlisted word counts that a sentence has."""
_ARTICLE: Final = 3.0
_FIGURE: Final = 1.0
_DATE: Final = 0.4
_MISSING: Final = 0.7
"""What a needed concept takes away where a claim lacks it."""
_LETTERS: Final = 5
"""The first letters by which an unlisted word is looked up in the sentences themselves."""
_PACKAGING: Final = re.compile(r"\b(packag|emball|verpack|ppwr)")
_GENERAL: Final = ("scope", "definition_packaging", "national")
"""Provisions for a statement about packaging that shares nothing with any."""


@dataclass(frozen=True, slots=True)
class _Entry:
    fact: Fact
    concepts: frozenset[str]
    cases: frozenset[str]
    """The concepts of its exceptions alone, which count less."""
    beginnings: frozenset[str]
    """The first letters of the words of its sentence."""


def nearest(statement: str, claims: Sequence[Claim], corpus: CorpusName) -> list[Fact]:
    """Return the facts nearest to a statement, one for each sentence; none where it is about something else."""
    entries, rarity = _entries(corpus)
    scored = [(_score(entry, claims, rarity), entry.fact) for entry in entries]
    ranked = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].key))
    by_sentence: dict[str, Fact] = {}
    for _, fact in ranked:
        by_sentence.setdefault(fact.sentence, fact)
    if not by_sentence and _PACKAGING.search(fold(statement)):
        return [entry.fact for entry in entries if entry.fact.key in _GENERAL]
    return list(by_sentence.values())


def _score(entry: _Entry, claims: Sequence[Claim], rarity: dict[str, float]) -> float:
    """Return how much a fact shares with claims; 0 where nothing."""
    own = {name for claim in claims for name in claim.about}
    wider = {name for one in own for name in within()[one]} - own
    fact = entry.fact
    about = sum(rarity[name] * (1 if name in own else _WIDER) for name in entry.concepts & (own | wider))
    about += sum(rarity[name] * _WIDER for name in entry.cases & own)
    unlisted = {word[:_LETTERS] for claim in claims for word in claim.unlisted if len(word) >= _LETTERS}
    about += _WORD * len(unlisted & entry.beginnings)
    cited = sum(
        any(
            own.kind == reference.kind and (own.text == reference.text or is_part_of(own.text, reference.text))
            for own in fact.references
        )
        for claim in claims
        for reference in claim.references
    )
    if not about and not cited and not any(claim.of_rule for claim in claims):
        return 0.0
    figures = sum(
        any(amount.within(own).quantity.equals(own.quantity) for own in (*fact.values, *fact.bounds))
        for claim in claims
        for amount in claim.amounts
    )
    dates = sum(moment.day.covers(day) for claim in claims for moment in claim.moments for day in fact.dates.values())
    missing = sum(not group & (own | wider) for group in fact.needs)
    return about + _ARTICLE * cited + _FIGURE * figures + _DATE * dates - _MISSING * missing


@lru_cache(maxsize=2)
def _entries(corpus: CorpusName) -> tuple[list[_Entry], dict[str, float]]:
    """Return the facts with their concepts and the beginnings of their words, and how rare each concept is."""
    entries = [
        _Entry(
            fact,
            fact.concepts,
            frozenset(
                name
                for exemption in fact.exemptions
                if exemption.sentence
                for group in exemption.when
                for name in group
            )
            - fact.concepts,
            frozenset(word[:_LETTERS] for word in re.findall(rf"[a-z]{{{_LETTERS},}}", fold(fact.sentence))),
        )
        for fact in load(corpus)
    ]
    names = [entry.concepts | entry.cases for entry in entries]
    counts = {name: sum(name in of_entry for of_entry in names) for name in frozenset().union(*names)}
    return entries, {name: log(1 + len(names) / count) for name, count in counts.items()}
