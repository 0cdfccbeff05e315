"""Reads the stored codes of SKUs and library components, so that they can be compared with today's form of a code.

The form itself is in `schemas.texts`; `services.doctor` reports the differences.
"""

from collections.abc import Sequence
from typing import Final, Literal

from warehouse.sessions import Connection

Record = Literal["sku", "library_component"]
_COLUMN_OF: Final[dict[Record, tuple[str, str]]] = {
    "sku": ("skus", "sku_code"),
    "library_component": ("library_components", "code"),
}
RECORDS: Final = tuple(_COLUMN_OF)
"""The kinds of records that have codes, as the audit ledger names them."""

_UNUSUAL: Final = "SELECT {code} FROM {table} WHERE {code} ~ '[^ -~]' OR {code} <> btrim({code}) ORDER BY {code}"
_AMONG: Final = "SELECT {code} FROM {table} WHERE {code} = ANY(%s::text[])"


def unusual(connection: Connection, record: Record) -> list[str]:
    """Return the company's codes with characters outside printable ASCII or with spaces around them; sorted."""
    return [code for (code,) in connection.execute(_of(_UNUSUAL, record))]


def among(connection: Connection, record: Record, codes: Sequence[str]) -> list[str]:
    """Return those of the given codes that are stored exactly so."""
    return [code for (code,) in connection.execute(_of(_AMONG, record), [list(codes)])]


def _of(statement: str, record: Record) -> str:
    table, code = _COLUMN_OF[record]
    return statement.format(table=table, code=code)
