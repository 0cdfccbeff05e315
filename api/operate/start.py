"""Lists the programs of the service on one machine (docs/operations.md describes them), and starts one of them.

`python -m api.operate.start NAME` is for a process manager other than `pcds serve`: the process becomes the program,
with the environment variables that it needs (`warehouse.operate.dagster_home`). What does not belong here: supervision,
which is the work of `api.operate.serve` or of your machines' own process manager.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from pipelines import allocator
from warehouse.operate import dagster_home, logs
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings, SettingsError

WORKERS: Final = 2
"""One more than the number of large runs that dagster.yaml allows at a time: a small file always finds a worker."""
MEMORY: Final = {allocator.VARIABLE: allocator.SETTING}
COUNTED: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable of prometheus-client: a folder in which all API processes of a machine count (`api.http.metrics`)."""
_PYTHON: Final = (sys.executable, "-m")
_NAME_BYTES: Final = 400
_QUIET: Final = ("--log-level", "warning")


class Program(NamedTuple):
    """One program; one with `after` waits until another program answers at that socket."""

    name: str
    command: tuple[str, ...]
    after: Path | None = None


def code_server(settings: Settings) -> Program:
    """Return the code server: it serves the definitions to the webserver and the daemon."""
    served = ("pipelines.engine.code_server", "--module-name", dagster_home.DEFINITIONS)
    where = ("--socket", str(dagster_home.code_socket(settings)), "--location-name", dagster_home.LOCATION)
    return Program("dagster-code", (*_PYTHON, *served, *where, "--use-python-environment-entry-point", *_QUIET))


def webserver(settings: Settings) -> Program:
    """Return the webserver: Dagster's pages behind `api.staff.access`, and the interface for requesting runs."""
    return Program("dagster-ui", (*_PYTHON, "pipelines.engine.ui"), dagster_home.code_socket(settings))


def daemon(settings: Settings) -> Program:
    """Return the daemon: Dagster's schedules, sensors, queue, backfills and run monitoring."""
    return Program("dagster-daemon", (*_PYTHON, "pipelines.engine.daemon"), dagster_home.code_socket(settings))


def worker(_: Settings) -> Program:
    """Return a worker: it executes runs, one at a time."""
    return Program("worker", (*_PYTHON, "pipelines.engine.worker"))


def workers(number: int = WORKERS) -> list[Program]:
    """Return several workers for one machine."""
    return [Program(f"worker {which}", (*_PYTHON, "pipelines.engine.worker")) for which in range(1, number + 1)]


def celery_worker(_: Settings) -> Program:
    """Return the worker of deploy/celery/dagster.yaml (`PCDS_DAGSTER_YAML`), which runs as many at a time as cores."""
    app = ("celery", "--app", "pipelines.engine.celery_app", "worker", "--queues", "dagster", "--pool", "prefork")
    return Program("celery-worker", (*_PYTHON, *app))


def server(_: Settings) -> Program:
    """Return one process of the API, which listens by itself."""
    return Program("api", (*_PYTHON, "api.operate.server"))


def forker(_: Settings) -> Program:
    """Return the process that forks the programs of `orchestration`; the blanks are room for their names."""
    return Program("forker", (*_PYTHON, "api.operate.forker", " " * _NAME_BYTES))


def orchestration(settings: Settings, *, number_of_workers: int = WORKERS) -> list[Program]:
    """Return all programs that execute runs, those that supply work before those that do it."""
    return [webserver(settings), daemon(settings), *workers(number_of_workers), code_server(settings)]


BY_NAME: Final[Mapping[str, Callable[[Settings], Program]]] = {
    "api": server,
    "celery-worker": celery_worker,
    "dagster-code": code_server,
    "dagster-daemon": daemon,
    "dagster-ui": webserver,
    "worker": worker,
}
"""Programs that can be started separately (`main`)."""


_PAUSE_SECONDS: Final = 0.25


def main() -> None:
    """Become the program; one that needs the code server waits for it."""
    parser = argparse.ArgumentParser(prog="python -m api.operate.start", description=main.__doc__)
    parser.add_argument("name", choices=sorted(BY_NAME))
    try:
        settings = Settings.load()
        logs.configure(settings)
        logs.name_misspelt()
        program = BY_NAME[parser.parse_args().name](settings)
        variables = settings.environment() | dagster_home.environment(settings, Database.of(settings))
    except SettingsError as error:
        sys.exit(str(error))
    while program.after is not None and not dagster_home.answers(program.after):
        time.sleep(_PAUSE_SECONDS)
    os.execve(program.command[0], program.command, MEMORY | os.environ | variables)  # noqa: S606


if __name__ == "__main__":
    main()
