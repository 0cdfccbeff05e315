"""The stored rows that a patch meets: found by sku_code, locked in that order, read into a frame.

Rows are locked in the order of their codes by every writer, so that two writers wait for each other and never for
ever. A few rows come back as parameters and tuples, many through COPY: the same query, two ways to carry it.
"""

import io
from typing import Any, Final

import polars as pl
import psycopg

from pipelines.steps.patch import DTYPES
from warehouse.tables.skus import DERIVED_COLUMNS, VALUE_COLUMNS

FEW: Final = 200
"""Up to so many rows go as parameters: below it COPY and its temporary table cost more than they save."""

NULL: Final = "\uf8ffnull\uf8ff"
"""Null in COPY's CSV: private-use characters, so that no caller's text can be taken for it."""

_COLUMNS: Final = ("id", *VALUE_COLUMNS, *DERIVED_COLUMNS, "version", "created_at", "updated_at")
SCHEMA: Final[dict[str, Any]] = {name: DTYPES[name] for name in _COLUMNS}
_SELECT: Final = "SELECT {columns} FROM skus JOIN {codes} AS codes (code) ON skus.sku_code = codes.code"


def lock(conn: psycopg.Connection[Any], codes: pl.Series) -> pl.DataFrame:
    """The company's rows of these codes, locked until the transaction ends; columns of `SCHEMA`, ids as text."""
    if len(codes) <= FEW:
        query = _query("unnest(%s::text[])")
        return pl.DataFrame(conn.execute(query, [codes.to_list()]).fetchall(), schema=SCHEMA, orient="row")
    conn.execute("CREATE TEMPORARY TABLE IF NOT EXISTS wanted_codes (code text) ON COMMIT DELETE ROWS")
    with conn.cursor() as cursor:
        with cursor.copy(f"COPY wanted_codes FROM STDIN (FORMAT csv, NULL '{NULL}')") as copy:
            copy.write(codes.to_frame().write_csv(include_header=False).encode())
        cursor.execute("ANALYZE wanted_codes")
        data = io.BytesIO()
        with cursor.copy(f"COPY ({_query('wanted_codes')}) TO STDOUT (FORMAT csv, NULL '{NULL}')") as copy:
            for block in copy:
                data.write(block)
    data.seek(0)
    return read_copied(data, SCHEMA)


def read_copied(data: io.BytesIO, schema: dict[str, Any]) -> pl.DataFrame:
    """A frame out of COPY's CSV; an empty text stays an empty text."""
    if not data.getbuffer().nbytes:
        return pl.DataFrame(schema=schema)
    as_text = {name: pl.String if dtype == pl.Boolean else dtype for name, dtype in schema.items()}
    frame = pl.read_csv(data, has_header=False, schema=as_text, null_values=[NULL], empty_string_is_null=False)
    return frame.with_columns(pl.col(name) == "t" for name, dtype in schema.items() if dtype == pl.Boolean)


def _query(codes: str) -> str:
    columns = ", ".join(
        f"skus.{name}::text" if dtype == pl.String else f"skus.{name}" for name, dtype in SCHEMA.items()
    )
    return f"{_SELECT.format(columns=columns, codes=codes)} ORDER BY skus.sku_code FOR UPDATE OF skus"
