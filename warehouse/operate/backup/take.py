"""Takes a backup: files, then every table at one instant, then the files that came meanwhile, then the list.

Its folder is read and copied here, too: it may come from somebody else, so plain files only, no links.
"""

import gzip
import hashlib
import hmac
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Annotated, Final, Literal, NamedTuple

import orjson
import psycopg
from psycopg import sql
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from warehouse.operate import whole_files
from warehouse.operate.database import Database
from warehouse.operate.objects import IDENTITY, is_key
from warehouse.operate.revisions import head
from warehouse.operate.sessions import Connection
from warehouse.operate.settings import Settings
from warehouse.tables import metadata

OBJECTS = "objects"
KEY = "connector.key"
LIST = "backup.json"


class BackupError(Exception):
    """A backup was not made or not restored; `str()` says why in plain sentences."""

    code = "backup_failed"


def files(folder: Path, *, changing: bool = False) -> Iterator[Path]:
    """Yield every file below the folder. Raises `BackupError` for a link or a device.

    In a folder that is `changing`, what goes away meanwhile is skipped, and a file may have two names for a moment: the
    object store gives a whole draft its key by a second link.
    """
    gone = (FileNotFoundError,) if changing else ()
    with suppress(*gone), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(*gone):
                state = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(state.st_mode):
                    yield from files(Path(entry.path), changing=changing)
                elif stat.S_ISREG(state.st_mode) and (changing or state.st_nlink == 1):
                    yield Path(entry.path)
                else:
                    raise BackupError(
                        f"{entry.path} is a link or a device; a backup holds plain files alone. Nothing was changed; "
                        "where the folder was copied with links, copy it again without."
                    )


@contextmanager
def open_file(path: Path, digest: str | None = None) -> Iterator[IO[bytes]]:
    """Open a file that is no link. Raises `BackupError` where it is one, or has another SHA-256 than the given one.

    Raises `FileNotFoundError` where there is none.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}.") from None
    with os.fdopen(handle, "rb") as file:
        if digest is not None and digest_of(file) != digest:
            raise BackupError(f"{path} is not as it was backed up.")
        file.seek(0)
        yield file


def digest_of(file: IO[bytes]) -> str:
    """Return the SHA-256 of an open file, in hexadecimal digits."""
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file except the list, by its path in the folder."""
    digests_by_path = {}
    for path in files(folder):
        if path != folder / LIST:
            with open_file(path) as file:
                digests_by_path[path.relative_to(folder).as_posix()] = digest_of(file)
    return digests_by_path


def copy_objects(source: Path, target: Path) -> None:
    """Copy each object that the target does not have; an object that is removed meanwhile is skipped.

    Skips files that are no objects, such as an upload under way, and the deployment's identity: a restored database is
    another deployment.
    """
    for path in files(source, changing=True):
        key = path.relative_to(source).as_posix()
        if is_key(key) and key != IDENTITY:
            with suppress(FileNotFoundError):
                copy_file(path, target, target / path.relative_to(source))


def copy_file(path: Path, root: Path, copy: Path, digest: str | None = None) -> None:
    """Copy a file to its place below the root, for this account alone; skips a copy that has the same size."""
    with suppress(FileNotFoundError):
        if copy.lstat().st_size == path.lstat().st_size:
            return
    for step in reversed([copy.parent, *copy.parent.parents]):
        if step == root or root in step.parents:
            step.mkdir(mode=0o700, exist_ok=True)
    with open_file(path, digest) as file:
        draft = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(draft, "wb") as out:
            shutil.copyfileobj(file, out)


FORMAT: Final = 2
OURS: Final = "public"
DAGSTERS: Final = "dagster"
PLACES: Final = {OURS: "tables", DAGSTERS: "dagster"}
"""The folder of the tables of each schema."""

Name = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]{0,62}$")]
Columns = dict[Name, list[Name]]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_TABLE: Final = re.compile(r"(tables|dagster)/([a-z_][a-z0-9_]{0,62})\.copy\.gz")


