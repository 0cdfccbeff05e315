"""Adds the rows of an import's error report, which a run writes and polls and pages read.

What belongs here: adding rows. What does not: their content (`pipelines.imports.report`) and reading reports
(`warehouse.imports.polls`, `warehouse.imports.queries`).
"""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import orjson

from warehouse.imports.tables import import_errors
from warehouse.sessions import Connection

COLUMNS: Final = (
    "sheet_position",
    "line",
    "number",
    "sheet",
    "sku_code",
    "field",
    "column",
    "value",
    "code",
    "message",
    "template",
)
"""The columns of a report row that the caller gives in each row; import and company are given once."""

_NAMES: Final = ", ".join(f'"{name}"' for name in COLUMNS)
_TYPED: Final = ", ".join(f'"{name}" {import_errors.c[name].type}' for name in COLUMNS)
_INSERT: Final = (
    f"INSERT INTO import_errors (company_id, import_id, {_NAMES}) "
    f"SELECT %s, %s, {_NAMES} FROM json_to_recordset(%s) AS report ({_TYPED})"
)


def insert(conn: Connection, company_id: UUID, import_id: UUID, rows: Sequence[Mapping[str, object]]) -> None:
    """Add report rows, each with every column of `COLUMNS`, in the caller's transaction."""
    conn.execute(_INSERT, (company_id, import_id, orjson.dumps(rows).decode()))
