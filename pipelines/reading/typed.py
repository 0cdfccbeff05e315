"""Defines the result of reading a column, typed values and faults, and applies a function to distinct cells.

In a frame of faults `message` is the text of `schemas.messages.to_json`.

The functions themselves belong in `values.py` and `numbers.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl
from polars._typing import PolarsDataType

from schemas.messages import Message, to_json
from schemas.normalise import Unfit

FAULTS = pl.Schema({"at": pl.UInt32, "code": pl.String, "message": pl.String})


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A typed column and its faults: `at` is the row's position, one row a fault. A faulty cell is null."""

    values: pl.Series
    faults: pl.DataFrame


def no_faults() -> pl.DataFrame:
    """Return the faults of a column without any."""
    return pl.DataFrame(schema=FAULTS)


def faults_where(where: pl.Series, code: str, message: Message) -> pl.DataFrame:
    """Return one fault for each row where `where` is true."""
    at = where.fill_null(value=False).arg_true().cast(pl.UInt32)
    return pl.DataFrame({"at": at}).with_columns(code=pl.lit(code), message=pl.lit(to_json(message)))


def read_distinct(cells: pl.Series, read: Callable[[str], object], dtype: PolarsDataType) -> TypedColumn:
    """Apply `read` once to each distinct cell; its `Unfit` becomes the fault of every row with that cell."""
    distinct = cells.drop_nulls().unique(maintain_order=True)
    values: list[object] = []
    codes: list[str | None] = []
    messages: list[str | None] = []
    for cell in distinct:
        try:
            value, code, message = read(cell), None, None
        except Unfit as unfit:
            value, code, message = None, unfit.code, to_json(unfit.message)
        values.append(value)
        codes.append(code)
        messages.append(message)
    table = pl.DataFrame(
        {"cell": distinct, "value": values, "code": codes, "message": messages},
        schema={"cell": pl.String, "value": dtype, "code": pl.String, "message": pl.String},
    )
    joined = pl.DataFrame({"cell": cells}).join(table, on="cell", how="left", maintain_order="left")
    if not any(codes):
        return TypedColumn(joined["value"], no_faults())
    found = joined.with_row_index("at").filter(pl.col("code").is_not_null())
    return TypedColumn(joined["value"], found.select("at", "code", "message"))
