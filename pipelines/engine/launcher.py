"""Launches runs on warm workers through Postgres (table `launches`): Dagster's run launcher of this service.

Dagster's webserver and daemon call it (`run_launcher` in dagster.yaml). `pipelines.engine.worker` takes the runs. Where
Dagster has no public name for what a launcher needs, the names are those that Dagster's own launcher packages import
(docs/decisions/0045).
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, Final, Self, TypeVar  # Any: Dagster's own signatures

import dagster as dg
import psycopg
from dagster._core.launcher import (
    CheckRunHealthResult,
    LaunchRunContext,
    ResumeRunContext,
    RunLauncher,
    WorkerStatus,
)
from dagster._serdes import ConfigurableClass, ConfigurableClassData
from psycopg_pool import ConnectionPool

from pipelines.engine.tags import PARTITION
from warehouse.operate import launches
from warehouse.operate.sessions import Connection

T_Instance = TypeVar("T_Instance", bound=dg.DagsterInstance)

_CONNECT_SECONDS: Final = 5
_MOST_CONNECTIONS: Final = 4
"""As many as threads of the daemon take runs from the queue at once (dagster.yaml)."""

_STATUS = {
    "waiting": WorkerStatus.RUNNING,
    "running": WorkerStatus.RUNNING,
    "ended": WorkerStatus.SUCCESS,
    "lost": WorkerStatus.FAILED,
    None: WorkerStatus.NOT_FOUND,
}


class WarmRunLauncher(RunLauncher[T_Instance], ConfigurableClass):
    """Launches a run by a row that any worker of any machine takes; `url` is the application role's."""

    def __init__(self, url: str, inst_data: ConfigurableClassData | None = None) -> None:
        """Take the values of `from_config_value`; connections are opened when first needed."""
        self._url, self._inst_data = url, inst_data
        super().__init__()  # type: ignore[no-untyped-call]

    @property
    def inst_data(self) -> ConfigurableClassData | None:
        """Return this launcher's settings in dagster.yaml."""
        return self._inst_data

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """Return the settings that dagster.yaml may contain: the database's URL, or the variable that contains it."""
        return {"url": dg.StringSource}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]) -> Self:
        """Return the launcher of a checked configuration."""
        return cls(inst_data=inst_data, **config_value)

    def launch_run(self, context: LaunchRunContext) -> None:
        """Pass a run to the workers."""
        self._put(context.dagster_run, resume=False)

    def resume_run(self, context: ResumeRunContext) -> None:
        """Pass a run that has lost its worker to the workers."""
        self._put(context.dagster_run, resume=True)

    def terminate(self, run_id: str) -> bool:
        """End a run as canceled: directly where no worker has it, else by its worker. Return whether it was open."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        self._instance.report_run_canceling(run)
        with self._connection() as connection:
            waited = launches.withdraw(connection, run_id)
            if not waited:
                launches.cancel(connection, run_id)
        if waited:
            self._instance.report_run_canceled(run)
        return True

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Let run monitoring check whether a run's worker lives."""
        return True

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Report whether a worker still has the run, by the lock that each worker takes."""
        with self._connection() as connection:
            state = launches.state(connection, run.run_id)
        return CheckRunHealthResult(_STATUS[state], state or "never launched")

    @property
    def supports_resume_run(self) -> bool:
        """Let a run that lost its worker continue in another."""
        return True

    def wake_queue(self) -> None:
        """Have the daemon look at the queue now: a run was queued."""
        with self._connection() as connection:
            launches.wake_queue(connection)

    def _put(self, run: dg.DagsterRun, *, resume: bool) -> None:
        with self._connection() as connection:
            launches.put(connection, run.run_id, company=run.tags.get(PARTITION), resume=resume)

    def dispose(self) -> None:
        """Close what is open; Dagster calls it at the end of the process."""
        if "_pool" in vars(self):
            self._pool.close()

    def connect(self) -> Connection:
        """Return a new connection to the database of the launched runs."""
        return psycopg.connect(self._url, connect_timeout=_CONNECT_SECONDS)

    def _connection(self) -> AbstractContextManager[Connection]:
        """Return a connection for a transaction, kept for the next: a new one took half of the time of a launch."""
        return self._pool.connection()

    @cached_property
    def _pool(self) -> ConnectionPool[Connection]:
        return ConnectionPool(
            self._url,
            min_size=0,
            max_size=_MOST_CONNECTIONS,
            open=True,
            timeout=_CONNECT_SECONDS,
            check=ConnectionPool.check_connection,  # Postgres may have restarted
            num_workers=1,
        )
