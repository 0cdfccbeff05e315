"""Migrates a database to this release's schema, from empty or from any earlier release.

Safe to call at every start and from several processes at once: one migrates, the others wait and find nothing to do.
"""

from pathlib import Path
from typing import Final

import psycopg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from warehouse import roles
from warehouse.database import Database
from warehouse.sessions import Connection

_SCRIPTS: Final = Path(__file__).with_name("migrations")
_LOCK: Final = 0x70636473  # "pcds": the advisory lock of the process that migrates
_REVISION: Final = "SELECT version_num FROM alembic_version"


def head() -> str:
    """Return the newest revision of this release."""
    newest = ScriptDirectory.from_config(_config()).get_current_head()
    assert newest is not None
    return newest


def knows(revision: str) -> bool:
    """Return whether it is a revision of this release or of an earlier one."""
    return revision in {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}


def migrate(database: Database, revision: str | None = None) -> str:
    """Make roles and tables as this release needs them, or as a revision had them. Return the revision reached.

    Raises `SettingsError` where roles are missing that the owner may not make.
    """
    wanted = revision or head()
    with psycopg.connect(database.owner_url) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        connection.commit()  # the session holds the lock until the connection ends
        roles.prepare(connection, database)
        if revision_of(connection) != wanted:
            _upgrade(database, wanted)
    return wanted


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    return config


def revision_of(connection: Connection) -> str | None:
    """Return the revision of the database's tables; None where it has none. The connection is the owner's."""
    if connection.execute("SELECT to_regclass('alembic_version')").fetchone() == (None,):
        return None
    row = connection.execute(_REVISION).fetchone()
    return None if row is None else str(row[0])


def _upgrade(database: Database, revision: str) -> None:
    config = _config()
    engine = create_engine(make_url(database.owner_url).set(drivername="postgresql+psycopg"), poolclass=NullPool)
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
