"""Loads the table of thresholds: for each market, the tonnes from which a duty applies, its source and its confidence.

The rows are `rules/catalogue/thresholds.csv`; they never contain a fee or a legal opinion.
`compliance.obligations.verdicts` compares tonnes with a row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Final

from compliance.confidence import is_confidence
from compliance.rollup.categories import schemes
from compliance.scopes import scopes
from compliance.tables import RULES, TableError, rows, words

PINNED: Final = RULES / "catalogue" / "thresholds.csv"
GROUP_RULES: Final = frozenset({"any_above", "any_below"})
"""How several rows make one duty: due as soon as one is reached, or exempt as soon as one is."""
_SCOPE_TYPES: Final = frozenset({"all", "single_use", "category", "largest_category", "none"})
_OPERATORS: Final = frozenset({"", "lt", "le", "gt", "ge"})
_REASONS: Final = frozenset({"no_number", "turnover_needed", "record_lacks_fact", "unit_count"})


@dataclass(frozen=True, slots=True)
class Threshold:
    """One row: the tonnes that count, the quantity that they are compared with, and the source.

    `scope_type` says which categories are summed, `scope_key` which packaging of them counts. `needs_turnover` is `and`
    or `or` where a turnover, which no record has, decides together with the tonnes, else empty. `undecidable` is the
    reason where tonnes decide nothing, else None.
    """

    market: str
    obligation: str
    material: str
    scope_type: str
    scope_key: str
    categories: tuple[str, ...]
    threshold_tonnes: Decimal | None
    operator: str
    needs_turnover: str
    undecidable: str | None
    group: str | None
    group_rule: str
    source_url: str
    confidence: str
    scope_confidence: str


@lru_cache(maxsize=1)
def thresholds() -> tuple[Threshold, ...]:
    """Return the rows that come with the release, in the order of the table."""
    return read(PINNED)


def read(path: Path) -> tuple[Threshold, ...]:
    """Return the thresholds of a file. Raise `TableError` with every fault found."""
    table = rows(path)
    faults = [f"{row['code']} {row['obligation']}: {fault}." for row in table for fault in _faults(row)]
    found = tuple(_threshold(row) for row in table) if not faults else ()
    faults += _group_faults(found)
    if faults:
        raise TableError(f"{path.name}: " + " ".join(faults))
    return found


def _threshold(row: dict[str, str]) -> Threshold:
    return Threshold(
        market=row["code"],
        obligation=row["obligation"],
        material=row["material"],
        scope_type=row["scope_type"],
        scope_key=row["scope_key"],
        categories=words(row["scope_value"]),
        threshold_tonnes=Decimal(row["tonnes"]) if row["tonnes"] else None,
        operator=row["tonnes_operator"],
        needs_turnover=row["combine"],
        undecidable=row["undecidable_reason"] or None,
        group=row["group"] or None,
        group_rule=row["group_rule"],
        source_url=row["source_url"],
        confidence=row["confidence"],
        scope_confidence=row["scope_confidence"],
    )


def _faults(row: dict[str, str]) -> Iterator[str]:
    decidable = row["decidable"] == "Y"
    if row["scope_type"] not in _SCOPE_TYPES or row["tonnes_operator"] not in _OPERATORS:
        yield "scope_type or tonnes_operator has an unknown value"
    if bool(row["tonnes"]) != bool(row["tonnes_operator"]):
        yield "tonnes and tonnes_operator stand together or not at all"
    if decidable and (not row["tonnes"] or row["scope_type"] == "none" or row["undecidable_reason"]):
        yield "a decidable row has a number and a scope, and no undecidable_reason"
    if not decidable and row["undecidable_reason"] not in _REASONS:
        yield "a row that is not decidable says why"
    if decidable and (row["combine"] not in ("", "and", "or") or bool(row["combine"]) != bool(row["turnover"])):
        yield "combine is and or or where there is a turnover, else empty"
    if bool(row["group"]) != (row["group_rule"] in GROUP_RULES):
        yield "a group has the rule any_above or any_below"
    known = {category.code for category in schemes().get(row["code"], ())}
    yield from (f"{code} is no category of the market" for code in words(row["scope_value"]) if code not in known)
    if row["scope_key"] not in scopes():
        yield f"{row['scope_key']} is no scope"
    if not row["source_url"] or not is_confidence(row["confidence"]) or not is_confidence(row["scope_confidence"]):
        yield "no source, or not said how sure it is"


def _group_faults(table: Sequence[Threshold]) -> Iterator[str]:
    duties: dict[str, set[tuple[str, str, str]]] = {}
    for row in table:
        if row.group:
            duties.setdefault(row.group, set()).add((row.market, row.obligation, row.group_rule))
    yield from (f"The rows of {group} are not one duty." for group, kinds in duties.items() if len(kinds) > 1)
