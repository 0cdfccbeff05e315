"""Resolves people's words for materials and packaging formats to codes (grading.md, step 1).

The words are rows of `polymer_aliases.csv`, `alias_words.csv` and `formats.csv`. A near match never resolves: it is
only offered in a warning.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from rapidfuzz import fuzz, process

from compliance.rule_rows import Format, RuleSet
from schemas.letters import without_accents

_PERCENTAGE: Final = re.compile(r"(?<!\d)\d++(?:[.,]\d++)?+\s*+%")
_RESIN_SIGNS: Final = {0x2673 + place: str(place + 1) for place in range(7)}
_LONGEST: Final = 500
"""Characters of the longest text that is searched for words: a longer one is prose, and names no one material."""
_LETTERS: Final = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o"})
_JOINING: Final = frozenset(
    {"mit", "avec", "with", "et", "and", "und", "pour", "for", "fur", "de", "of", "en", "aus", "in"}
)
"""Words after which a format text names something else: *bottle with cap* is a bottle."""


def normalise(text: str) -> str:
    """Return the form in which texts are compared: no percentages, accents or case, `/` kept, single spaces."""
    text = _PERCENTAGE.sub(" ", text).translate(_RESIN_SIGNS)
    plain = without_accents(text).lower().translate(_LETTERS)
    return " ".join("".join(c if c.isalnum() or c == "/" else " " for c in plain).split())


@lru_cache(maxsize=65_536)
def resolve_material(text: str, rules: "RuleSet") -> str | None:
    """Return the canonical code of a material text, or None where no alias fits.

    A code whose `specified` is N (plastic, metal, unknown …) is returned like any other; callers that grade treat it as
    no material.
    """
    if len(text) > _LONGEST:
        return None
    normal = normalise(text)
    return _alias(normal, rules) or (_laminate(normal, rules) if "/" in normal else None)


def _alias(normal: str, rules: "RuleSet") -> str | None:
    """Return the code of a normalised text unchanged, without its form words, or also without its colours."""
    return next((rules.aliases[reading] for reading in _readings(normal, rules) if reading in rules.aliases), None)


def _readings(normal: str, rules: "RuleSet") -> Iterator[str]:
    yield normal
    droppable = rules.dropped_words["form"] | rules.dropped_words["recycled"]
    yield " ".join(word for word in normal.split() if word not in droppable)
    droppable = droppable | rules.dropped_words["colour"]
    yield " ".join(word for word in normal.split() if word not in droppable)


def _laminate(normal: str, rules: "RuleSet") -> str | None:
    """Return the code of layers written with `/`: their common group, or the alias of their groups in order."""
    codes = [_alias(part.strip(), rules) for part in normal.split("/")]
    if not all(codes):
        return None
    groups = [rules.materials[code].group for code in codes if code]
    if len(set(groups)) == 1 and groups[0] in rules.materials:
        return groups[0]
    return rules.aliases.get(normalise("/".join(groups)))


def nearest_materials(text: str, rules: "RuleSet") -> list[str]:
    """Return the three known words nearest to an unresolved text, for its warning."""
    found = process.extract(normalise(text[:_LONGEST]), rules.aliases.keys(), scorer=fuzz.ratio, limit=3)
    return [word for word, _, _ in found]


@lru_cache(maxsize=65_536)
def resolve_format(text: str, rules: "RuleSet") -> "Format | None":
    """Return the packaging format that a text names; None where no word is known or two are equally long."""
    if len(text) > _LONGEST:
        return None
    normal = normalise(text)
    if normal in rules.formats:
        return rules.formats[normal]
    tokens = normal.split()
    cut = next((place for place, word in enumerate(tokens) if place and word in _JOINING), len(tokens))
    return _longest_format(tokens[:cut], rules)


def _longest_format(tokens: list[str], rules: "RuleSet") -> "Format | None":
    reach = _longest_alias(rules)
    spans = {" ".join(tokens[i:j]) for i in range(len(tokens)) for j in range(i + 1, min(i + reach, len(tokens)) + 1)}
    known = [span for span in spans if span in rules.formats]
    longest = [rules.formats[span] for span in known if len(span) == max(map(len, known))]
    return longest[0] if len({found.key for found in longest}) == 1 else None


@lru_cache(maxsize=16)
def _longest_alias(rules: "RuleSet") -> int:
    """Return the number of words of the longest format alias."""
    return max(len(alias.split()) for alias in rules.formats)
