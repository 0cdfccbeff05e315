"""Loads which packaging each jurisdiction's duties cover: household, commercial, transport, reusable, deposit.

The rows are `rules/catalogue/coverage.csv`, one for every row of the catalogue. They describe whole jurisdictions;
`compliance.scopes` decides which SKUs count towards one duty.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from compliance import catalogue
from compliance.confidence import is_confidence
from compliance.tables import RULES, Row, TableError, rows

PINNED: Final = RULES / "catalogue" / "coverage.csv"
KINDS: Final = ("household", "commercial", "transport", "reusable", "deposit")
"""The kinds of packaging that a row covers."""
ANSWERS: Final = frozenset({"Y", "N", "partly", "other_scheme", "none", "unknown"})
"""In this order: covered; not covered; in part; by a scheme of its own; none of it exists, or no duty; not found."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """One row; each kind is one of `ANSWERS`. `missing_to_serve` names what a jurisdiction lacks that is not served."""

    household: str
    commercial: str
    transport: str
    reusable: str
    deposit: str
    confidence: str
    source_url: str
    missing_to_serve: str | None
    note: str | None

    def as_dict(self) -> dict[str, object]:
        """Return the row as answers publish it."""
        return asdict(self)


@lru_cache(maxsize=1)
def coverages() -> Mapping[str, Coverage]:
    """Return the rows that come with the release, by jurisdiction code."""
    return read(PINNED)


def read(path: Path) -> Mapping[str, Coverage]:
    """Return the coverage of a file. Raise `TableError` with every fault, including a jurisdiction without a row."""
    table = rows(path)
    served = {entry.code: entry.served for entry in catalogue.pinned()}
    codes = [row["code"] for row in table]
    faults = [f"{code} stands {codes.count(code)} times." for code in dict.fromkeys(codes) if codes.count(code) > 1]
    faults += [f"{code} has no row." for code in served if code not in codes]
    faults += [f"{row['code']}: {fault}." for row in table for fault in _faults(row, served)]
    if faults:
        raise TableError(f"{path.name}: " + " ".join(faults))
    return MappingProxyType({row["code"]: _coverage(row) for row in table})


def _coverage(row: Row) -> Coverage:
    return Coverage(
        **{kind: row[f"covers_{kind}"] for kind in KINDS},
        confidence=row["confidence"],
        source_url=row["source_url"],
        missing_to_serve=row["missing_to_serve"] or None,
        note=row["note"] or None,
    )


def _faults(row: Row, served: Mapping[str, bool]) -> Iterator[str]:
    if row["code"] not in served:
        yield "the catalogue has no such row"
    elif served[row["code"]] == bool(row["missing_to_serve"]):
        yield "missing_to_serve is said of what is not served, and of nothing else"
    if any(row[f"covers_{kind}"] not in ANSWERS for kind in KINDS):
        yield "covers_… has an unknown value"
    if not row["source_url"] or not is_confidence(row["confidence"]):
        yield "no source, or not said how sure it is"
