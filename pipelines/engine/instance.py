"""Opens Dagster's own storage for the service's processes: the shared instance of one data directory.

The resources of runs are in `pipelines.engine.resources`.
"""

import logging
import os
from typing import Final

import dagster as dg

from pipelines.engine.tables import make_tables
from warehouse import dagster_home
from warehouse.database import Database
from warehouse.settings import Settings

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
    """Return the instance of this process's environment, with its tables made and connections that stay open."""
    make_tables(os.environ[dagster_home.STORAGE])
    instance = dg.DagsterInstance.get()
    keep_connected(instance)
    return instance


def keep_connected(instance: dg.DagsterInstance) -> None:
    """Have the instance keep its connections to Postgres, as Dagster's webserver does; by default each query connects.

    A run connects some thirty times otherwise, which takes longer than a short import itself.
    """
    instance.optimize_for_webserver(
        statement_timeout=_STATEMENT_MILLISECONDS, pool_recycle=_RECYCLE_SECONDS, max_overflow=_MORE_CONNECTIONS
    )
