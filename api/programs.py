"""Lists the programs of the service on one machine and the command of each (docs/operations.md describes them).

What belongs here: commands. What does not: supervision, which is the work of `api.serve` or of your machines' own
process manager.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from warehouse import dagster_home
from warehouse.settings import Settings

WORKERS: Final = 2
"""One more than the large runs that dagster.yaml lets run at a time: a small file always finds a worker."""
MEMORY: Final = {"_RJEM_MALLOC_CONF": "dirty_decay_ms:30000,muzzy_decay_ms:30000"}
"""Polars' allocator keeps what a table left behind for half a minute: the next one need not ask the kernel again."""
_PYTHON: Final = (sys.executable, "-m")
_QUIET: Final = ("--log-level", "warning")


class Program(NamedTuple):
    """One program; one with `after` needs somebody who answers at that socket first."""

    name: str
    command: tuple[str, ...]
    after: Path | None = None


def code_server(settings: Settings) -> Program:
    """Tells the webserver and the daemon what the definitions are."""
    served = ("dagster", "api", "grpc", "--module-name", dagster_home.DEFINITIONS)
    where = ("--socket", str(dagster_home.code_socket(settings)), "--location-name", dagster_home.LOCATION)
    return Program("dagster-code", (*_PYTHON, *served, *where, "--use-python-environment-entry-point", *_QUIET))


def webserver(settings: Settings) -> Program:
    """Dagster's pages behind our door, and the road by which runs are asked for."""
    return Program("dagster-ui", (*_PYTHON, "pipelines.engine.ui"), dagster_home.code_socket(settings))


def daemon(settings: Settings) -> Program:
    """Dagster's schedules, sensors, queue, backfills and run monitoring."""
    workspace = ("--workspace", str(dagster_home.workspace(settings)))
    command = (*_PYTHON, "dagster._daemon", "run", *workspace, *_QUIET)
    return Program("dagster-daemon", command, dagster_home.code_socket(settings))


def worker(_: Settings) -> Program:
    """Executes runs, one at a time."""
    return Program("worker", (*_PYTHON, "pipelines.engine.worker"))


def workers(number: int = WORKERS) -> list[Program]:
    """Several of them on one machine."""
    return [Program(f"worker {which}", (*_PYTHON, "pipelines.engine.worker")) for which in range(1, number + 1)]


def celery_worker(_: Settings) -> Program:
    """In place of it, where `PCDS_DAGSTER_YAML` names deploy/celery/dagster.yaml: as many runs at a time as cores."""
    app = (
        "celery",
        "--app",
        "pipelines.engine.celery_app",
        "worker",
        "--queues",
        "dagster",
        "--pool",
        "prefork",
    )
    return Program("celery-worker", (*_PYTHON, *app))


def server(_: Settings) -> Program:
    """One process of the API, listening by itself."""
    return Program("api", (*_PYTHON, "api.server"))


def orchestration(settings: Settings, *, number_of_workers: int = WORKERS) -> list[Program]:
    """All of them that make runs happen, whoever brings work before whoever does it."""
    return [webserver(settings), daemon(settings), *workers(number_of_workers), code_server(settings)]


BY_NAME: Final[Mapping[str, Callable[[Settings], Program]]] = {
    "api": server,
    "celery-worker": celery_worker,
    "dagster-code": code_server,
    "dagster-daemon": daemon,
    "dagster-ui": webserver,
    "worker": worker,
}
"""Those that may be started each by itself (`api.start`)."""
