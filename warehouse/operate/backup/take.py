"""Takes a backup: files, then every table at one instant, then the files that came meanwhile, then the list."""

import gzip
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import orjson
import psycopg
from psycopg import sql

from warehouse.operate.backup.folder import (
    DAGSTERS,
    FORMAT,
    KEY,
    LIST,
    OBJECTS,
    OURS,
    PLACES,
    Backup,
    BackupError,
    Columns,
    Held,
    copy_objects,
    digests,
    made_key,
    place_of,
    seal_of,
)
from warehouse.operate.database import Database
from warehouse.operate.migrate import head
from warehouse.operate.sessions import Connection
from warehouse.operate.settings import Settings
from warehouse.tables import metadata

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


def back_up(settings: Settings, database: Database, folder: Path) -> Backup:
    """Copy all data that must survive into a new folder, which appears whole or not at all, for this account alone.

    Files are copied before the rows and once more after them, and no copy is removed: so the backup has every file that
    a row names. Raises `BackupError`.
    """
    if folder.exists():
        raise BackupError(f"{folder} is there already; name a folder that is not.")
    if not folder.absolute().parent.is_dir():
        raise BackupError(f"There is no folder {folder.parent}.")
    key = made_key(settings)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.absolute().parent))
    try:
        copy_objects(settings.data_dir / OBJECTS, draft / OBJECTS)
        listed = _rows(database, draft)
        copy_objects(settings.data_dir / OBJECTS, draft / OBJECTS)
        with suppress(FileNotFoundError):
            shutil.copy2(settings.data_dir / KEY, draft / KEY)
        _write_list(draft, listed, key)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return Backup.of(folder)


def _rows(database: Database, draft: Path) -> Held:
    """Write every table as it is at one instant; return the list of them, without files and seal."""
    with psycopg.connect(database.owner_url) as owner:
        owner.isolation_level, owner.read_only = psycopg.IsolationLevel.REPEATABLE_READ, True
        use_plain_formats(owner)
        revision = revision_of(owner, OURS)
        if revision is None:
            raise BackupError("The database holds none of our tables; there is nothing to back up.")
        found = {schema: columns_of(owner, schema) for schema in PLACES}
        if revision == head():  # at this release, leave out tables that an operator has added
            found[OURS] = {name: columns for name, columns in found[OURS].items() if name in metadata.tables}
        for schema, columns in found.items():
            _write_tables(owner, draft, schema, columns)
        return Held(
            format=FORMAT,
            revision=revision,
            dagster_revision=revision_of(owner, DAGSTERS),
            tables=found[OURS],
            dagster=found[DAGSTERS],
            files={},
            seal="0" * 64,
        )


def _write_tables(owner: Connection, draft: Path, schema: str, columns: Columns) -> None:
    (draft / PLACES[schema]).mkdir(mode=0o700)
    for table, names in columns.items():
        try:
            copy_out(owner, schema, table, names, draft / place_of(schema, table))
        except psycopg.errors.InsufficientPrivilege as error:
            raise BackupError(
                f"DATABASE_URL may not read all rows of {table}: {error.diag.message_primary}. Give its role "
                "BYPASSRLS, or take the backup as a superuser."
            ) from None


def _write_list(draft: Path, listed: Held, key: bytes) -> None:
    whole = listed.model_copy(update={"files": digests(draft)})
    sealed = whole.model_copy(update={"seal": seal_of(key, whole.sealed())})
    (draft / LIST).write_bytes(orjson.dumps(sealed.model_dump(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
