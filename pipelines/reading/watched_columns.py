"""Finds columns that no field is read from, but that say what the weights are of: a quantity, a period, a nation.

`quantities.py` decides what they do to the weights.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from pipelines.reading.fields import WEIGHT_HELPERS, WEIGHTS, Column
from pipelines.reading.grid import Grid
from schemas.code_lists import code_lists
from schemas.words import code_of, fold

_QUANTITY: Final = next(field for field in WEIGHT_HELPERS if field.name == "unit_count")
_LINES: Final = 40
"""Lines below the header whose cells say what a column is."""
_LONGEST: Final = 8
"""Words of the longest header of a quantity."""
_PERIOD: Final = (
    r"(?i)^(?:(?:19|20)\d\d(?:[-/ .]?(?:[hqsp]\d{1,2}|\d\d))?|[hqs][1-4][-/ .]?(?:20\d\d)?|\d\d?[./-]20\d\d)$"
)


def watched_columns(columns: Sequence[Column], cells: Sequence[str | None], grid: Grid, row: int) -> list[Column]:
    """Return the columns that no field is read from, but that say what the weights are of: quantity, period, nation."""
    taken = {column.position for column in columns}
    if not any(column.field.name in WEIGHTS for column in columns):
        return []
    named = [(at, cell) for at, cell in enumerate(cells) if cell is not None and at not in taken]
    return [
        Column(f"c{at}", _QUANTITY, "sku", at, cell)
        for at, cell in named
        if quantity_of(cell) is not None or is_of_lines(grid.under(at, row, _LINES))
    ]


def quantity_of(header: str) -> str | None:
    """Return what the header of a quantity says: `per` one packaging, a `count` of something; None for another one.

    With a word that is not known it is a count of something.
    """
    tokens = fold(header).split()
    if not 0 < len(tokens) <= _LONGEST:
        return None
    roles = {code_of(token, "quantity") or _of_compound(token) for token in tokens}
    if "count" not in roles:
        return "per" if roles == {"per"} else None
    return "per" if "per" in roles and None not in roles else "count"


def _of_compound(token: str) -> str | None:
    """Return the role of a compound by its end: `Komponentenmenge`."""
    return "count" if token.endswith(("menge", "anzahl", "stuckzahl", "quantity")) else None


def is_of_lines(cells: pl.Series) -> bool:
    """Return whether cells are periods or nations, by which lines of one part differ."""
    nations = code_lists("markets")["uk_nations"]
    return bool(len(cells)) and (
        bool(cells.str.contains(_PERIOD).all()) or all(fold(cell) in nations for cell in cells.unique())
    )
