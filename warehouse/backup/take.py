"""Takes a backup: files, then every table at one instant, then the files that came meanwhile, then the list."""

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import orjson
import psycopg

from warehouse.backup import tables
from warehouse.backup.folder import KEY, LIST, OBJECTS, BackupError, copy_objects, digests
from warehouse.backup.held import DAGSTERS, FORMAT, OURS, PLACES, Backup, Columns, Held, place_of
from warehouse.backup.seal import made_key, seal_of
from warehouse.database import Database
from warehouse.revisions import head
from warehouse.sessions import Connection
from warehouse.settings import Settings
from warehouse.tables import metadata


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
        tables.use_plain_formats(owner)
        revision = tables.revision_of(owner, OURS)
        if revision is None:
            raise BackupError("The database holds none of our tables; there is nothing to back up.")
        found = {schema: tables.columns_of(owner, schema) for schema in PLACES}
        if revision == head():  # at this release, leave out tables that an operator has added
            found[OURS] = {name: columns for name, columns in found[OURS].items() if name in metadata.tables}
        for schema, columns in found.items():
            _write_tables(owner, draft, schema, columns)
        return Held(
            format=FORMAT,
            revision=revision,
            dagster_revision=tables.revision_of(owner, DAGSTERS),
            tables=found[OURS],
            dagster=found[DAGSTERS],
            files={},
            seal="0" * 64,
        )


def _write_tables(owner: Connection, draft: Path, schema: str, columns: Columns) -> None:
    (draft / PLACES[schema]).mkdir(mode=0o700)
    for table, names in columns.items():
        try:
            tables.copy_out(owner, schema, table, names, draft / place_of(schema, table))
        except psycopg.errors.InsufficientPrivilege as error:
            raise BackupError(
                f"DATABASE_URL may not read all rows of {table}: {error.diag.message_primary}. Give its role "
                "BYPASSRLS, or take the backup as a superuser."
            ) from None


def _write_list(draft: Path, listed: Held, key: bytes) -> None:
    whole = listed.model_copy(update={"files": digests(draft)})
    sealed = whole.model_copy(update={"seal": seal_of(key, whole.sealed())})
    (draft / LIST).write_bytes(orjson.dumps(sealed.model_dump(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
