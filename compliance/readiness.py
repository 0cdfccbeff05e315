"""Loads the findings that may block a SKU from a market, each with its source and the day from which it applies.

The rows are `rules/readiness/findings.csv`. `warehouse.figures.reader` finds, over whole portfolios, the records
that meet one. A finding says what the records show and is never legal advice.
"""

from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import cache
from typing import Final, Literal, get_args

from compliance.tables import RULES, Row, TableError, record_of_row, rows
from schemas.figures import FindingEntry

Kind = Literal["blocks", "decide", "upcoming", "missing"]
"""`blocks`: a stored fact forbids it today. `decide`: a fact without a field would. `upcoming`: from a later day.
`missing`: a required fact is not recorded.
"""

_FILE: Final = RULES / "readiness" / "findings.csv"


@dataclass(frozen=True, slots=True)
class Finding:
    """One row: `fields` to check, `weight` from 0 to 100 how serious it is, `eu` if it applies only in the Union.

    `applies_from` is the day from which the rule applies; None where it is no rule of law or each case has its own day.
    """

    key: str
    kind: Kind
    eu: bool
    applies_from: date | None
    weight: int
    fields: tuple[str, ...]
    sentence: str
    reference: str | None
    source_url: str | None

    def on(self, today: date) -> "Finding":
        """Return the finding as it counts on a day: `upcoming` before it applies."""
        return replace(self, kind="upcoming") if self.applies_from and today < self.applies_from else self

    def as_dict(self) -> FindingEntry:
        """Return the finding as answers publish it."""
        return {
            "code": self.key,
            "kind": self.kind,
            "sentence": self.sentence,
            "fields": list(self.fields),
            "applies_from": self.applies_from.isoformat() if self.applies_from else None,
            "reference": self.reference,
            "source_url": self.source_url,
        }


@cache
def findings() -> tuple[Finding, ...]:
    """Return all findings, in the order of the table. Raise `TableError` where a row contradicts the table's form."""
    return tuple(_finding(row) for row in rows(_FILE))


def _finding(row: Row) -> Finding:
    if row["kind"] not in get_args(Kind) or row["scope"] not in ("eu", "any") or not row["source_note"]:
        raise TableError(f"{_FILE.name}: {row['key']} has an unknown kind or scope, or no source.")
    return record_of_row(Finding, row, kind=row["kind"], eu=row["scope"] == "eu")


_RULES_FILE: Final = RULES / "readiness" / "item_rules.csv"


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


@cache
def item_rules() -> dict[str, ItemRule]:
    """Return the rules by key. Raise `TableError` where a row has no source."""
    rules = {row["key"]: record_of_row(ItemRule, row) for row in rows(_RULES_FILE)}
    if missing := [rule.key for rule in rules.values() if not (rule.reference and rule.source_url)]:
        raise TableError(f"{_RULES_FILE.name}: {', '.join(missing)} has no source.")
    return rules
