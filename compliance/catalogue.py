"""Loads the catalogue of jurisdictions: the packaging EPR system of each place, with its confidence and its dates.

The rows are `rules/catalogue/jurisdictions.csv` or a file with the same columns; they never contain a fee amount or a
legal opinion. How materials map to a jurisdiction's categories is not here.
"""

import re
from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import pycountry

from compliance.tables import RULES, Row, TableError, is_confidence, record_of_row, refuse, rows
from schemas import rules as published

PINNED: Final = RULES / "catalogue" / "jurisdictions.csv"
"""The catalogue that comes with the release."""
REVIEW_HOLDS_MONTHS: Final = 18
"""How long a lawyer's review makes a row depth 3 (interface v1, jurisdiction list)."""
EU_MEMBER_STATES: Final = 27
REGIONS: Final = frozenset({"eu", "uk", "eea_efta", "us", "ca", "other"})
SYSTEMS: Final = frozenset(
    {"register_and_scheme", "scheme_only", "state_run", "product_fee", "state_programme", "partial", "none", "unknown"}
)
COMPOSITE_RULES: Final = frozenset({"constituents", "predominant", "own_category"})
"""How a pack of several materials is counted: each material, the main one, or as a category (rollup.md, step 5)."""
MONEY: Final = re.compile(
    r"[€$£]\s?\d|\d\s?[€$£]|\b(?:EUR|USD|CAD|GBP|CHF|SEK|DKK|PLN|CZK|HUF|RON|NOK|ISK)\s?\d|"
    r"\d\s?(?:EUR|USD|CAD|GBP|CHF|SEK|DKK|PLN|CZK|HUF|RON|NOK|ISK|euros?|dollars?|pounds sterling)\b",
    re.IGNORECASE,
)
"""An amount of money in a text: a number with a currency before or behind it."""


@dataclass(frozen=True, slots=True)
class Jurisdiction:
    """One row of the catalogue. None means that nobody found the fact, never that it does not exist.

    `composite_rule` and `composite_threshold_percent` say how a pack of several materials is counted.
    """

    code: str
    name: str
    parent_code: str | None
    region: str
    system: str
    system_key: str
    register_name: str | None
    register_url: str | None
    law_title: str | None
    law_reference: str | None
    law_date: date | None
    scope: str
    reporting_period: tuple[str, ...]
    local_labelling_rule: str | None
    base_depth: int
    verified_on: date | None
    reviewed_on: date | None
    source_url: str | None
    source_note: str | None
    served: bool
    composite_rule: str
    composite_threshold_percent: str
    year: int | None = None
    """The calendar year whose categories it declares in; None for the newest ones. No column of the catalogue."""

    def depth(self, today: date) -> int:
        """Return 1 for signalled, 2 for sourced, 3 for reviewed by a lawyer at most 18 months ago (same day counts)."""
        if self.reviewed_on is None:
            return min(self.base_depth, 2)
        return 3 if today <= _months_later(self.reviewed_on, REVIEW_HOLDS_MONTHS) else 2

    def as_dict(self, today: date) -> dict[str, object]:
        """Return the entry as the jurisdiction list publishes it, without authorised representatives."""
        depth = self.depth(today)
        return {name: depth if name == "depth" else _published(getattr(self, name)) for name in _OF_LIST}


_COLUMNS: Final = (
    *(field.name for field in fields(Jurisdiction) if field.name not in ("base_depth", "served", "year")),
    *("law_date_seen", "depth", "in_catalogue", "composite_basis", "composite_note"),
)
"""The columns that a catalogue file must have."""
_OF_LIST: Final = tuple(
    name for name in published.Jurisdiction.model_fields if not name.startswith("authorised_representative")
)
"""What the jurisdiction list says of each, less what `compliance.representatives` adds."""


