"""Lists the programs of the service on one machine (docs/operations.md describes them), and starts one of them.

`python -m api.operate.start NAME` is for a process manager other than `pcds serve`: the process becomes the program,
with the environment variables that it needs (`warehouse.operate.dagster_home`). What does not belong here: supervision,
which is the work of `api.operate.serve` or of your machines' own process manager.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

from pipelines import allocator
from warehouse.operate import dagster_home, logs
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings, SettingsError

WORKERS: Final = 2
"""One more than the number of large runs that dagster.yaml allows at a time: a small file always finds a worker."""
MEMORY: Final = {allocator.VARIABLE: allocator.SETTING, "OPENBLAS_NUM_THREADS": "1"}
"""How libraries take memory. NumPy starts no threads as it is imported; nothing here multiplies matrices."""
COUNTED: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable of prometheus-client: a folder in which all API processes of a machine count (`api.http.metrics`)."""
_PYTHON: Final = (sys.executable, "-m")
_NAME_BYTES: Final = 400
_QUIET: Final = ("--log-level", "warning", "--log-format", "json")


class Program(NamedTuple):
    """One program; one with `after` waits until another program answers at that socket."""

    name: str
    command: tuple[str, ...]
    after: Path | None = None


FORKER: Final = Program("forker", (*_PYTHON, "api.operate.forker", " " * _NAME_BYTES))
"""Forks the programs of `orchestration`; the blanks are room for their names."""
PREPARE: Final = Program("prepare", (*_PYTHON, "api.operate.prepare"))
"""Prepares the database; its argument is options as JSON. The forker does the same as it starts."""
CODE_SERVER: Final = "dagster-code"
READERS: Final = Program("readers", (*_PYTHON, "pipelines.readers.template"))
"""Forks the processes that read files; its argument is its socket, and it has `pipelines.readers.variables` alone."""


def programs(settings: Settings) -> dict[str, Program]:
    """Return the programs that can be started separately (`main`), by name.

    The code server serves the definitions to the webserver, Dagster's pages behind `api.staff.access`, and to the
    daemon: schedules, sensors, queue, backfills and run monitoring. A worker executes runs, one at a time; that of
    deploy/celery/dagster.yaml (`PCDS_DAGSTER_YAML`) as many at a time as cores.
    """
    socket = dagster_home.code_socket(settings)
    code = ["--module-name", dagster_home.DEFINITIONS, "--socket", str(socket)]
    code += ["--location-name", dagster_home.LOCATION, "--use-python-environment-entry-point", *_QUIET]
    celery = ("--app", "pipelines.engine.celery_app", "worker", "--queues", "dagster", "--pool", "prefork")
    listed = (
        Program("api", (*_PYTHON, "api.operate.server")),
        Program("celery-worker", (*_PYTHON, "celery", *celery)),
        Program(CODE_SERVER, (*_PYTHON, "pipelines.engine.code_server", *code)),
        Program("dagster-daemon", (*_PYTHON, "pipelines.engine.daemon"), socket),
        Program("dagster-ui", (*_PYTHON, "pipelines.engine.ui"), socket),
        Program("worker", (*_PYTHON, "pipelines.engine.worker")),
    )
    return {program.name: program for program in listed}


def orchestration(settings: Settings, *, number_of_workers: int = WORKERS) -> list[Program]:
    """Return all programs that execute runs, those that supply work before those that do it."""
    by_name = programs(settings)
    workers = [by_name["worker"]._replace(name=f"worker {number}") for number in range(1, number_of_workers + 1)]
    return [by_name["dagster-ui"], by_name["dagster-daemon"], *workers, by_name[CODE_SERVER]]


_PAUSE_SECONDS: Final = 0.25


def main() -> None:
    """Become the program; one that needs the code server waits for it."""
    parser = argparse.ArgumentParser(prog="python -m api.operate.start", description=main.__doc__)
    try:
        settings = Settings.load()
        logs.configure(settings)
        logs.name_misspelt()
        by_name = programs(settings)
        parser.add_argument("name", choices=sorted(by_name))
        program = by_name[parser.parse_args().name]
        variables = settings.environment() | dagster_home.environment(settings, Database.from_settings(settings))
    except SettingsError as error:
        sys.exit(str(error))
    while program.after is not None and not dagster_home.answers(program.after):
        time.sleep(_PAUSE_SECONDS)
    os.execve(program.command[0], program.command, MEMORY | os.environ | variables)  # noqa: S606


if __name__ == "__main__":
    main()
