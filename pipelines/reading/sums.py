"""Finds the lines of a table whose figures are the sums of those above: totals, whatever word they have."""

from collections.abc import Sequence
from typing import Final

import polars as pl

from pipelines.reading.grid import Column, repeated
from pipelines.reading.values import read_numbers

_KEYS: Final = ("sku_code", "name")
_FEWEST: Final = 2
"""Fewest figures of a sum: one figure may also be repeated by chance."""
_MOST: Final = 100
"""Most totals that a table has."""
_NEAR: Final = 1e-6
_KINDS: Final = ("number", "integer")


def find_sums(
    cells: pl.DataFrame, columns: Sequence[Column], likely: pl.Series, totals: pl.Series, starts: Sequence[int]
) -> pl.Series:
    """Return the `likely` lines whose every figure is the sum of its column, from the top or from the last total.

    `totals` are lines that are known to be totals, `starts` rows at which sums begin anew, as a further sheet does. A
    line without a figure, or with more than figures, is no total, and such a line that is likely by its code alone
    counts among those that are summed up.
    """
    numbers = [column for column in columns if column.field.kind in _KINDS]
    nothing = repeated(value=False, height=len(likely))
    if not likely.any() or not numbers:
        return nothing
    figures = {
        (column.name, mark): read_numbers(cells[column.name], column, mark, None).values.cast(pl.Float64)
        for column in numbers
        for mark in ".,"
    }
    sums = {key: _Sums(values.set(totals, None)) for key, values in figures.items()}
    sums_at, begun = [], list(starts)
    for at in (likely | totals).arg_true():
        while begun and begun[0] <= at:
            start = begun.pop(0)
            for of_column in sums.values():
                of_column.begin(start - 1)
        names = [column.name for column in numbers if cells[column.name][at] is not None]
        fits = all(any(sums[name, mark].fit(at, figures[name, mark][at]) for mark in ".,") for name in names)
        if totals[at] or (names and fits):
            sums_at += [] if totals[at] else [at]
            for key, of_column in sums.items():
                of_column.leave_out(at, 0.0 if totals[at] else figures[key][at])
    return nothing.scatter(sums_at, values=True)


def wordy_lines(cells: pl.DataFrame, columns: Sequence[Column]) -> pl.Series:
    """Return the lines that give figures under a code without a digit, below lines whose codes all have one."""
    bare = ~cells["sku_code"].str.contains(r"\d").fill_null(value=True)
    first = bare.arg_max()
    if not 0 < bare.sum() <= _MOST or first is None or cells["sku_code"].head(first).drop_nulls().len() < _FEWEST:
        return bare & False
    texts = [c.name for c in columns if c.name not in _KEYS and c.field.kind not in _KINDS]
    return bare & cells.select(~pl.any_horizontal(pl.lit(value=False), pl.col(texts).is_not_null())).to_series()


class _Sums:
    """The sums of a column down to each line, without lines that were found to be totals."""

    def __init__(self, values: pl.Series) -> None:
        self._whole = values.fill_null(0).cum_sum()
        self._many = values.is_not_null().cum_sum()
        self._left_out, self._left, self._before, self._count = 0.0, 0, 0.0, 0

    def fit(self, at: int, figure: float | None) -> bool:
        """Return whether a figure is the sum of those above it, from the top or from the last total."""
        if figure is None or not at:
            return False
        whole, many = self._whole[at - 1] - self._left_out, self._many[at - 1] - self._left
        ranges = ((whole, many), (whole - self._before, many - self._count))
        return any(abs(figure - total) <= _NEAR * max(abs(total), 1.0) and count >= _FEWEST for total, count in ranges)

    def leave_out(self, at: int, figure: float | None) -> None:
        """Leave a total out of later sums, and begin another one below it."""
        self._left_out += figure or 0.0
        self._left += bool(figure)
        self.begin(at)

    def begin(self, at: int) -> None:
        """Begin another sum below a line."""
        self._before = self._whole[at] - self._left_out
        self._count = self._many[at] - self._left
