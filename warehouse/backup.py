"""A backup of the service in one folder, taken while it works, and its return into an empty database.

    database.dump   every table as it was at one instant (pg_dump), Dagster's runs included
    objects/        uploaded files, where they lie on this machine
    connector.key   what seals questions to users
    backup.json     the SHA-256 of each of them, written last: without it, or where one differs, it is no backup

What belongs here: what is copied and in which order. What does not: snapshots and figures, which a worker makes anew,
and files in an S3-compatible store, which keeps versions of its own.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import orjson
import psycopg
from psycopg.conninfo import conninfo_to_dict

from warehouse import roles
from warehouse.database import Database
from warehouse.embedded import places
from warehouse.embedded.account import Account
from warehouse.migrate import migrate
from warehouse.settings import Settings

_DUMP: Final = "database.dump"
_OBJECTS: Final = "objects"
_KEY: Final = "connector.key"
_LIST: Final = "backup.json"
_VARIABLES: Final = {
    "host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY",
}  # fmt: skip
"""What a URL says, by the names of the environment: on a command line everyone would read the password."""


class BackupError(Exception):
    """A backup was not made or not brought back; `str()` says why in plain sentences."""

    code = "backup_failed"


class Checked(NamedTuple):
    """A folder that holds what its list says, byte for byte."""

    folder: Path


class Backup(NamedTuple):
    """What a folder holds: bytes of the dump, files beside it and their bytes."""

    database_bytes: int
    objects: int
    object_bytes: int


def back_up(settings: Settings, database: Database, folder: Path) -> Backup:
    """Copy what must survive into a new folder, which is there whole or not at all, for this account's eyes alone.

    Files are copied before the dump and once more after it, and none is taken away again: so there is every file that
    the dump names. Raises `BackupError`.
    """
    if folder.exists():
        raise BackupError(f"{folder} is there already; name a folder that is not.")
    if not folder.absolute().parent.is_dir():
        raise BackupError(f"There is no folder {folder.parent}.")
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.absolute().parent))
    try:
        _copy_new(settings.data_dir / _OBJECTS, draft / _OBJECTS)
        _run(database, "pg_dump", "--format=custom", "--no-unlogged-table-data", f"--file={draft / _DUMP}")
        _copy_new(settings.data_dir / _OBJECTS, draft / _OBJECTS)
        _copy_key(settings.data_dir, draft)
        (draft / _LIST).write_bytes(orjson.dumps(_digests(draft), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return _held(folder)


def check(folder: Path) -> Checked:
    """Read every file of a backup against its list. Raises `BackupError`, which names one that differs."""
    try:
        listed = orjson.loads((folder / _LIST).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise BackupError(f"{folder} is no backup: there is no {_LIST} in it, which is written last.") from None
    except orjson.JSONDecodeError:
        listed = None
    found = _digests(folder)
    differing = {_LIST: ""} if not isinstance(listed, dict) else dict(listed.items() ^ found.items())
    if differing:
        raise BackupError(
            f"{folder} is no whole backup: {min(differing)} is not as it was backed up. Nothing was changed; take "
            "another one."
        )
    return Checked(folder)


def restore(settings: Settings, database: Database, backup: Checked) -> Backup:
    """Bring a folder back: the database whole or not at all, then up to this release; files that are there stay.

    Raises `BackupError` where the database is not empty.
    """
    folder = backup.folder
    with psycopg.connect(database.owner_url) as owner:
        if owner.execute("SELECT to_regclass('public.companies')").fetchone() != (None,):
            raise BackupError("The database is not empty; a backup is brought back into an empty one alone.")
        roles.prepare(owner, database)
        owner.execute("DROP SCHEMA dagster")  # empty as it is here; the dump brings it with its tables
    _copy_new(folder / _OBJECTS, settings.data_dir / _OBJECTS)
    _copy_key(folder, settings.data_dir)
    name = conninfo_to_dict(database.owner_url)["dbname"]
    _run(database, "pg_restore", "--single-transaction", f"--dbname={name}", str(folder / _DUMP))
    migrate(database)
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        owner.execute("ANALYZE")  # a dump has no statistics, and plans without them are slow
    return _held(folder)


def _run(database: Database, program: str, *arguments: str) -> None:
    given = conninfo_to_dict(database.owner_url)
    own = {variable: str(given[name]) for name, variable in _VARIABLES.items() if given.get(name) is not None}
    path = places.binaries(Account(os.geteuid(), os.getegid(), other=False)) / program
    done = subprocess.run(  # noqa: S603  (our own program, no shell)
        [path, *arguments], env=os.environ | own, check=False, text=True, umask=0o077, capture_output=True
    )
    if done.returncode != 0:
        raise BackupError(f"{program} ended with: {' '.join(done.stderr.split())}")


def _copy_new(source: Path, target: Path) -> None:
    """Copy each file that the target does not have; one that is removed meanwhile is nobody's any more."""
    for path in source.rglob("*") if source.is_dir() else ():
        copy = target / path.relative_to(source)
        if path.is_file() and not _is_copied(path, copy):
            _make_folder(copy.parent, target)
            with suppress(FileNotFoundError):
                shutil.copy2(path, copy)


def _is_copied(path: Path, copy: Path) -> bool:
    with suppress(FileNotFoundError):
        return copy.stat().st_size == path.stat().st_size
    return False


def _make_folder(folder: Path, root: Path) -> None:
    """The folder and those above it up to the root, for this account alone."""
    for step in reversed([folder, *folder.parents]):
        if step == root or root in step.parents:
            step.mkdir(mode=0o700, exist_ok=True)


def _copy_key(source: Path, target: Path) -> None:
    with suppress(FileNotFoundError):
        shutil.copy2(source / _KEY, target / _KEY)


def _digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file but the list, by its place in the folder."""
    digests = {}
    for path in folder.rglob("*"):
        if path.is_file() and path != folder / _LIST:
            with path.open("rb") as file:
                digests[path.relative_to(folder).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def _held(folder: Path) -> Backup:
    sizes = [path.stat().st_size for path in (folder / _OBJECTS).rglob("*") if path.is_file()]
    return Backup((folder / _DUMP).stat().st_size, len(sizes), sum(sizes))
