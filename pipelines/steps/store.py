"""Storing: new rows, changed rows, the versions they replace, the audit entries and the counter, together.

The statements are the same for one row and for thousands; only how the rows reach the database differs (see
`stored.FEW`): as one parameter inside one statement, or through COPY into a temporary table and one statement each.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

import orjson
import polars as pl
import psycopg
from psycopg import RawCursor, errors
from sqlalchemy.dialects import postgresql
from uuid_utils import uuid7

from pipelines.steps.origin import Origin
from pipelines.steps.patch import DTYPES
from pipelines.steps.stored import FEW, NULL
from pipelines.steps.table import Table
from warehouse.tables import skus
from warehouse.tables.skus import DERIVED_COLUMNS, VALUE_COLUMNS

_ALWAYS: Final = (*DERIVED_COLUMNS, "version", "import_sheet", "import_line")
_SQL_TYPES: Final = {pl.String: "text", pl.Float64: "double precision", pl.Int64: "integer", pl.Boolean: "boolean"}
_ALL: Final = ", ".join(column.name for column in skus.columns)
_DIALECT: Final = postgresql.dialect()  # type: ignore[no-untyped-call]


def _cast(name: str) -> str:
    """A staged column as the table holds it: ids, arrays and JSON travel as text."""
    kind = skus.c[name].type.compile(dialect=_DIALECT)
    return f"staged.{name}" if name == "id" or kind == "TEXT" or DTYPES[name] != pl.String else f"staged.{name}::{kind}"


def _declared(columns: Sequence[str]) -> str:
    """The staged columns with their types; the id comes first and is a uuid.

    The join by it must not need a cast: under row-level security Postgres uses an index only for conditions whose
    functions it knows to leak nothing, and a cast from text is none of them. It would read the whole table.
    """
    return ", ".join(["id uuid", *(f"{name} {_SQL_TYPES[DTYPES[name]]}" for name in columns)])


@lru_cache(maxsize=1024)
def _statements(written: tuple[str, ...], held: str = "") -> dict[str, str]:
    """The statements that store the staged rows of these columns; a column that is not staged keeps what it has.

    `held` is a further condition on the rows that are there already.
    """
    staged = ("id", *written)
    return {
        "kept": (
            f"INSERT INTO sku_versions ({_ALL}) SELECT {', '.join(f'skus.{c.name}' for c in skus.columns)} "
            f"FROM skus JOIN staged ON staged.id = skus.id{held}"
        ),
        "changed": (
            f"UPDATE skus SET {', '.join(f'{name} = {_cast(name)}' for name in written)}, updated_at = %(now)s, "
            "transaction_id = %(transaction)s, import_id = %(import)s FROM staged "
            f"WHERE skus.id = staged.id{held}"
        ),
        "made": (
            f"INSERT INTO skus (company_id, created_at, updated_at, transaction_id, import_id, {', '.join(staged)}) "
            f"SELECT %(company)s, %(now)s, %(now)s, %(transaction)s, %(import)s, {', '.join(map(_cast, staged))} "
            "FROM staged WHERE staged.version = 1 ORDER BY staged.sku_code"
        ),
        "entered": (
            "INSERT INTO audit_entries (company_id, transaction_id, action, resource_id, version) SELECT %(company)s, "
            "%(transaction)s, %(resource)s::text || CASE staged.version WHEN 1 THEN '.created' ELSE '.updated' END, "
            "staged.id::text, staged.version FROM staged ORDER BY staged.sku_code"
        ),
        "signed": (
            "INSERT INTO audit_transactions (id, company_id, at, actor_type, actor_id, actor_name, reason, "
            "correlation_id, ip, user_agent) VALUES (%(transaction)s, %(company)s, %(now)s, %(actor_type)s, "
            "%(actor_id)s, %(actor_name)s, %(reason)s, %(correlation_id)s, %(ip)s, %(user_agent)s)"
        ),
        "counted": (
            "UPDATE company_counters SET skus = skus + %(created)s WHERE company_id = %(company)s AND %(created)s > 0"
        ),
    }


@lru_cache(maxsize=1024)
def _one_statement(written: tuple[str, ...]) -> tuple[str, list[str]]:
    """The same as one statement whose rows are its parameter, with the names of its numbered parameters.

    Numbered, because psycopg would translate a text of this length anew at each execution. The few ids are named,
    because a join alone may be planned as reading all rows of the company, where their number is not known yet.
    """
    held = " AND skus.id = ANY(%(ids)s::uuid[])"
    whole = (
        f"WITH staged AS MATERIALIZED (SELECT * FROM json_to_recordset(%(rows)s::json) "
        f"AS staged ({_declared(written)})), "
        + ", ".join(f"{name} AS ({statement})" for name, statement in _statements(written, held).items())
        + " SELECT"
    )
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", whole)))
    return re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", whole), names


def store(
    conn: psycopg.Connection[Any], company_id: UUID, rows: Table, columns: Sequence[str], *, origin: Origin,
    now: datetime, import_id: UUID | None, resource: str,
) -> None:  # fmt: skip
    """Write the created and updated rows of a merged, graded frame, in the caller's transaction.

    `columns` are the value columns that the patch gives, sku_code among them; `rows` has them, `id` and `version` as
    they shall be, the derived columns, `import_sheet` and `import_line`. `resource` is what the audit names as written,
    `sku` or a part of it. Raises `SerializationFailure` where another transaction has created one of the codes
    meanwhile: whoever opened the transaction repeats the whole write (`Pool.retrying`), which then finds the row.
    """
    parameters: dict[str, Any] = {
        "company": company_id, "transaction": UUID(str(uuid7())), "now": now, "import": import_id,
        "created": rows["version"].count(1), "resource": resource,
        "actor_type": origin.actor_type, "actor_id": origin.actor_id, "actor_name": origin.actor_name,
        "reason": origin.reason, "correlation_id": origin.correlation_id, "ip": origin.ip,
        "user_agent": origin.user_agent,
    }  # fmt: skip
    written = (*columns, *_ALWAYS)
    try:
        _write(conn, rows, written, parameters)
    except errors.UniqueViolation as collision:
        raise errors.SerializationFailure("another transaction has created one of the codes") from collision


def _write(conn: psycopg.Connection[Any], rows: Table, written: tuple[str, ...], parameters: dict[str, Any]) -> None:
    staged = ("id", *written)
    if len(rows) <= FEW:
        named = {**parameters, "ids": rows["id"], "rows": orjson.dumps(rows.dicts(staged)).decode()}
        statement, names = _one_statement(written)
        RawCursor(conn).execute(statement, [named[name] for name in names])
        return
    _copy(conn, rows.frame({name: DTYPES[name] for name in staged}))
    for statement in _statements(written).values():
        conn.execute(statement, parameters)


def _copy(conn: psycopg.Connection[Any], staged: pl.DataFrame) -> None:
    whole = _declared((*VALUE_COLUMNS, *_ALWAYS))
    conn.execute(f"CREATE TEMPORARY TABLE IF NOT EXISTS staged ({whole}) ON COMMIT DELETE ROWS")
    with conn.cursor() as cursor:
        with cursor.copy(f"COPY staged ({', '.join(staged.columns)}) FROM STDIN (FORMAT csv, NULL '{NULL}')") as copy:
            copy.write(staged.write_csv(include_header=False, null_value=NULL).encode())
        cursor.execute("ANALYZE staged (id, version)")