class Held(BaseModel):
    """The list of a backup's folder. Names in it are only ever compared with those of our own catalogue."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    format: Literal[2]
    revision: Annotated[str, Field(pattern=r"^[0-9a-z_]{1,32}$")]
    """The revision of our migrations that the tables had."""
    dagster_revision: Annotated[str, Field(pattern=r"^[0-9a-z_]{1,32}$")] | None
    """The revision of Dagster's own tables; None where it had made none yet."""
    tables: Columns
    """The columns of each table, in the order of its file."""
    dagster: Columns
    files: dict[str, Digest]
    seal: Digest

    def sealed(self) -> bytes:
        """Return the bytes that the seal covers: everything but the seal."""
        return orjson.dumps(self.model_dump(exclude={"seal"}), option=orjson.OPT_SORT_KEYS)

    def columns(self, schema: str) -> Columns:
        """Return the columns of each table of a schema."""
        return self.tables if schema == OURS else self.dagster

    @classmethod
    def read(cls, data: bytes, folder: Path) -> "Held":
        """Parse the list. Raises `BackupError` where it is invalid, or names a path that no backup has."""
        try:
            listed = cls.model_validate_json(data)
        except ValidationError:
            raise BackupError(
                f"{folder} is no backup that this release reads: a release before the first that can be upgraded, or "
                f"a newer one, made it, or {LIST} is not as it was backed up. Nothing was changed. Restore it with "
                "the release that made it; where that is this one, take another."
            ) from None
        places = {place_of(schema, table) for schema in PLACES for table in listed.columns(schema)}
        for place in listed.files:
            kind, _, key = place.partition("/")
            if not (place == KEY or _TABLE.fullmatch(place) or (kind == OBJECTS and is_key(key))):
                raise BackupError(f"{folder} is no backup of ours: {LIST} names {place!r}. Nothing was changed.")
        if {place for place in listed.files if _TABLE.fullmatch(place)} != places:
            raise BackupError(f"{folder} is no backup of ours: {LIST} names other tables than it has files of.")
        return listed


class Backup(NamedTuple):
    """The size of a backup: bytes of the tables, and files beside them with their bytes."""

    database_bytes: int
    objects: int
    object_bytes: int

    @classmethod
    def measure(cls, folder: Path) -> "Backup":
        """Measure a folder that was checked, or was just made."""
        objects = [path.stat().st_size for path in (folder / OBJECTS).rglob("*") if path.is_file()]
        tables = [path.stat().st_size for place in PLACES.values() for path in (folder / place).glob("*.copy.gz")]
        return cls(sum(tables), len(objects), sum(objects))


def place_of(schema: str, table: str) -> str:
    """Return the path of a table's rows in the folder."""
    return f"{PLACES[schema]}/{table}.copy.gz"


def list_of(folder: Path) -> bytes:
    """Return the bytes of a folder's list. Raises `BackupError` where it has none."""
    if not (folder / LIST).exists():
        raise BackupError(f"{folder} is no backup: there is no {LIST} in it, which is written last.")
    with open_file(folder / LIST) as file:
        return file.read()


_NAME: Final = "backup.key"
_LEAST_LETTERS: Final = 32


def seal_of(key: bytes, sealed: bytes) -> str:
    """Return the seal over these bytes, in hexadecimal digits."""
    return hmac.new(key, sealed, hashlib.sha256).hexdigest()


def is_sealed(key: bytes, sealed: bytes, seal: str) -> bool:
    """Return whether the seal was made with the key; compares in constant time."""
    return hmac.compare_digest(seal_of(key, sealed), seal)


def made_key(settings: Settings) -> bytes:
    """Return the deployment's key, made at its first backup, for this account alone. Raises `BackupError`."""
    path = _place(settings)
    whole_files.made_once(path, f"{secrets.token_hex(32)}\n".encode())
    return _read(path)


def find_key(settings: Settings, key_file: Path | None) -> bytes:
    """Return the key that a restore checks with: the given file's, or the deployment's. Raises `BackupError`."""
    path = key_file or _place(settings)
    if not path.exists():
        raise BackupError(
            f"There is no key {path} to check the backup's seal with. Name the {_NAME} of the data directory that the "
            "backup was taken of with --key; where it is lost and you know who made the backup, use --without-seal."
        )
    return _read(path)


def _place(settings: Settings) -> Path:
    return settings.backup_key_file or settings.data_dir / _NAME


def _read(path: Path) -> bytes:
    key = path.read_bytes().strip()
    if len(key) < _LEAST_LETTERS:
        raise BackupError(f"{path} holds no key: it has less than {_LEAST_LETTERS} letters.")
    return key


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
    return Backup.measure(folder)


def _rows(database: Database, draft: Path) -> Held:
    """Write every table as it is at one instant; return the list of them, without files and seal."""
    with psycopg.connect(database.owner_url) as owner:
        owner.isolation_level, owner.read_only = psycopg.IsolationLevel.REPEATABLE_READ, True
        use_plain_formats(owner)
        revision = revision_of(owner, OURS)
        if revision is None:
            raise BackupError("The database holds none of our tables; there is nothing to back up.")
        columns_by_schema = {schema: columns_of(owner, schema) for schema in PLACES}
        if revision == head():  # at this release, leave out tables that an operator has added
            columns_by_schema[OURS] = {
                name: columns for name, columns in columns_by_schema[OURS].items() if name in metadata.tables
            }
        for schema, columns in columns_by_schema.items():
            _write_tables(owner, draft, schema, columns)
        return Held(
            format=FORMAT,
            revision=revision,
            dagster_revision=revision_of(owner, DAGSTERS),
            tables=columns_by_schema[OURS],
            dagster=columns_by_schema[DAGSTERS],
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
