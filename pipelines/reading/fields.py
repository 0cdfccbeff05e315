"""Defines the columns that reading knows: the fields that a table's columns contain, and the column itself.

`columns.py` recognises headers; `values.py` reads cells.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from typing import Final, Literal

import polars as pl
from polars._typing import PolarsDataType

from schemas.fields import COMPONENT_FIELDS, MAX_UNITS, MAX_WEIGHT_G, SKU_CODE, SKU_FIELDS, Field
from schemas.messages import Message, to_json
from schemas.normalise import Unfit
from schemas.vocabularies import SUBSTANCES

Table = Literal["sku", "component"]

NUMBERS: Final = ("number", "integer", "ppm")
"""Kinds of fields whose cells are numbers."""
CLEARED: Final = ("null", "NULL")
"""The word that clears a field, as people and as databases write it."""
LONGEST_HEADER: Final = 200
"""Characters; a longer cell is a text and no header."""
LONGEST_VALUE: Final = 255
"""Characters of a cell that contains a number, a code, a date or a truth value."""
LONGEST_LIST: Final = 32_767

_VOLUME = Field(
    "annual_volume",
    "integer",
    "Units placed on one market in one year or half.",
    unit="units",
    minimum=0,
    maximum=MAX_UNITS,
)
_IMPORT_FIELDS = (
    *(
        Field(f"{substance}_status", "code", "Status of the substance.", vocabulary="substance_status")
        for substance in SUBSTANCES
    ),
    *(Field(f"{substance}_value", "number", "Measured value of the substance.", minimum=0) for substance in SUBSTANCES),
)
SUBSTANCE_DETAILS: Final = tuple(
    field
    for substance in SUBSTANCES
    for field in (
        Field(
            f"{substance}_unit",
            "code",
            "Unit of the value; that of the limit without it, none with null.",
            vocabulary="substance_unit",
        ),
        Field(f"{substance}_basis", "code", "Whether the value is of a sum or a total.", vocabulary="substance_basis"),
        Field(f"{substance}_source", "code", "Where the declaration comes from.", vocabulary="substances_source"),
        Field(f"{substance}_evidence", "text", "What shows it, in the caller's words.", max_length=2000),
    )
)
"""Fields that exist only as import columns: the keys of a substance entry, side by side."""

VOLUME_YEAR: Final = Field(
    "volume_year", "integer", "Year of volume columns that name none.", minimum=2000, maximum=2100
)

WEIGHT_HELPERS: Final = (
    Field("weight_unit", "text", "Unit of the weight beside it."),
    Field("unit_count", "integer", "How many of the part one packaging has: multiplies its weight.", minimum=0),
    Field("total_count", "integer", "How many packagings the weight is of: divides it.", minimum=0),
    Field("weight_share_percent", "number", "Share of the weight beside it.", unit="percent", minimum=0, maximum=100),
)
WEIGHTS: Final = ("weight_grams", "weight_g", "measured_weight_g")
"""Names of the fields that a column of units applies to."""
SKU_HELPERS: Final = (VOLUME_YEAR, *WEIGHT_HELPERS)
PART_HELPERS: Final = (
    *WEIGHT_HELPERS,
    Field(
        "measured_weight_g",
        "number",
        "A measured weight: stands above the specified one.",
        unit="g",
        minimum=0,
        maximum=MAX_WEIGHT_G,
    ),
    Field("shape", "text", "What the part is, in the caller's words; known words give its type."),
)
"""Columns that only qualify another column. They are read and published, and never stored."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a field is read from.

    `name` is the column's own name as published (`weight_g`, `annual_volume_fr_2026`); `factor` converts its
    numbers to the field's unit; `exact` is true where the header is the field's own name, letter for letter.
    Columns of one `group` describe one component of each line's SKU; `fixed` are fields that its header gives.
    `mapped` is true where the caller's mapping names the column; `constant` is the mapping's cell for every line, where
    the file does not have the column. `names` are those of the company's records that the column may refer to.
    `per` is the part of the factor that holds in any unit, 0.001 for `per 1000`; `has_unit` is true where the header
    names a unit. `open` is what was not understood of its header: such a column is asked about and not read.
    """

    name: str
    field: Field
    table: Table
    position: int
    header: str
    factor: Decimal = Decimal(1)
    exact: bool = False
    market: str | None = None
    year: int | None = None
    half: int = 0
    group: str | None = None
    fixed: tuple[tuple[str, str], ...] = ()
    mapped: bool = False
    constant: str | None = None
    names: tuple[str, ...] = ()
    per: Decimal = Decimal(1)
    has_unit: bool = False
    open: str | None = None


def with_component_prefix(columns: Sequence[Column]) -> list[Column]:
    """Put `component_` before the names of components' columns that a column of the SKU has too."""
    own = {column.name for column in columns if column.table == "sku"}
    return [replace(c, name=f"component_{c.name}") if c.table == "component" and c.name in own else c for c in columns]


@cache
def fields_of(table: Table) -> dict[str, Field]:
    """Return the fields that a column of the table can contain, by name."""
    own = SKU_FIELDS if table == "sku" else (SKU_CODE, *COMPONENT_FIELDS)
    extra = (*_IMPORT_FIELDS, *SUBSTANCE_DETAILS, *(SKU_HELPERS if table == "sku" else PART_HELPERS))
    return {field.name: field for field in (*own, *extra) if field.kind not in ("substances", "components")}


def longest_cell(field: Field) -> int:
    """Return the characters of the longest cell that is read as the field; a spreadsheet cell has at most 32 767."""
    if field.kind == "text" and field.max_length is not None:
        return field.max_length
    return LONGEST_LIST if field.kind in ("codes", "markets") else LONGEST_VALUE


def volume_field() -> Field:
    """Return the field of every volume column: a whole number of units."""
    return _VOLUME


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
