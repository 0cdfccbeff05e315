"""Opens Dagster's own storage for the service's processes: the shared instance of one data directory.

As a program (`python -m pipelines.engine.instance`) it makes Dagster's own tables where they are missing. Dagster would
look for them whenever it opens its storage, which the code server does at each tick of each sensor: looking took a
third of what the service did at rest. So `dagster.yaml` turns that off, and each program that opens the instance makes
the tables when it starts. The resources of runs are in `pipelines.engine.resources`.
"""

import logging
import os
from typing import Final

import dagster as dg
from dagster_postgres import DagsterPostgresStorage

from warehouse.operate import dagster_home
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings

_STATEMENT_MILLISECONDS: Final = 15_000
_RECYCLE_SECONDS: Final = 3_600
_MORE_CONNECTIONS: Final = 20
"""Connections that a process may open beside the one that each of its three storages keeps; they end after use."""


def shared_instance(settings: Settings, database: Database) -> dg.DagsterInstance:
    """Return the instance under the data directory, with connections that stay open from run to run."""
    logging.getLogger("alembic").setLevel(logging.WARNING)  # it logs its plugins each time that storage opens
    os.environ.update(dagster_home.environment(settings, database))
    return open_instance()


def open_instance() -> dg.DagsterInstance:
    """Return the instance of this process's environment, with its tables made and connections that stay open.

    It keeps its connections to Postgres, as Dagster's webserver does; by default each query connects. A run connects
    some thirty times otherwise, which takes longer than a short import itself.
    """
    make_tables()
    instance = dg.DagsterInstance.get()
    instance.optimize_for_webserver(
        statement_timeout=_STATEMENT_MILLISECONDS, pool_recycle=_RECYCLE_SECONDS, max_overflow=_MORE_CONNECTIONS
    )
    return instance


def make_tables() -> None:
    """Make the tables in the database of this process's environment; several processes may do so at once."""
    url = os.environ[dagster_home.STORAGE]
    with dagster_home.tables_locked(url):
        DagsterPostgresStorage(url, should_autocreate_tables=True)


if __name__ == "__main__":
    make_tables()
