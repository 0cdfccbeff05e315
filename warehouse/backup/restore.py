"""Restores a checked backup: makes the tables by our migrations, loads the rows, then migrates to this release.

What belongs here: the order, and when a database counts as empty. What does not: reading the rows
(`warehouse.backup.load`) and ending credentials (`warehouse.backup.ended`).
"""

from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

import psycopg

from warehouse import deployment_keys, roles, store_identity
from warehouse.backup import dump, ended, load, tables
from warehouse.backup.check import Checked
from warehouse.backup.ended import Ended
from warehouse.backup.folder import KEY, OBJECTS, BackupError, copy_file, files
from warehouse.backup.held import OURS, Backup, Held
from warehouse.dagster_home import make_tables
from warehouse.database import Database
from warehouse.migrate import migrate
from warehouse.objects import IDENTITY
from warehouse.revisions import BEFORE_BASELINE, every, knows
from warehouse.sessions import Connection
from warehouse.settings import Settings

_NOT_EMPTY: Final = "The database is not empty; a backup is brought back into an empty one alone."


class Restored(NamedTuple):
    """The restored backup, the credentials that ended with it, and the reason where Dagster's history was left out."""

    backup: Backup
    ended: Ended
    without_history: str | None


def restore(
    settings: Settings,
    database: Database,
    backup: Checked,
    *,
    at: datetime,
    keep_keys: bool,
    take_over_objects: bool = False,
) -> Restored:
    """Restore a folder: the database whole or not at all, then migrated to this release; existing files stay.

    All sessions, tokens and codes end. So do keys, connections and suppliers' links unless `keep_keys`: any of them may
    have been revoked after the backup. Raises `BackupError` where the database is not empty, the backup not ours, or
    the folder of files another deployment's and not to be taken over.
    """
    with psycopg.connect(database.owner_url) as owner:
        _refuse_companies(owner)
    if not take_over_objects:
        _refuse_foreign_folder(settings)
    if backup.held is None:
        done = _from_dump(settings, database, backup.folder, at, keep_keys=keep_keys)
    else:
        done = _from_rows(settings, database, backup.folder, backup.held, at, keep_keys=keep_keys)
    migrate(database)
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        deployment_keys.forget(owner)
        store_identity.prepare(owner)
        owner.execute("ANALYZE")  # a backup has no statistics, and plans without them are slow
    return done


def _from_rows(
    settings: Settings, database: Database, folder: Path, listed: Held, at: datetime, *, keep_keys: bool
) -> Restored:
    if not knows(listed.revision):
        older = listed.revision < BEFORE_BASELINE
        raise BackupError(
            f"The backup is of {'an older release' if older else 'a newer release'}: its tables have the revision "
            f"{listed.revision}. Nothing was changed; restore it with that release"
            + (f", bring it to revision {BEFORE_BASELINE} and take a new one." if older else ".")
        )
    revision = every()[0] if listed.revision == BEFORE_BASELINE else listed.revision
    with psycopg.connect(database.owner_url) as owner:
        if tables.revision_of(owner, OURS) not in (None, revision, listed.revision):
            raise BackupError(_NOT_EMPTY)
        _refuse_companies(owner)
    migrate(database, revision)
    if listed.dagster:
        make_tables(settings, database)
    with psycopg.connect(database.owner_url) as owner:
        with load.open_tables(owner, OURS):
            load.load_ours(owner, folder, listed)
            ending = ended.end_all(owner, at, keep_keys=keep_keys)
        without = load.load_dagsters(owner, folder, listed)
        _copy_files(settings, folder, listed.files)
    return Restored(Backup.of(folder), ending, without)


def _from_dump(settings: Settings, database: Database, folder: Path, at: datetime, *, keep_keys: bool) -> Restored:
    with psycopg.connect(database.owner_url) as owner:
        if tables.revision_of(owner, OURS) is not None:
            raise BackupError(_NOT_EMPTY)
    with psycopg.connect(database.owner_url) as owner:
        roles.prepare(owner, database)
        _copy_files(settings, folder, {path.relative_to(folder).as_posix(): None for path in files(folder)})
        dump.load(owner, database, folder, settings.postgres_bin)
    with psycopg.connect(database.owner_url) as owner, load.open_tables(owner, OURS):
        ending = ended.end_all(owner, at, keep_keys=keep_keys)
    return Restored(Backup.of(folder), ending, None)


def _refuse_companies(owner: Connection) -> None:
    """Refuse tables that have companies; tables without one, left by a restore that was killed, are loaded again."""
    found = tables.columns_of(owner, OURS)
    if "companies" not in found:
        return
    owner.execute("ALTER TABLE public.companies NO FORCE ROW LEVEL SECURITY")
    has_any = owner.execute("SELECT EXISTS (SELECT FROM public.companies)").fetchone()
    owner.rollback()
    if has_any == (True,):
        raise BackupError(_NOT_EMPTY)


def _refuse_foreign_folder(settings: Settings) -> None:
    """Refuse to bring files into a folder that carries an identity, before anything is restored."""
    folder = settings.data_dir / OBJECTS
    if settings.objects_url is None and (folder / IDENTITY).exists():
        raise BackupError(
            f"{folder} has another deployment's files. Nothing was restored; restore into an empty data directory, "
            "or give --take-over-objects if that deployment is gone for good."
        )


def _copy_files(settings: Settings, folder: Path, listed: dict[str, str] | dict[str, None]) -> None:
    for place, digest in listed.items():
        if place.startswith(f"{OBJECTS}/") or place == KEY:
            copy_file(folder / place, settings.data_dir, settings.data_dir / place, digest)
