"""Restores a checked backup: makes the tables by our migrations, loads the rows, then migrates to this release.

It ends the credentials of the backup, unless keys are to be kept. `warehouse.operate.backup.take` reads its folder.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

import psycopg
from psycopg import sql

from warehouse.operate import keys as keys_operate
from warehouse.operate.backup import take
from warehouse.operate.backup.take import (
    DAGSTERS,
    KEY,
    OBJECTS,
    OURS,
    Backup,
    BackupError,
    Held,
    copy_file,
    digests,
    is_sealed,
    list_of,
    open_file,
    place_of,
)
from warehouse.operate.dagster_home import make_tables
from warehouse.operate.database import Database
from warehouse.operate.migrate import migrate
from warehouse.operate.objects import IDENTITY, prepare_identity
from warehouse.operate.revisions import BEFORE_BASELINE, FROM_BASELINE, every, knows
from warehouse.operate.sessions import Connection
from warehouse.operate.settings import Settings


class Checked(NamedTuple):
    """A folder whose files equal its list, byte for byte."""

    folder: Path
    held: Held


def check(folder: Path, find_key: Callable[[], bytes] | None) -> Checked:
    """Check a backup against its seal and every file against its list.

    Raises `BackupError`, which names the difference. `find_key` is called for the key that sealed it. With None the
    seal is not checked: damage is still found, a forgery is not.
    """
    contents = Held.read(list_of(folder), folder)
    if find_key is not None and not is_sealed(find_key(), contents.sealed(), contents.seal):
        raise BackupError(
            f"{folder} is not sealed by this key: it is another deployment's, or somebody has altered it. Nothing "
            "was changed; name the right key with --key."
        )
    _compare(folder, contents.files)
    return Checked(folder, contents)


def _compare(folder: Path, listed: dict[str, str]) -> None:
    differing = dict(listed.items() ^ digests(folder).items())
    if differing:
        raise BackupError(
            f"{folder} is no whole backup: {min(differing)} is not as it was backed up. Nothing was changed; take "
            "another one."
        )


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
    columns_here = take.columns_of(owner, OURS)
    for table, columns in listed.tables.items():
        if table not in columns_here or sorted(columns_here[table]) != sorted(columns):
            raise BackupError(f"The backup's table {table!r} is none that revision {listed.revision} has.")
    _load(owner, OURS, folder, listed)


def load_dagsters(owner: Connection, folder: Path, listed: Held) -> str | None:
    """Load Dagster's tables where they match the backup's; else return a sentence that says why they stay empty."""
    revision = take.revision_of(owner, DAGSTERS)
    if not listed.dagster or revision != listed.dagster_revision:
        return "Dagster's record of runs was not brought back: its tables are of another version here."
    columns_here = take.columns_of(owner, DAGSTERS)
    if any(sorted(columns_here.get(table, [])) != sorted(columns) for table, columns in listed.dagster.items()):
        return "Dagster's record of runs was not brought back: its tables have other columns here."
    try:
        with owner.transaction(), open_tables(owner, DAGSTERS):
            _load(owner, DAGSTERS, folder, listed)
    except psycopg.errors.InsufficientPrivilege:
        return "Dagster's record of runs was not brought back: DATABASE_URL is no member of pcds_dagster."
    return None


def _load(owner: Connection, schema: str, folder: Path, listed: Held) -> None:
    columns = listed.columns(schema)
    take.use_plain_formats(owner)
    names = sql.SQL(", ").join(sql.Identifier(schema, table) for table in columns)
    owner.execute(sql.SQL("TRUNCATE {}").format(names))  # rows that migrations added come with the backup
    for table, names_of in columns.items():
        place = place_of(schema, table)
        with open_file(folder / place, listed.files[place]) as file:
            take.copy_in(owner, schema, table, names_of, file)
    for table, column, sequence in owner.execute(_SEQUENCES, (schema,)).fetchall():
        newest = sql.SQL("SELECT setval({}, (SELECT max({}) FROM {}))").format(
            sql.Literal(sequence), sql.Identifier(column), sql.Identifier(schema, table)
        )
        owner.execute(newest)


@contextmanager
def open_tables(owner: Connection, schema: str) -> Iterator[None]:
    """Show the owner every row during the block, without foreign keys and triggers."""
    every = list(take.columns_of(owner, schema))
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


_DELETED: Final = (
    "authorization_codes",
    "bearer_tokens",
    "confirmations",
    "connection_tokens",
    "password_links",
    "recovery_codes",
    "staff_sessions",
    "user_sessions",
)
_REVOKED: Final = {
    "api_keys": "UPDATE api_keys SET revoked_at = %s WHERE revoked_at IS NULL RETURNING company_id, id",
    "connections": "UPDATE connections SET revoked_at = %s WHERE revoked_at IS NULL RETURNING company_id, id",
    # An answer that waits for review can still be decided; no existing token has the new digest.
    "supplier_requests": "UPDATE supplier_requests SET token_hash = "
    "sha256(convert_to(gen_random_uuid()::text, 'UTF8')), "
    "state = CASE state WHEN 'open' THEN 'closed' ELSE state END, updated_at = %s WHERE state <> 'closed' "
    "RETURNING company_id, id",
    "supplier_enquiries": "UPDATE supplier_enquiries SET token_hash = "
    "sha256(convert_to(gen_random_uuid()::text, 'UTF8')), withdrawn_at = %s WHERE withdrawn_at IS NULL "
    "RETURNING company_id, id",
    # Its receiver was told what the backup does not have, and must not be sent changes by a copy of the service.
    "webhooks": "UPDATE webhooks SET state = 'disabled', disabled_reason = 'restored', updated_at = %s "
    "WHERE state IN ('active', 'paused') RETURNING company_id, id",
}


class Ended(NamedTuple):
    """The revoked credentials: company and id of each, and when."""

    at: datetime
    api_keys: Sequence[tuple[UUID, UUID]] = ()
    connections: Sequence[tuple[UUID, UUID]] = ()
    supplier_requests: Sequence[tuple[UUID, UUID]] = ()
    supplier_enquiries: Sequence[tuple[UUID, UUID]] = ()
    webhooks: Sequence[tuple[UUID, UUID]] = ()


def end_all(owner: Connection, at: datetime, *, keep_keys: bool) -> Ended:
    """End every session, token, code and password link; keys, connections, links and webhooks unless `keep_keys`.

    Skips a table that the backup's release did not have. Call it where every row is visible, as inside
    `open_tables`.
    """
    columns = take.columns_of(owner, OURS)
    for table in _DELETED:
        if table in columns:
            owner.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(OURS, table)))
    if keep_keys:
        return Ended(at)
    revoked = {table: owner.execute(query, (at,)).fetchall() for table, query in _REVOKED.items() if table in columns}
    return Ended(at, **revoked)


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
    done = _from_rows(settings, database, backup.folder, backup.held, at, keep_keys=keep_keys)
    migrate(database)
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        keys_operate.forget(owner)
        prepare_identity(owner)
        owner.execute("ANALYZE")  # a backup has no statistics, and plans without them are slow
    return done


def _from_rows(
    settings: Settings, database: Database, folder: Path, listed: Held, at: datetime, *, keep_keys: bool
) -> Restored:
    is_old = FROM_BASELINE not in listed.tables
    if is_old or not knows(listed.revision):
        older = is_old or listed.revision < BEFORE_BASELINE
        raise BackupError(
            f"The backup is of {'an older release' if older else 'a newer release'}: its tables have the revision "
            f"{listed.revision}. Nothing was changed; restore it with that release"
            + (f", bring it to revision {BEFORE_BASELINE} and take a new one." if older else ".")
        )
    revision = every()[0] if listed.revision == BEFORE_BASELINE else listed.revision
    with psycopg.connect(database.owner_url) as owner:
        if take.revision_of(owner, OURS) not in (None, revision, listed.revision):
            raise BackupError(_NOT_EMPTY)
        _refuse_companies(owner)
    migrate(database, revision)
    if listed.dagster:
        make_tables(settings, database)
    with psycopg.connect(database.owner_url) as owner:
        with open_tables(owner, OURS):
            load_ours(owner, folder, listed)
            ending = end_all(owner, at, keep_keys=keep_keys)
        without = load_dagsters(owner, folder, listed)
        _copy_files(settings, folder, listed.files)
    return Restored(Backup.measure(folder), ending, without)


def _refuse_companies(owner: Connection) -> None:
    """Refuse tables that have companies; tables without one, left by a restore that was killed, are loaded again."""
    columns = take.columns_of(owner, OURS)
    if "companies" not in columns:
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


def _copy_files(settings: Settings, folder: Path, listed: dict[str, str]) -> None:
    for place, digest in listed.items():
        if place.startswith(f"{OBJECTS}/") or place == KEY:
            copy_file(folder / place, settings.data_dir, settings.data_dir / place, digest)
