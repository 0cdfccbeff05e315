"""Runs Dagster's daemon over connections that stay open (`python -m pipelines.engine.daemon`).

Dagster's own program `dagster-daemon` connects to Postgres anew for each query, twenty times a second where nothing
happens: an eighth of a core that imports lack. This program runs the same daemon, and pools its connections as
Dagster's webserver does. What belongs here: how the daemon is started. What does not: what it does, which is Dagster's
and the definitions'.

Where Dagster has no public name for a part, the one is taken that its own program takes.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import dagster as dg
from dagster._core.workspace.load_target import WorkspaceFileTarget, WorkspaceLoadTarget
from dagster._daemon.controller import DagsterDaemonController, daemon_controller_from_instance
from dagster._utils.interrupts import capture_interrupts

from pipelines.engine.instance import open_instance
from warehouse.operate import dagster_home, logs
from warehouse.operate.settings import Settings


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
    with daemon_controller_from_instance(instance, target, log_level="warning") as daemon:
        logs.configure(settings)
        logging.getLogger("dagster").handlers.clear()
        yield daemon


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):  # Dagster raises it for SIGTERM too
        main()
