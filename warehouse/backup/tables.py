"""Reads tables from the database's own catalogue: their names and columns; copies their rows out and in.

What belongs here: queries of the catalogue, and COPY. Names come from the catalogue and are quoted; names of a backup
are compared with them. What does not: the order of a backup or a restore.
"""

import gzip
from pathlib import Path
from typing import IO, Final

import psycopg
from psycopg import sql

from warehouse.backup.folder import BackupError
from warehouse.backup.held import OURS, Columns
from warehouse.sessions import Connection

_BLOCK_BYTES: Final = 256 * 1024
_COLUMNS: Final = """
SELECT relname, array_agg(attname::text ORDER BY attnum)
FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r' AND relpersistence = 'p' AND relname <> 'alembic_version'
      AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
GROUP BY relname ORDER BY relname
"""
_REVISIONS: Final = {
    OURS: ("SELECT to_regclass('public.alembic_version')", "SELECT version_num FROM public.alembic_version"),
    "dagster": ("SELECT to_regclass('dagster.alembic_version')", "SELECT version_num FROM dagster.alembic_version"),
}
_PLAIN: Final = (
    "SET LOCAL datestyle = 'ISO, YMD'",
    "SET LOCAL intervalstyle = 'postgres'",
    "SET LOCAL timezone = 'UTC'",
    "SET LOCAL bytea_output = 'hex'",
    "SET LOCAL extra_float_digits = 1",
    "SET LOCAL client_encoding = 'UTF8'",
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
)
"""Fix the form of values, whatever server and role set."""
_ALL_ROWS: Final = "SET LOCAL row_security = off"
"""Makes a policy raise an error instead of filtering."""


def use_plain_formats(connection: Connection) -> None:
    """Write and read values in one form for the rest of the transaction, and all rows."""
    use_plain_values(connection)
    connection.execute(_ALL_ROWS)


def use_plain_values(connection: Connection) -> None:
    """Write and read values in one form for the rest of the transaction."""
    for setting in _PLAIN:
        connection.execute(setting)


def columns_of(connection: Connection, schema: str) -> Columns:
    """Return the columns of every table whose rows survive a crash, without generated columns."""
    return dict(connection.execute(_COLUMNS, (schema,)).fetchall())


def revision_of(connection: Connection, schema: str) -> str | None:
    """Return the revision of the newest migration of the schema's tables; None where there are no tables."""
    exists, revision = _REVISIONS[schema]
    if connection.execute(exists).fetchone() == (None,):
        return None
    row = connection.execute(revision).fetchone()
    return None if row is None else str(row[0])


def copy_out(connection: Connection, schema: str, table: str, columns: list[str], path: Path) -> None:
    """Write a table's rows into a file."""
    query = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(_names(columns), sql.Identifier(schema, table))
    with gzip.open(path, "wb", compresslevel=1) as file, connection.cursor().copy(query) as copy:
        for block in copy:
            file.write(block)


def copy_in(connection: Connection, schema: str, table: str, columns: list[str], file: IO[bytes]) -> None:
    """Read a table's rows from an open file. Raises `BackupError` where they are not rows of this table."""
    query = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(schema, table), _names(columns))
    try:
        with gzip.open(file) as rows, connection.cursor().copy(query) as copy:
            _pour(rows, copy)
    except (psycopg.DataError, psycopg.IntegrityError) as error:
        raise BackupError(f"The backup's file of {table} holds no rows of it: {error.diag.message_primary}.") from None
    except (EOFError, OSError) as error:
        raise BackupError(f"The backup's file of {table} is cut off or not compressed: {error}.") from None


def _pour(rows: IO[bytes] | gzip.GzipFile, copy: psycopg.Copy) -> None:
    while block := rows.read(_BLOCK_BYTES):
        copy.write(block)


def _names(columns: list[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))
