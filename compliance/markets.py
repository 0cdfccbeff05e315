"""Markets of a SKU, in effect: those that it names, and those on which it is placed (decisions §13).

Refusals, flags, readiness, gaps and every filter named `market` count a SKU's markets so. `markets` itself is stored
and answered as it was sent. SQL has the same rule in `warehouse` (tests hold both together).
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from compliance.catalogue import eu_codes
from schemas.messages import Message
from schemas.normalise import country_of
from schemas.sku import Sku

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
