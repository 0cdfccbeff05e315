"""The stored rows that a patch meets: found by sku_code, locked in that order, read into a frame.

Rows are locked in the order of their codes by every writer, so that two writers wait for each other and never for
ever. A few rows come back as tuples, many through COPY: the same query, two ways to carry its answer.
"""

import io
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from typing import Any, Final

import polars as pl
import psycopg

from pipelines.writing import previous
from pipelines.writing.patch import DTYPES
from pipelines.writing.table import Table
from warehouse.skus.queries import DOC_STATUS, UPDATED_AT
from warehouse.skus.tables import DERIVED_COLUMNS, VALUE_COLUMNS

FEW: Final = 200
"""Up to so many rows go as parameters: below it COPY and its temporary table cost more than they save."""

NULL: Final = "\ue5e5"
"""Null in COPY's CSV: a private-use character by itself, which no caller's cell is."""

_BY_ONE: Final = "SELECT {selected} FROM skus WHERE sku_code = %(code)s::text{lock}"
_BY_FEW: Final = (
    "SELECT held.* FROM (SELECT code FROM unnest(%(codes)s::text[]) AS code ORDER BY code) AS asked, "
    "LATERAL (SELECT {selected} FROM skus WHERE sku_code = asked.code LIMIT 1{lock}) AS held"
)
"""One row after the other. Compared with an array, of whose length Postgres knows nothing, it would read every row of a
company that it has not counted yet, which takes longer than to store the few."""
_BY_MANY: Final = "SELECT {selected} FROM skus WHERE sku_code = ANY(%(codes)s::text[]) ORDER BY sku_code{lock}"

_CARRIED: Final = ("id", *DERIVED_COLUMNS, "version")
INSTANTS: Final = ("created_at", "updated_at")
"""Wanted only where a caller is shown the record, which nobody is by an import."""

_SHOWN: Final = f", {DOC_STATUS} AS doc_status, {previous.SELECT} AS {previous.COLUMN}"

_JUDGED: Final = (
    "sku_code", "material", "material_subtype", "weight_grams", "packaging_format", "packaging_level", "use_contexts",
    "svhc", "components", "food_contact", "pfas", "markets", "volumes",
)  # fmt: skip
"""What grading, refusing and merging look at besides what a patch gives."""


def read(
    conn: psycopg.Connection[Any], codes: list[str], columns: Sequence[str], today: date, *, locking: bool
) -> Table:
    """The company's rows of these codes, ids and instants as text; with `locking` until the transaction ends.

    Holds at least `columns`, which may name `INSTANTS`, and what the later steps look at; few rows, which are shown to
    a caller, also the `doc_status` of the day and what the rule-set before gave.
    """
    held = _held(tuple(columns))
    if len(codes) <= FEW:
        one = len(codes) == 1
        query = _query(_BY_ONE if one else _BY_FEW, held, _SHOWN, locking=locking)
        query = query.replace("skus.updated_at::text", f"{UPDATED_AT}::text AS updated_at")
        asked = {"code": codes[0]} if one else {"codes": _array(codes)}
        rows = conn.execute(query, {**asked, "today": today}).fetchall()
        names = (*held, "doc_status", previous.COLUMN)
        values = zip(*rows, strict=True) if rows else [()] * len(names)
        return Table({name: list(column) for name, column in zip(names, values, strict=True)})
    return _copied(conn, codes, {name: DTYPES[name] for name in held}, locking=locking)


@lru_cache(maxsize=1024)
def _held(columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns to read where these are wanted."""
    wanted = {*columns, *_JUDGED}
    return (*_CARRIED, *(name for name in (*INSTANTS, *VALUE_COLUMNS) if name in wanted))


def lock_versions(conn: psycopg.Connection[Any], codes: list[str]) -> dict[str, int]:
    """The rows of these codes locked until the transaction ends, and which version each has now."""
    query = _query(_BY_MANY, ("sku_code", "version"), locking=True)
    return dict(conn.execute(query, {"codes": _array(codes)}).fetchall())


def _copied(conn: psycopg.Connection[Any], codes: list[str], schema: dict[str, Any], *, locking: bool) -> Table:
    """The rows of many codes by COPY."""
    data = io.BytesIO()
    query = _query(_BY_MANY, tuple(schema), locking=locking)
    with (
        conn.cursor() as cursor,
        cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv, NULL '{NULL}')", {"codes": _array(codes)}) as copy,
    ):
        for block in copy:
            data.write(block)
    data.seek(0)
    return Table.of(read_copied(data, schema))


def _array(codes: Sequence[str]) -> str:
    """Codes as one array literal; element by element psycopg takes 7 ms for ten thousand."""
    quoted = "\x00".join(codes).replace("\\", "\\\\").replace('"', '\\"').replace("\x00", '","')
    return f'{{"{quoted}"}}' if codes else "{}"


def read_copied(data: io.BytesIO, schema: dict[str, Any]) -> pl.DataFrame:
    """A frame out of COPY's CSV; an empty text stays an empty text."""
    if not data.getbuffer().nbytes:
        return pl.DataFrame(schema=schema)
    as_text = {name: pl.String if dtype == pl.Boolean else dtype for name, dtype in schema.items()}
    frame = pl.read_csv(data, has_header=False, schema=as_text, null_values=[NULL], empty_string_is_null=False)
    return frame.with_columns(pl.col(name) == "t" for name, dtype in schema.items() if dtype == pl.Boolean)


@lru_cache(maxsize=1024)
def _query(form: str, columns: tuple[str, ...], more: str = "", *, locking: bool) -> str:
    selected = ", ".join(f"skus.{name}::text" if DTYPES[name] == pl.String else f"skus.{name}" for name in columns)
    return form.format(selected=selected + more, lock=" FOR UPDATE OF skus" if locking else "")
