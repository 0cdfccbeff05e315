"""Lists the programs of the service on one machine and the command of each (docs/operations.md describes them).

What belongs here: commands. What does not: supervision, which is the work of `api.operate.serve` or of your machines'
own
process manager.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pipelines import allocator
from schemas.json_values import JsonObject
from warehouse.operate import dagster_home
from warehouse.operate.settings import Settings

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
    """Return one process of the API, which listens by itself."""
    return Program("api", (*_PYTHON, "api.operate.server"))


def forker(_: Settings) -> Program:
    """Return the process that forks the programs of `orchestration`; the blanks are room for their names."""
    return Program("forker", (*_PYTHON, "pipelines.engine.forker", " " * _NAME_BYTES))


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
"""Programs that can be started separately (`api.operate.start`)."""


_ANSWER_SECONDS: Final = 5.0
_MOST_BYTES: Final = 100
_LOST: Final = -signal.SIGKILL
"""The status of a process that ended when nobody was left to hear how."""

SUPPORTED: Final = sys.platform == "linux"
"""Whether programs can be forked and watched: other systems' libraries do not bear a fork, and have no `pidfd`."""


class Forked:
    """A forked process, with as much of `subprocess.Popen` as the supervisor uses."""

    def __init__(self, pid: int, forker: Path) -> None:
        """Watch the process. Raises `OSError` where it is gone already."""
        self.pid, self.returncode, self._forker = pid, None, forker
        self._ended = os.pidfd_open(pid)

    returncode: int | None

    def poll(self) -> int | None:
        """Return the exit status; None while it runs."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status when it has ended. Raises `subprocess.TimeoutExpired`."""
        status = self._look(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return status

    def terminate(self) -> None:
        """Send SIGTERM."""
        signal.pidfd_send_signal(self._ended, signal.SIGTERM)

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._ended], [], [], seconds)[0]:
            os.close(self._ended)
            try:
                self.returncode = _ask(self._forker, {"ended": self.pid})
            except OSError:
                self.returncode = _LOST
        return self.returncode


def start(command: Sequence[str], environment: Mapping[str, str], forker: Path) -> Forked | None:
    """Fork a command of the form `python -m MODULE ARGUMENT...`; None where the forker has just ended."""
    try:
        return Forked(_ask(forker, {"command": command[2:], "environment": dict(environment)}), forker)
    except OSError:
        return None


def answers(forker: Path) -> bool:
    """Return whether the forker answers; one that hangs is still connected to by the system."""
    try:
        return _ask(forker, None) == 0
    except OSError:
        return False


def _ask(forker: Path, request: JsonObject | None) -> int:
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(_ANSWER_SECONDS)
        channel.connect(str(forker))
        channel.sendall(json.dumps(request).encode())
        channel.shutdown(socket.SHUT_WR)
        answer = channel.recv(_MOST_BYTES)
    if not answer:
        raise ConnectionResetError
    return int(answer)
