"""Decides whether a SKU is in the scope of a duty or a category (rollup.md, step 7a).

Rows of `scopes.csv` define what a scope includes; rows of `scope_facts.csv` derive the five deciding facts from a
record, and the first row that fits counts. A whole portfolio is judged by the few different answers of its SKUs
(`compliance.rollup.categories`). The tables of duties and categories name their scope.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from compliance.catalogue import eu_codes
from compliance.tables import RULES, Row, TableError, is_confidence, refuse, rows, words
from schemas.messages import Message
from schemas.normalise import country_of
from schemas.skus.types import Sku

PINNED: Final = RULES / "catalogue" / "scopes.csv"
FACTS_TABLE: Final = RULES / "catalogue" / "scope_facts.csv"
ALL: Final = "all"
"""The scope of a duty without a narrower one, and of a category that no table names."""
FACTS: Final = ("packaging_level", "reusable", "deposit_container", "household_like", "hazardous_contents")
"""The deciding facts, in the order in which they are checked."""
IN: Final = "in"
OUT: Final = "out"
ASK: Final = "ask"
YES: Final = "yes"
_UNKNOWN: Final = "unknown"
_NOTHING: Final = "-"
_LETS_ANY_IN: Final = frozenset({"*", "any"})
_COLUMN_OF: Final = {"packaging_level": "packaging_levels"}
_CONDITIONS: Final = (
    "packaging_levels",
    "reusable",
    "reuse_deposit_system",
    "packaging_format_keys",
    "use_contexts",
    "also_use_contexts",
)


class Face(NamedTuple):
    """The fields of a SKU from which the facts are read; None and an empty tuple are values that are not given."""

    packaging_level: str | None
    reusable: bool | None
    reuse_deposit_system: bool | None
    packaging_format_key: str | None
    use_contexts: tuple[str, ...]


class Answer(NamedTuple):
    """The record's answer to a fact; where it is unknown, the `field` that would answer it."""

    answer: str
    field: str | None


class Standing(tuple[Answer, ...]):
    """The answers of a SKU to `FACTS`, in their order."""

    __slots__ = ()

    @property
    def is_single_use(self) -> bool:
        """Whether it counts as single use: every SKU that is not declared reusable."""
        return self[FACTS.index("reusable")].answer != YES

    @property
    def code(self) -> str:
        """All answers as one text, under which figures are stored: `sales|no|?reuse_deposit_system|yes|no`."""
        return "|".join(f"?{answer.field}" if answer.field else answer.answer for answer in self)

    @classmethod
    def from_code(cls, code: str) -> "Standing":
        """Parse the standing of a code."""
        return cls(Answer(_UNKNOWN, part[1:]) if part[0] == "?" else Answer(part, None) for part in code.split("|"))


class Judgement(NamedTuple):
    """`verdict` is in, out or ask; `fields` would decide an ask, `fact` is the first that is out."""

    verdict: str
    fields: tuple[str, ...] = ()
    fact: str | None = None


class Scope(NamedTuple):
    """The answers that each fact allows (None for any), and the facts that are asked for where they are missing."""

    lets_in: tuple[frozenset[str] | None, ...]
    asks: tuple[bool, ...]


@lru_cache(maxsize=4096)
def standing_of(face: Face) -> Standing:
    """Return the record's answers to the facts."""
    return Standing(next(row.answer for row in _facts()[fact] if row.fits(face)) for fact in FACTS)


@lru_cache(maxsize=4096)
def judge_scope(scope_key: str, standing: Standing) -> Judgement:
    """Return whether packaging with these answers is in a scope. Raise `KeyError` for a scope that no row defines."""
    scope = scopes()[scope_key]
    missing: list[str] = []
    for fact, (answer, field), allowed, asks in zip(FACTS, standing, scope.lets_in, scope.asks, strict=True):
        if allowed is None:
            continue
        if field is None and answer not in allowed:
            return Judgement(OUT, fact=fact)
        if field is not None and asks and field not in missing:
            missing.append(field)
    return Judgement(ASK, tuple(missing)) if missing else Judgement(IN)


@cache
def household_uses() -> tuple[str, ...]:
    """Return the uses that make packaging one that ends in households, sorted."""
    at, answers = _CONDITIONS.index("use_contexts"), _facts()["household_like"]
    return tuple(sorted({use for row in answers if row.answer.answer == YES for use in row.conditions[at]} - {"*"}))


@cache
def asked_fields() -> tuple[str, ...]:
    """Return the fields that may be missing, each once, in the order of the facts."""
    return tuple(dict.fromkeys(row.answer.field for fact in FACTS for row in _facts()[fact] if row.answer.field))


@cache
def scopes() -> Mapping[str, Scope]:
    """Return the scopes that come with the release, by key."""
    return read(PINNED)


def read(path: Path) -> Mapping[str, Scope]:
    """Return the scopes of a file. Raise `TableError` with every fault found."""
    table = rows(path)
    faults = [f"{row['scope_key']}: {fault}." for row in table for fault in _faults(row)]
    keys = [row["scope_key"] for row in table]
    faults += [f"{key} stands more than once." for key in dict.fromkeys(keys) if keys.count(key) > 1]
    if ALL not in keys:
        faults.append(f"{ALL} is missing.")
    refuse(path.name, faults)
    return MappingProxyType({row["scope_key"]: _scope(row) for row in table})


