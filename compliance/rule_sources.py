"""Counts the design rules of a rule-set by kind of source: the first row of `rules/source_kinds.csv` that fits.

A single rule's source is in its own row (`basis`, `confidence`, `source_url`), and in the trace of a grade.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from compliance.ruleset import RuleSet
from compliance.tables import RULES, rows

MEMORY: Final = "memory"
OURS: Final = "ours"
"""The two kinds that nobody else can check; their number never rises from release to release."""


def by_kind(rules: RuleSet) -> Mapping[str, int]:
    """Return the number of rules of each kind of source, the kinds in alphabetical order; without rules it is 0."""
    found = Counter(_kind(rule.source_url) for rule in rules.rules.values())
    return {kind: found[kind] for kind in sorted({kind for _, kind in _kinds()}, key=str.casefold)}


def _kind(source: str) -> str:
    return next(kind for beginning, kind in _kinds() if source.startswith(beginning))


@lru_cache(maxsize=1)
def _kinds() -> tuple[tuple[str, str], ...]:
    return tuple((row["begins_with"], row["kind"]) for row in rows(RULES / "source_kinds.csv"))
