"""Migrates a database to this release's schema, from empty or from any earlier release.

Safe to call at every start and from several processes at once: one migrates, the others wait and find nothing to do.
"""

from pathlib import Path
from typing import Final

import psycopg
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from warehouse import baseline, revisions, roles
from warehouse.database import Database
from warehouse.settings import SettingsError

_SCRIPTS: Final = Path(__file__).with_name("migrations")
_LOCK: Final = 0x70636473  # "pcds": the advisory lock of the process that migrates


def migrate(database: Database, revision: str | None = None) -> str:
    """Make roles and tables as this release needs them, or as a revision had them. Return the revision reached.

    Raises `SettingsError` where roles are missing that the owner may not make, and for tables of a newer release.
    """
    wanted = revision or revisions.head()
    with psycopg.connect(database.owner_url) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        connection.commit()  # the session holds the lock until the connection ends
        found = revisions.refuse_strange(connection)
        roles.prepare(connection, database)
        if found != wanted:
            _upgrade(database, wanted, from_before=found == revisions.BEFORE_BASELINE)
    return wanted


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    return config


def _upgrade(database: Database, revision: str, *, from_before: bool) -> None:
    config = _config()
    engine = create_engine(make_url(database.owner_url).set(drivername="postgresql+psycopg"), poolclass=NullPool)
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        if from_before:
            _stamp(connection, config)
        command.upgrade(config, revision)


def _stamp(connection: Connection, config: Config) -> None:
    """Give the tables of the last revision before the baseline the baseline's, where they are what it makes."""
    if differences := baseline.differences(connection):
        raise SettingsError(
            f"The tables at revision {revisions.BEFORE_BASELINE} are not as that revision made them: "
            f"{'; '.join(differences[:5])}. Nothing was changed; undo what was changed by hand and come again."
        )
    command.stamp(config, revisions.every()[0], purge=True)
