"""Exact decimals of grams and tonnes: the only module that converts a weight to a number and rounds a sum to a figure.

Polars cuts a product of decimals, rounds halves to even and wraps a grouped sum that is too large; a float cast to a
decimal brings its binary error along. So weights are cast by their text, only whole numbers multiply them, sums are
kept within range, and a figure is rounded once, here.
"""

from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Final

import polars as pl

GRAMS: Final = pl.Decimal(38, 18)
"""Grams to the attogram, below 10^20 g (a hundred million million tonnes)."""
COUNT: Final = pl.Decimal(38, 0)
"""Units; wide enough for any sum of them."""
HEAVIEST: Final = 1e12
"""Grams; a stated weight above a million tonnes is treated as no weight."""
MOST: Final = 1e13
"""Grams of one SKU in one period of a market, ten million tonnes: ten million such SKUs can still be summed."""
_LINES_OF_A_SKU: Final = 1_000
"""More lines than any SKU has."""
_WEIGHT: Final = pl.Decimal(33, 18)
_EXACT: Final = Context(prec=60)
_WRITTEN: Final = Decimal("0.000001")
_GRAMS_PER_TONNE: Final = 6


def grams(column: str) -> pl.Expr:
    """Return a column of weights in grams by their shortest decimal text, as the caller wrote them; null stays null.

    A weight with more than 18 decimals is read to the eighteenth; one above `HEAVIEST` is null.
    """
    weight = pl.col(column)
    return pl.when(weight <= HEAVIEST).then(weight).cast(pl.String).cast(_WEIGHT).cast(GRAMS)


def times_units(grams_column: str) -> pl.Expr:
    """Multiply grams of one unit by the whole number of `units`. Polars raises `ComputeError` from 10^20 g."""
    return pl.col(grams_column) * pl.col("units").cast(COUNT)


def beyond_reach(lines: pl.DataFrame, counting: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `counting` (`sku`, `units`) whose lines (`sku`, `grams` of one unit) sum to more than `MOST`.

    Floats are exact enough for an estimate. The frames are not joined where the heaviest line and the most units cannot
    make such a row.
    """
    most, heaviest = (
        frame.select(pl.col(name).max()).item() for frame, name in ((counting, "units"), (lines, "grams"))
    )
    if float(most or 0) * float(heaviest or 0) * _LINES_OF_A_SKU <= MOST:
        return counting.clear()
    of_sku = lines.group_by("sku").agg(pl.col("grams").cast(pl.Float64).sum().alias("unit_grams"))
    return counting.join(of_sku, on="sku", how="inner").filter(pl.col("unit_grams") * pl.col("units") > MOST)


def within_reach(column: pl.Series) -> None:
    """Raise `OverflowError` where all grams together exceed the type: the whole sum is checked, a grouped one wraps."""
    try:
        column.sum()
    except pl.exceptions.ComputeError as fault:
        sentence = "The packaging of this portfolio comes to more than 10^14 tonnes; a weight must be wrong."
        raise OverflowError(sentence) from fault


def exceeds(part: pl.Expr, whole: pl.Expr, percent: str) -> pl.Expr:
    """Return whether a part is more than so many percent of the whole, without a division."""
    limit = Fraction(percent)
    return part * (100 * limit.denominator) > whole * limit.numerator


def tonnes(total_grams: Decimal) -> Decimal:
    """Return exact tonnes."""
    return _EXACT.scaleb(total_grams, -_GRAMS_PER_TONNE)


def difference(whole: Decimal, *parts: Decimal) -> Decimal:
    """Return the whole minus its parts, exactly."""
    rest = whole
    for part in parts:
        rest = _EXACT.subtract(rest, part)
    return rest


def in_tonnes() -> pl.Expr:
    """Return the column `grams` as written tonnes, row by row: for the rows of an answer."""
    return pl.col("grams").map_elements(written_tonnes, return_dtype=pl.Decimal(38, 6))


def written_tonnes(total_grams: Decimal) -> Decimal:
    """Return tonnes as a figure is written: six places, half away from zero."""
    return rounded(tonnes(total_grams))


def half_up(value: Fraction, place: Decimal) -> Decimal:
    """Return a value that is never below 0 to a decimal place, half up."""
    return int(value / Fraction(place) + Fraction(1, 2)) * place


def rounded(exact_tonnes: Decimal) -> Decimal:
    """Return exact tonnes as a figure is written."""
    return exact_tonnes.quantize(_WRITTEN, rounding=ROUND_HALF_UP, context=_EXACT)