def read_facts(path: Path) -> Mapping[str, tuple["_FactRow", ...]]:
    """Return the answer rows, by fact. Raise `TableError` where the last row of a fact does not fit every record."""
    levels: dict[str, tuple[_FactRow, ...]] = dict.fromkeys(FACTS, ())
    for row in rows(path):
        if row["fact"] not in levels or (row["answer"] == _UNKNOWN) != bool(row["field"]):
            raise TableError(f"{path.name}: {row['fact']} is no fact, or a field stands beside an answer.")
        conditions = tuple(frozenset(words(row[column])) for column in _CONDITIONS)
        levels[row["fact"]] += (_FactRow(conditions, Answer(row["answer"], row["field"] or None)),)
    if ends := [fact for fact, level in levels.items() if not level or any("*" not in key for key in level[-1][0])]:
        raise TableError(f"{path.name}: the last row of {', '.join(ends)} does not fit every record.")
    return MappingProxyType(levels)


class _FactRow(NamedTuple):
    """A fact's answer where a face fits all conditions; each condition is a set of values of a column."""

    conditions: tuple[frozenset[str], ...]
    answer: Answer

    def fits(self, face: Face) -> bool:
        answers = (
            _said(face.packaging_level),
            _said(face.reusable),
            _said(face.reuse_deposit_system),
            _said(face.packaging_format_key),
            face.use_contexts or (_NOTHING,),
            face.use_contexts or (_NOTHING,),
        )
        return all(
            "*" in wanted or not wanted.isdisjoint(has) for wanted, has in zip(self.conditions, answers, strict=True)
        )


def _said(value: str | bool | None) -> Sequence[str]:
    return (_NOTHING,) if value is None else (str(value).lower(),)


@cache
def _facts() -> Mapping[str, tuple[_FactRow, ...]]:
    return read_facts(FACTS_TABLE)


def _scope(row: Row) -> Scope:
    cells = [row[_COLUMN_OF.get(fact, fact)] for fact in FACTS]
    return Scope(
        lets_in=tuple(None if cell in _LETS_ANY_IN else frozenset(words(cell)) for cell in cells),
        asks=tuple(_if_unknown(row, fact) == ASK for fact in FACTS),
    )


def _if_unknown(row: Row, fact: str) -> str:
    """Return what an unknown answer counts as; a fact without a column of its own is asked for."""
    return row.get(f"unknown_{fact}", ASK)


def _faults(row: Row) -> Iterator[str]:
    for fact in FACTS:
        answers = {row.answer.answer for row in _facts()[fact]} - {_UNKNOWN}
        cell = row[_COLUMN_OF.get(fact, fact)]
        if cell not in _LETS_ANY_IN and not (words(cell) and answers | {YES} >= set(words(cell))):
            yield f"{fact} lets in what is no answer"
        if _if_unknown(row, fact) not in (IN, ASK):
            yield f"unknown_{fact} is {IN} or {ASK}"
    if not row["meaning"] or not row["source_url"] or not is_confidence(row["confidence"]):
        yield "no meaning or source, or not said how sure it is"


FIRST_YEAR_IN_EFFECT: Final = 2026
"""The year in which Regulation (EU) 2025/40 begins to apply (Article 71); units of earlier years make no market."""


class PlacedUnits(NamedTuple):
    """Units of one SKU placed on one market in a period of a calendar year."""

    market: str
    year: int
    units: int | None


def markets_in_effect(declared: Iterable[str] | None, placed: Iterable[PlacedUnits]) -> list[str]:
    """Return the codes of the SKU's markets in effect, sorted."""
    by_units = {row.market for row in placed if row.year >= FIRST_YEAR_IN_EFFECT and (row.units or 0) > 0}
    return sorted({*(declared or ()), *by_units})


def of_record(record: Sku) -> list[str]:
    """Return the codes of the markets in effect of a record, by its `markets` and `volumes`, sorted."""
    return markets_in_effect(record.get("markets"), _placed(record))


def is_in_union(code: str) -> bool:
    """Return whether a market is in the European Union: a Member State, a part of one, or a territory of it."""
    return code in eu_codes() or country_of(code) in eu_codes()


def why_in_union(record: Sku) -> Message | None:
    """Return what makes a market in the Union one of the record's markets in effect; None where none is.

    The first of those that `markets` names, else the first by code and year of those on which units are placed.
    """
    for code in record.get("markets") or ():
        if is_in_union(code):
            return Message("markets names {market}", market=code)
    for row in sorted(_placed(record)):
        if is_in_union(row.market) and markets_in_effect((), [row]):
            return Message(
                "units of {year} ({units}) make {market} a market",
                year=str(row.year),
                units=row.units,
                market=row.market,
            )
    return None


def _placed(record: Sku) -> list[PlacedUnits]:
    rows = record.get("volumes") or ()
    return [PlacedUnits(row["market"], row["year"], row["units_placed"]) for row in rows]