def _published(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else list(value) if isinstance(value, tuple) else value


def load(path: Path = PINNED) -> tuple[Jurisdiction, ...]:
    """Return all rows of a catalogue file, sorted by code, whether served or only recorded.

    Raise `TableError` with every fault found: a missing column, a code that is no ISO 3166 code, a row without source,
    an amount of money, a missing Member State or GB.
    """
    table = rows(path)
    if table and (missing := [column for column in _COLUMNS if column not in table[0]]):
        raise TableError(f"{path.name}: column {', '.join(missing)} is missing.")
    refuse(path.name, (*(fault for row in table for fault in _row_faults(row)), *_table_faults(table)))
    return _records(table)


def _records(table: Iterable[Row]) -> tuple[Jurisdiction, ...]:
    records = (
        record_of_row(Jurisdiction, row, base_depth=int(row["depth"]), served=row["in_catalogue"] == "Y")
        for row in table
    )
    return tuple(sorted(records, key=lambda entry: entry.code))


@cache
def pinned() -> tuple[Jurisdiction, ...]:
    """Return the rows that come with the release; its tests have loaded them, which here would take 0.06 s, 2 MiB."""
    return _records(rows(PINNED))


def served(entries: Iterable[Jurisdiction]) -> list[Jurisdiction]:
    """Return the rows that the jurisdiction list shows, in their order."""
    return [entry for entry in entries if entry.served]


@cache
def eu_codes() -> frozenset[str]:
    """Return the codes of the European Union's territory: its Member States, and their regions that have a row."""
    return frozenset(entry.code for entry in pinned() if entry.region == "eu")


@cache
def member_states() -> tuple[str, ...]:
    """Return the codes of the Member States of the European Union, without their regions."""
    return tuple(entry.code for entry in pinned() if entry.region == "eu" and entry.parent_code is None)


def coverage(entries: Sequence[Jurisdiction], today: date) -> dict[str, object]:
    """Return the depth of the served rows on a day: counts by depth, the newest verification, the breakdown."""
    depths = Counter(entry.depth(today) for entry in entries)
    verified = [entry.verified_on for entry in entries if entry.verified_on]
    return {
        "guided": depths[3],
        "sourced": depths[2],
        "signalled": depths[1],
        "newest_verified_on": _published(max(verified, default=None)),
        "breakdown": {
            "by_system": dict(sorted(Counter(entry.system_key for entry in entries).items())),
            "by_region": dict(sorted(Counter(entry.region for entry in entries).items())),
        },
    }


def is_iso_3166(code: str) -> bool:
    """Return whether the text is the code of a country (alpha-2) or of a subdivision."""
    if "-" in code:
        return pycountry.subdivisions.get(code=code) is not None  # type: ignore[no-untyped-call]
    return pycountry.countries.get(alpha_2=code) is not None


def _row_faults(row: Row) -> Iterator[str]:
    code, parent = row["code"], row["parent_code"]
    if not is_iso_3166(code):
        yield f"{code}: no ISO 3166 code."
    if parent != (code[:2] if "-" in code else ""):
        yield f"{code}: parent_code must be the country of a subdivision, and empty for a country."
    if not row["source_url"] and not row["source_note"]:
        yield f"{code}: no source."
    if row["region"] not in REGIONS or row["system_key"] not in SYSTEMS or row["in_catalogue"] not in ("Y", "N"):
        yield f"{code}: region, system_key or in_catalogue has an unknown value."
    if row["depth"] not in ("1", "2", "3") or (row["depth"] == "3" and not row["reviewed_on"]):
        yield f"{code}: depth is 1, 2 or 3, and 3 only with reviewed_on."
    if row["composite_rule"] not in COMPOSITE_RULES:
        yield f"{code}: composite_rule is one of {', '.join(sorted(COMPOSITE_RULES))}."
    if not re.fullmatch(r"\d{1,2}(\.\d+)?", row["composite_threshold_percent"]):
        yield f"{code}: composite_threshold_percent is no percentage."
    for column in ("law_date", "verified_on", "reviewed_on"):
        if row[column] and _day(row[column]) is None:
            yield f"{code}: {column} must be a full date or empty."
    for column, text in row.items():
        if MONEY.search(text):
            yield f"{code}: {column} holds an amount of money, which the catalogue never does."


def _table_faults(table: Sequence[Row]) -> Iterator[str]:
    codes = Counter(row["code"] for row in table)
    yield from (f"{code} stands {count} times." for code, count in codes.items() if count > 1)
    served_states = [
        row for row in table if row["region"] == "eu" and row["in_catalogue"] == "Y" and len(row["code"]) == 2
    ]
    if len(served_states) != EU_MEMBER_STATES:
        yield f"{len(served_states)} Member States of the Union are served; there are {EU_MEMBER_STATES}."
    if "GB" not in codes:
        yield "GB is missing."


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) else None
    except ValueError:
        return None


