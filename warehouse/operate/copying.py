"""Copies frames to Postgres and back with COPY: many rows at once, as CSV.

What belongs here: the form of the CSV and the two directions. What does not: which rows are read and where they are
written, which the modules of each subject decide.
"""

import io
from collections.abc import Mapping
from typing import Final, TypeAlias

import polars as pl

from warehouse.operate.sessions import Connection, Cursor

NULL: Final = "\ue5e5"
"""Null in COPY's CSV: a single private-use character, which no caller's cell equals."""
_FORM: Final = f"(FORMAT csv, NULL '{NULL}')"

Schema: TypeAlias = Mapping[str, pl.DataType | type[pl.DataType]]
"""The columns of a frame in their order, with their types."""


def out_of(connection: Connection, query: str, parameters: Mapping[str, object], schema: Schema) -> pl.DataFrame:
    """Return the rows of a query as a frame.

    `schema` names the columns in their order, with their types in the frame.
    """
    data = io.BytesIO()
    with connection.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT {_FORM}", parameters) as copy:
        for block in copy:
            data.write(block)
    data.seek(0)
    return parse_csv(data, schema)


def parse_csv(data: io.BytesIO, schema: Schema) -> pl.DataFrame:
    """Parse COPY's CSV into a frame; an empty text stays an empty text."""
    if not data.getbuffer().nbytes:
        return pl.DataFrame(schema=dict(schema))
    as_text = {name: pl.String if dtype == pl.Boolean else dtype for name, dtype in schema.items()}
    frame = pl.read_csv(data, has_header=False, schema=as_text, null_values=[NULL], empty_string_is_null=False)
    return frame.with_columns(pl.col(name) == "t" for name, dtype in schema.items() if dtype == pl.Boolean)


def into(cursor: Cursor, table: str, frame: pl.DataFrame) -> None:
    """Add the rows of a frame to the table's columns of the same names."""
    data = io.BytesIO()
    frame.write_csv(data, include_header=False, null_value=NULL)
    with cursor.copy(f"COPY {table} ({', '.join(frame.columns)}) FROM STDIN {_FORM}") as copy:
        copy.write(data.getbuffer())
