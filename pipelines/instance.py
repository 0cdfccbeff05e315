"""Dagster's own storage, as the service's processes open it: the shared instance of one data directory.

What the runs work with is `pipelines.resources`.
"""

import logging
import os
from functools import cache
from typing import Final

import dagster as dg

from warehouse import dagster_home
from warehouse.database import Database
from warehouse.settings import Settings

_STATEMENT_MILLISECONDS: Final = 15_000
_RECYCLE_SECONDS: Final = 3_600
_MORE_CONNECTIONS: Final = 2
_ASKED_AGAIN_AND_AGAIN: Final = {
    "event_log_storage": ("has_table", "has_asset_key_col"),
    "run_storage": ("has_run_stats_index_cols", "has_backfill_id_column"),
}
"""What Dagster's storage asks the database about its own tables, some forty times a run. Only a migration of Dagster's
changes the answers, and that comes with another release and a new process."""


def shared_instance(settings: Settings, database: Database) -> dg.DagsterInstance:
    """The instance under the data directory, with its connections held open from run to run.

    Without that a run connects some thirty times, which takes longer than a short import itself.
    """
    logging.getLogger("alembic").setLevel(logging.WARNING)  # it tells of its plugins each time that storage opens
    os.environ.update(dagster_home.environment(settings, database))
    instance = dg.DagsterInstance.get()
    instance.optimize_for_webserver(
        statement_timeout=_STATEMENT_MILLISECONDS, pool_recycle=_RECYCLE_SECONDS, max_overflow=_MORE_CONNECTIONS
    )
    for storage, questions in _ASKED_AGAIN_AND_AGAIN.items():
        for question in questions:
            setattr(getattr(instance, storage), question, cache(getattr(getattr(instance, storage), question)))
    # Each run would configure logging anew for handlers that dagster.yaml could name and ours does not: it closes every
    # handler of the process, and two threads that begin and log a run at once wait for each other for ever.
    instance.get_yaml_python_handlers = list  # type: ignore[method-assign]
    return instance