def _months_later(day: date, months: int) -> date:
    """Return the same day so many months later, or the last day of a shorter month."""
    years, month = divmod(day.month - 1 + months, 12)
    year = day.year + years
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


PINNED_COVERAGE: Final = RULES / "catalogue" / "coverage.csv"
KINDS: Final = ("household", "commercial", "transport", "reusable", "deposit")
"""The kinds of packaging that a row covers."""
ANSWERS: Final = frozenset({"Y", "N", "partly", "other_scheme", "none", "unknown"})
"""In this order: covered; not covered; in part; by a scheme of its own; none of it exists, or no duty; not found."""


_COVERAGE: Final = (*KINDS, "confidence", "source_url", "missing_to_serve", "note")


@cache
def coverages() -> Mapping[str, Mapping[str, str | None]]:
    """Return the packaging that each jurisdiction's duties cover, by code, as answers publish it.

    Each kind is one of `ANSWERS`; `missing_to_serve` names what a jurisdiction lacks that is not served.
    """
    return read(PINNED_COVERAGE)


def read(path: Path) -> Mapping[str, Mapping[str, str | None]]:
    """Return the coverage of a file. Raise `TableError` with every fault, including a jurisdiction without a row."""
    coverage = {
        code: {name.removeprefix("covers_"): cell or None for name, cell in row.items()}
        for code, row in rows_by_code(path, _faults).items()
    }
    return MappingProxyType({code: {name: row[name] for name in _COVERAGE} for code, row in coverage.items()})


def rows_by_code(path: Path, faults_of: Callable[[Row, Jurisdiction], Iterator[str]]) -> Mapping[str, Row]:
    """Return the rows of a file that has one for each jurisdiction. Raise `TableError` with every fault."""
    table, entries = rows(path), {entry.code: entry for entry in pinned()}
    codes = [row["code"] for row in table]
    faults = [f"{code} stands {codes.count(code)} times." for code in dict.fromkeys(codes) if codes.count(code) > 1]
    faults += [f"{code} has no row." for code in entries if code not in codes]
    faults += [f"{code}: the catalogue has no such row." for code in codes if code not in entries]
    listed = [row for row in table if row["code"] in entries]
    faults += [f"{row['code']}: {fault}." for row in listed for fault in faults_of(row, entries[row["code"]])]
    refuse(path.name, faults)
    return {row["code"]: row for row in table}


def _faults(row: Row, entry: Jurisdiction) -> Iterator[str]:
    if entry.served == bool(row["missing_to_serve"]):
        yield "missing_to_serve is said of what is not served, and of nothing else"
    if any(row[f"covers_{kind}"] not in ANSWERS for kind in KINDS):
        yield "covers_… has an unknown value"
    if not row["source_url"] or not is_confidence(row["confidence"]):
        yield "no source, or not said how sure it is"


PINNED_DUE_DAYS: Final = RULES / "catalogue" / "due_days.csv"
OTHER_DUTIES: Final = ("sup_fund_report", "register_report")
"""Reports of other things than a declaration of tonnes: it neither meets them nor is late because of them."""
DUTIES: Final = (
    *("annual_report", "half_report", "scheme_report", "simplified_report", "completeness_declaration"),
    *OTHER_DUTIES,
)
_UNION: Final = "EU"
"""The code of a day that every Member State has."""
BOUNDS: Final = ("by", "before")
"""Whether the day itself is still in time."""
HALVES: Final = {"": 0, "1": 1, "2": 2}
_LAST: Final = "last"
_LEAP_YEAR: Final = 2024


