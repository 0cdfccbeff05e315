"""Opens Dagster's own storage for the service's processes: the shared instance of one data directory.

As a program (`python -m pipelines.engine.instance`) it makes Dagster's own tables where they are missing. Dagster would
look for them whenever it opens its storage, which the code server does at each tick of each sensor: looking took a
third of what the service did at rest. So `dagster.yaml` turns that off, and each program that opens the instance makes
the tables when it starts, and looks once for what they have. The resources of runs are in `pipelines.engine.resources`.
"""

import logging
import os
from functools import cache
from time import monotonic
from typing import Any, Final  # Any: Dagster names no type for a storage on SQL

import dagster as dg
from dagster_postgres import DagsterPostgresStorage
from sqlalchemy import Connection, Engine, event, exc
from sqlalchemy.dialects.postgresql.base import PGInspector
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from warehouse.operate import dagster_home
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings

_STATEMENT_MILLISECONDS: Final = 15_000
_RECYCLE_SECONDS: Final = 3_600
_MORE_CONNECTIONS: Final = 20
"""Connections that a process may open beside the one that each of its three storages keeps; they end after use."""
_RESTED_SECONDS: Final = 2.0
_RESTS_SINCE: Final = "rests_since"


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
    storages: tuple[Any, ...] = (instance.run_storage, instance.event_log_storage, instance.schedule_storage)
    runs, events, schedules = storages
    for connect in (runs.connect, events.index_connection, schedules.connect):
        with connect() as connection:
            _look_once(connection)
            _ping_rested(connection.engine)
    events.has_table = cache(events.has_table)
    schedules.has_built_index = cache(schedules.has_built_index)
    schedules.has_instigators_table = cache(schedules.has_instigators_table)
    return instance


def _ping_rested(engine: Engine) -> None:
    """Have an engine look whether a connection that has rested is there still, before it is used.

    Otherwise each process's first queries after Postgres has restarted fail: runs, ticks of sensors, launches. One that
    was used just now is taken as it is, since a run asks dozens of short questions.
    """

    def note(_: DBAPIConnection, record: ConnectionPoolEntry) -> None:
        record.info[_RESTS_SINCE] = monotonic()

    def look(connection: DBAPIConnection, record: ConnectionPoolEntry, _: object) -> None:
        if monotonic() - record.info.get(_RESTS_SINCE, monotonic()) > _RESTED_SECONDS:
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error as error:
                raise exc.InvalidatePoolError from error  # the pool connects anew, all that it keeps

    event.listen(engine, "checkin", note)
    event.listen(engine, "checkout", look)


def _look_once(connection: Connection) -> None:
    """Have this engine remember the tables and columns that it has looked up.

    Before most queries Dagster looks whether a storage is of an older release: a quarter of its daemon's work. Tables
    that are made at the start stay as they are while the process runs.
    """
    looked_up: dict[Any, Any] = {}

    class Inspector(PGInspector):
        info_cache = property(lambda _: looked_up, lambda *_: None)

    connection.dialect.inspector = Inspector  # type: ignore[attr-defined]  # one of Postgres has it


_of_process: Final = cache(open_instance)


def instance_of(context: dg.SensorEvaluationContext) -> dg.DagsterInstance:
    """Return the instance for a tick: one for all ticks of a process, where Dagster's would connect for each query.

    That of a test comes with the context.
    """
    return context.instance if context.instance_ref is None else _of_process()


def make_tables() -> None:
    """Make the tables in the database of this process's environment; several processes may do so at once.

    Once in a process, and in those that are forked from it.
    """
    _make_tables(os.environ[dagster_home.STORAGE])


@cache
def _make_tables(url: str) -> None:
    with dagster_home.tables_locked(url):
        DagsterPostgresStorage(url, should_autocreate_tables=True)


if __name__ == "__main__":
    make_tables()
