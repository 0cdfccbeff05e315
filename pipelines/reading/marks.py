"""Removes what programs put around values: quotation marks that are no part of a code, and their words for no value."""

import re
from collections.abc import Sequence
from typing import Final

import polars as pl

from pipelines.reading.fields import Column
from schemas.formulas import NULL_WORDS

_PAIRS: Final = (('"', '"'), ("'", "'"), ("`", "`"), ("“", "”"), ("„", "“"), ("«", "»"), ("‘", "’"), ("‚", "‘"))
_WRAPPED: Final = [
    rf"^\s*{re.escape(begin)}\s*([^{re.escape(begin + end)}]*?[^{re.escape(begin + end)}\s])\s*{re.escape(end)}\s*$"
    for begin, end in _PAIRS
]


def without_marks(cells: pl.DataFrame) -> pl.DataFrame:
    """Return the cells without the quotation marks around codes; where all codes have them, around other cells too.

    A file has them that was written with a space before each mark, or with single ones. A name in quotation marks
    beside a plain code keeps them.
    """
    codes = cells["sku_code"]
    if not codes.str.contains(r"^\s*\W.*\W\s*$").any():
        return cells
    everywhere = False
    for pattern in _WRAPPED:
        if codes.str.contains(pattern).any():
            everywhere |= bool(codes.drop_nulls().str.contains(pattern).all())
            names = cells.columns if everywhere else ["sku_code"]
            cells = cells.with_columns(pl.col(names).str.replace(pattern, "$1"))
    return cells


_ZEROS: Final = r"^\s*0{6,}\s*$"
"""How programs write that there is no number: no barcode and no code is made of zeros alone."""


def without_null_words(cells: pl.DataFrame, columns: Sequence[Column]) -> pl.DataFrame:
    """Return the cells with null in place of a program's word for no value, and of a number of zeros alone.

    A code keeps it, which is a fault of its row (`is_null_word`); so do lists of markets, where NA is Namibia, and
    columns with a vocabulary, whose words come first.
    """
    numbers = [column.name for column in columns if column.field.kind == "gtin" or column.name == "sku_code"]
    if any(cells[name].str.starts_with("0000").any() for name in numbers):
        cells = cells.with_columns(pl.when(~pl.col(name).str.contains(_ZEROS)).then(pl.col(name)) for name in numbers)
    names = [column.name for column in columns if column.field.kind == "text" and column.name != "sku_code"]
    found = pl.col(names).str.strip_chars().is_in(NULL_WORDS)
    if not names or not cells.select(found.any()).select(pl.any_horizontal(pl.all())).item():
        return cells
    return cells.with_columns(
        pl.when(~pl.col(name).str.strip_chars().is_in(NULL_WORDS)).then(pl.col(name)) for name in names
    )


def is_null_word(cells: pl.Series) -> pl.Series:
    """Return which cells are a program's word for no value."""
    return cells.str.strip_chars().is_in(NULL_WORDS).fill_null(value=False)