@dataclass(frozen=True, slots=True)
class DueDay:
    """A day by or before which a duty is due; `day` is None for the last one of the month.

    `half` is the half of the year that the duty is about, 0 for the whole year; `first_year` the first year that is
    reported, None where no source states one.
    """

    duty: str
    half: int
    bound: str
    month: int
    day: int | None
    confidence: str
    source_url: str
    note: str | None
    first_year: int | None

    def after(self, year: int) -> date:
        """Return the day on which the report about a calendar year or its half is due: one of the next year.

        The first half is reported in the year itself.
        """
        due = year if self.half == 1 else year + 1
        return date(due, self.month, self.day or monthrange(due, self.month)[1])


@cache
def due_days() -> Mapping[str, Sequence[DueDay]]:
    """Return the days that come with the release, by jurisdiction code."""
    return read_due_days(PINNED_DUE_DAYS)


def read_due_days(path: Path) -> Mapping[str, Sequence[DueDay]]:
    """Return the days of a file. Raise `TableError` with every fault."""
    table, codes = rows(path), {entry.code for entry in pinned()}
    refuse(
        path.name,
        (
            f"line {number}: {fault}."
            for number, row in enumerate(table, start=2)
            for fault in _due_day_faults(row, codes)
        ),
    )
    days: dict[str, list[DueDay]] = {}
    for row in table:
        day = None if row["day"] == _LAST else int(row["day"])
        first_year = int(row["from"]) if row["from"] else None
        due = record_of_row(DueDay, row, half=HALVES[row["half"]], day=day, first_year=first_year)
        for code in member_states() if row["code"] == _UNION else (row["code"],):
            days.setdefault(code, []).append(due)
    return MappingProxyType(days)


def _due_day_faults(row: Row, codes: set[str]) -> Iterator[str]:
    if row["code"] not in codes | {_UNION}:
        yield f"{row['code']} is not in the catalogue"
    if row["duty"] not in DUTIES or row["bound"] not in BOUNDS:
        yield "duty or bound is unknown"
    if row["half"] not in HALVES or (row["duty"] == "half_report") != bool(row["half"]):
        yield "a half is said of the report of a half, and of nothing else"
    if not is_confidence(row["confidence"]) or not row["source_url"].startswith("http"):
        yield "a day needs its source and how sure it is"
    try:
        date(_LEAP_YEAR, int(row["month"]), 1 if row["day"] == _LAST else int(row["day"]))
        if (row["month"], row["day"]) == ("2", "29"):
            yield "the last day of February is written “last”"
    except ValueError:
        yield "month and day are no day of a year"


ROW_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "jurisdictions.csv": ("name",),
    "thresholds.csv": ("obligation", "material", "from"),
    "scheme_categories.csv": ("category_code",),
    "due_days.csv": ("duty", "half"),
    "coverage.csv": (),
}
"""The tables whose rows the catalogue's page lists, with the columns that name a row beside its code."""
_FIRST_VERSION: Final = "2026-11-22"


class ListedRow(NamedTuple):
    """One row of a table as the catalogue's page lists it.

    `since` is the version that last changed it, `what` how; `sure` is its confidence, of a jurisdiction its depth and
    the day on which it was verified, where somebody did.
    """

    code: str
    name: str
    since: str
    what: str
    sure: str


@cache
def listed_rows() -> Mapping[str, tuple[ListedRow, ...]]:
    """Return the rows of each table that come with the release, in their order, with their age (`changes.csv`)."""
    changes = {(row["table"], row["code"], row["row"]): row for row in rows(PINNED.with_name("changes.csv"))}
    by_table: dict[str, tuple[ListedRow, ...]] = {}
    for table, names in ROW_NAMES.items():
        listed = []
        for row in rows(PINNED.with_name(table)):
            name = " ".join(filter(None, (row[column] for column in names)))
            change = changes.pop((table, row["code"], name), {"version": _FIRST_VERSION, "what": ""})
            sure = row.get("confidence") or f"depth {row['depth']}, verified on {row['verified_on'] or 'no day'}"
            listed.append(ListedRow(row["code"], name, change["version"], change["what"], sure))
        by_table[table] = tuple(listed)
    refuse("changes.csv", (f"{' '.join(key)} is no row." for key in changes))
    return MappingProxyType(by_table)
