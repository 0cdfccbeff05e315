"""Takes samples of cells: a few texts of each column, by which a person recognises it. They decide nothing."""

from collections.abc import Mapping
from typing import Final, TypeAlias

import polars as pl

Samples: TypeAlias = Mapping[int, list[str]]
"""Texts of a column's cells, by the column's position."""
_ROWS: Final = 200
_MOST: Final = 3
_LONGEST: Final = 60


def samples_of(cells: pl.DataFrame) -> Samples:
    """Return up to three different texts of each column of a grid (`c0`, `c1`, …), from its first rows."""
    top = cells.head(_ROWS)
    texts = {int(name[1:]): top[name].drop_nulls().unique(maintain_order=True) for name in top.columns}
    return {at: [_cut(text) for text in found.head(_MOST)] for at, found in texts.items()}


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
