"""Loads the rules that every item of a portfolio can be held against one by one, each with its source.

The rows are `rules/readiness/item_rules.csv`. `warehouse.analytics.by_rule` judges the items; a state says what the
records show and is never legal advice.
"""

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Final

from compliance.tables import RULES, TableError, rows

_FILE: Final = RULES / "readiness" / "item_rules.csv"


@dataclass(frozen=True, slots=True)
class ItemRule:
    """One row; `applies_from` is an ISO day, None where each case has its own."""

    key: str
    applies_from: str | None
    sentence: str
    reference: str
    source_url: str
    source_note: str

    def as_dict(self) -> dict[str, str | None]:
        """Return the rule as answers publish it."""
        return asdict(self)


@lru_cache(maxsize=1)
def item_rules() -> dict[str, ItemRule]:
    """Return the rules by key. Raise `TableError` where a row has no source."""
    found = {
        row["key"]: ItemRule(
            row["key"],
            row["applies_from"] or None,
            row["sentence"],
            row["reference"],
            row["source_url"],
            row["source_note"],
        )
        for row in rows(_FILE)
    }
    if missing := [rule.key for rule in found.values() if not (rule.reference and rule.source_url)]:
        raise TableError(f"{_FILE.name}: {', '.join(missing)} has no source.")
    return found
