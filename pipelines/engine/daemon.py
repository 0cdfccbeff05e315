"""Runs Dagster's daemon over connections that stay open (`python -m pipelines.engine.daemon`).

Dagster's own program `dagster-daemon` connects to Postgres anew for each query, twenty times a second where nothing
happens: an eighth of a core that imports lack. This program runs the same daemon, and pools its connections as
Dagster's webserver does, and looks at the queue of runs when it has changed. What belongs here: how the daemon is
started, and when it looks at its queue. What does not: what it does, which is Dagster's and the definitions'.

Where Dagster has no public name for a part, the one is taken that its own program takes.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event
from time import monotonic
from typing import Any, Final  # Any: Dagster's own signatures

import dagster as dg
from dagster._core.workspace.load_target import WorkspaceFileTarget, WorkspaceLoadTarget
from dagster._daemon.controller import (
    DagsterDaemonController,
    create_daemons_from_instance,
    daemon_controller_from_instance,
)
from dagster._daemon.daemon import DaemonIterator, DagsterDaemon
from dagster._daemon.run_coordinator.queued_run_coordinator_daemon import QueuedRunCoordinatorDaemon
from dagster._utils.interrupts import capture_interrupts

from pipelines.engine.instance import open_instance
from pipelines.engine.launcher import WarmRunLauncher
from warehouse.operate import dagster_home, launches, logs
from warehouse.operate.settings import Settings

_SLICE_SECONDS: Final = 0.5
"""How late the daemon of the queue sees a stop."""


def main() -> None:
    """Run schedules, sensors, the queue, backfills and run monitoring until SIGTERM or SIGINT.

    The environment is the supervisor's (`warehouse.operate.dagster_home`).
    """
    settings = Settings.load()
    target = WorkspaceFileTarget([str(dagster_home.workspace(settings))])
    with capture_interrupts(), open_instance() as instance, controller(instance, target, settings) as daemon:
        daemon.check_daemon_loop()


@contextmanager
def controller(
    instance: dg.DagsterInstance, target: WorkspaceLoadTarget, settings: Settings
) -> Iterator[DagsterDaemonController]:
    """Return Dagster's daemon, whose faults stand in the service's log: a sensor that fails has no other place.

    Dagster's own handler writes to standard output, which nobody reads.
    """
    with daemon_controller_from_instance(instance, target, gen_daemons=_daemons, log_level="warning") as daemon:
        logs.configure(settings)
        logging.getLogger("dagster").handlers.clear()
        yield daemon


def _daemons(instance: dg.DagsterInstance) -> list[DagsterDaemon[Any]]:
    """Return the daemons that the instance requires, with ours in place of Dagster's for the queue."""
    return [
        QueueDaemon(daemon.interval_seconds) if isinstance(daemon, QueuedRunCoordinatorDaemon) else daemon
        for daemon in create_daemons_from_instance(instance)
    ]


class QueueDaemon(QueuedRunCoordinatorDaemon):
    """Looks at the queue as Dagster's own does: when it has changed, and at the interval of dagster.yaml."""

    def core_loop(self, workspace_process_context: Any, shutdown_event: Event) -> DaemonIterator:
        """Look and wait until Dagster stops; it logs what is raised, and begins the loop anew after some seconds."""
        launcher = workspace_process_context.instance.run_launcher
        assert isinstance(launcher, WarmRunLauncher), "dagster.yaml names it"
        with launcher.connect() as connection:
            connection.autocommit = True
            launches.listen(connection, launches.QUEUE)
            while not shutdown_event.is_set():
                yield from self.run_iteration(workspace_process_context)
                until = monotonic() + self.interval_seconds
                while monotonic() < until and not launches.payloads(connection, _SLICE_SECONDS):
                    yield None  # each time Dagster looks whether to stop, and sends the daemon's heartbeat


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):  # Dagster raises it for SIGTERM too
        main()
