"""Loads every row of a backup, in one transaction, into tables that our migrations or Dagster have made.

Foreign keys are dropped meanwhile and added again as the catalogue defines them, which checks every row. The tables'
owner has all the rights that are needed here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql

from warehouse.backup import tables
from warehouse.backup.folder import BackupError, open_file
from warehouse.backup.held import DAGSTERS, OURS, Held, place_of
from warehouse.sessions import Connection

_FORCED: Final = "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relforcerowsecurity"
_FOREIGN_KEYS: Final = """
SELECT relname, conname, pg_get_constraintdef(pg_constraint.oid)
FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
WHERE contype = 'f' AND relnamespace = to_regnamespace(%s)
"""
_SEQUENCES: Final = """
SELECT relname, attname, pg_get_serial_sequence(format('%%I.%%I', nspname, relname), attname)
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace JOIN pg_attribute ON attrelid = pg_class.oid
WHERE nspname = %s AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
      AND pg_get_serial_sequence(format('%%I.%%I', nspname, relname), attname) IS NOT NULL
"""


def load_ours(owner: Connection, folder: Path, listed: Held) -> None:
    """Load the service's tables, inside `open_tables`.

    Raises `BackupError` where the backup's tables are not those of its revision, or a row is invalid.
    """
    found = tables.columns_of(owner, OURS)
    for table, columns in listed.tables.items():
        if table not in found or sorted(found[table]) != sorted(columns):
            raise BackupError(f"The backup's table {table!r} is none that revision {listed.revision} has.")
    _load(owner, OURS, folder, listed)


def load_dagsters(owner: Connection, folder: Path, listed: Held) -> str | None:
    """Load Dagster's tables where they match the backup's; else return a sentence that says why they stay empty."""
    revision = tables.revision_of(owner, DAGSTERS)
    if not listed.dagster or revision != listed.dagster_revision:
        return "Dagster's record of runs was not brought back: its tables are of another version here."
    found = tables.columns_of(owner, DAGSTERS)
    if any(sorted(found.get(table, [])) != sorted(columns) for table, columns in listed.dagster.items()):
        return "Dagster's record of runs was not brought back: its tables have other columns here."
    try:
        with owner.transaction(), open_tables(owner, DAGSTERS):
            _load(owner, DAGSTERS, folder, listed)
    except psycopg.errors.InsufficientPrivilege:
        return "Dagster's record of runs was not brought back: DATABASE_URL is no member of pcds_dagster."
    return None


def _load(owner: Connection, schema: str, folder: Path, listed: Held) -> None:
    columns = listed.columns(schema)
    tables.use_plain_formats(owner)
    names = sql.SQL(", ").join(sql.Identifier(schema, table) for table in columns)
    owner.execute(sql.SQL("TRUNCATE {}").format(names))  # rows that migrations added come with the backup
    for table, names_of in columns.items():
        place = place_of(schema, table)
        with open_file(folder / place, listed.files[place]) as file:
            tables.copy_in(owner, schema, table, names_of, file)
    for table, column, sequence in owner.execute(_SEQUENCES, (schema,)).fetchall():
        newest = sql.SQL("SELECT setval({}, (SELECT max({}) FROM {}))").format(
            sql.Literal(sequence), sql.Identifier(column), sql.Identifier(schema, table)
        )
        owner.execute(newest)


@contextmanager
def open_tables(owner: Connection, schema: str) -> Iterator[None]:
    """Show the owner every row during the block, without foreign keys and triggers."""
    every = list(tables.columns_of(owner, schema))
    forced = [name for (name,) in owner.execute(_FORCED, (schema,)).fetchall()]
    keys = owner.execute(_FOREIGN_KEYS, (schema,)).fetchall()
    _alter(owner, schema, forced, "NO FORCE ROW LEVEL SECURITY")
    _alter(owner, schema, every, "DISABLE TRIGGER USER")
    for table, name, _ in keys:
        owner.execute(
            sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(sql.Identifier(schema, table), sql.Identifier(name))
        )
    yield
    for table, name, definition in keys:
        add = sql.SQL("ADD CONSTRAINT {} {}").format(sql.Identifier(name), sql.SQL(definition))
        try:
            owner.execute(sql.SQL("ALTER TABLE {} {}").format(sql.Identifier(schema, table), add))
        except psycopg.IntegrityError as error:
            raise BackupError(f"The backup's rows do not fit together: {error.diag.message_primary}.") from None
    _alter(owner, schema, every, "ENABLE TRIGGER USER")
    _alter(owner, schema, forced, "FORCE ROW LEVEL SECURITY")


def _alter(owner: Connection, schema: str, names: list[str], change: str) -> None:
    for name in names:
        owner.execute(sql.SQL("ALTER TABLE {} {}").format(sql.Identifier(schema, name), sql.SQL(change)))
