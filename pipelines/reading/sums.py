"""Finds lines that are the sum of those above: `Total;2 items;14.5` is a total, although it gives code and name.

Here a word alone is not enough: Total makes oil. `skipped.py` finds totals by their word.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from pipelines.reading.fields import Column
from pipelines.reading.numbers import read_numbers

_FEWEST: Final = 2
"""Fewest figures of a sum: one figure may also be repeated by chance."""
_NEAR: Final = 1e-6


def find_sums(cells: pl.DataFrame, columns: Sequence[Column], likely: pl.Series, totals: pl.Series) -> pl.Series:
    """Return the `likely` lines whose every figure is the sum of its column, from the top or from the last total.

    `totals` are lines that are known to be totals. A line without a figure is no total.
    """
    numbers = [column for column in columns if column.field.kind in ("number", "integer")]
    nothing = pl.repeat(value=False, n=len(likely), eager=True)
    if not likely.any() or not numbers:
        return nothing
    left_out = likely | totals
    given = cells.select(pl.any_horizontal(pl.col([c.name for c in numbers]).is_not_null())).to_series()
    fits = given & likely
    for column in numbers:
        texts = cells[column.name]
        fits &= texts.is_null() | (_is_sum(texts, column, ".", left_out) | _is_sum(texts, column, ",", left_out))
    return fits


def _is_sum(texts: pl.Series, column: Column, mark: str, left_out: pl.Series) -> pl.Series:
    """Return the lines whose figure is the sum of those above it that are not left out, with this decimal mark."""
    figures = read_numbers(texts, column, mark, None).values.cast(pl.Float64)
    counted = figures.set(left_out, None)
    table = pl.DataFrame({"figure": figures, "counted": counted, "total": left_out})
    since = pl.col("total").shift(fill_value=False).cum_sum()
    whole, part = pl.col("counted").fill_null(0).cum_sum(), pl.col("counted").fill_null(0).cum_sum().over(since)
    many = pl.col("counted").is_not_null().cum_sum(), pl.col("counted").is_not_null().cum_sum().over(since)
    near = [
        ((pl.col("figure") - total).abs() <= _NEAR * pl.max_horizontal(total.abs(), 1.0)) & (number >= _FEWEST)
        for total, number in zip((whole, part), many, strict=True)
    ]
    return table.select(pl.any_horizontal(near).fill_null(value=False)).to_series()
