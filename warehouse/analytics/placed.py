"""Defines the units that stand beside a gap or a market: those of one calendar year (decisions §13), as SQL.

The year is the newest one up to today's of which the company has units above 0 in the market, or anywhere where no
market is asked. Units of a year are its own row; else its halves together, in a market that has halves (rollup.md §1).
Parameters are those of `findings`. A test holds this to `compliance.rollup.periods`.
"""

from datetime import date
from typing import Final

from compliance.rollup.periods import HALF_YEARLY
from warehouse.analytics.reader import Reader

_HALF_YEARLY: Final = ", ".join(f"'{market}'" for market in sorted(HALF_YEARLY))


def in_market(code: str) -> str:
    """Return the condition that a code, an SQL expression, is the market asked for or a subdivision of it."""
    return f"({code} = $market OR starts_with({code}, $market || '-'))"


PLACED: Final = f"""
of_years AS (
    SELECT sku_code, market, year, coalesce(
        max(units_placed) FILTER (half = 0), sum(units_placed) FILTER (half > 0 AND market IN ({_HALF_YEARLY}))
    ) AS units
    FROM volumes WHERE $market IS NULL OR {in_market("market")} GROUP BY ALL
), period AS (
    SELECT max(year) AS year FROM of_years WHERE units > 0 AND year <= year($today::DATE)
), placed AS (
    SELECT sku_code, sum(units) FILTER (year = (SELECT year FROM period)) AS units, true AS has_volumes
    FROM of_years GROUP BY sku_code
)"""
"""`placed` has a row per SKU with units of any period there; its `units` are of `period`, null where it has none."""
_PERIOD: Final = f"WITH {PLACED} SELECT year FROM period"


def period(answers: Reader, market: str | None, today: date) -> int | None:
    """Return the calendar year whose units an answer names; None where the company has no units there."""
    [(year,)] = answers.rows(_PERIOD, market=market, today=today)
    return None if year is None else int(year)
