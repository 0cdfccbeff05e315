"""Forks Dagster's programs from one process that has loaded their libraries (`python -m api.operate.forker`).

Webserver, daemon, code server and workers each need Dagster and its storage: 90 MiB and more than a second of processor
time a process. A forked process shares those pages with all others, and starts at once. What belongs here: loading what
all of them need, forking, and asking for a fork over the forker's socket. What does not: which programs run and when
they start again (`api.operate.serve`).

Polars starts threads as it is imported, and a fork loses threads: each program imports by itself what needs it.
"""

import atexit
import ctypes
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from schemas.json_values import JsonObject
from warehouse.operate import dagster_home, leftovers
from warehouse.operate.settings import Settings

SUPPORTED: Final = sys.platform == "linux"
"""Whether programs can be forked and watched: other systems' libraries do not bear a fork, and have no `pidfd`."""
_ANSWER_SECONDS: Final = 5.0
_MOST_BYTES: Final = 100
_LOST: Final = -signal.SIGKILL
"""The status of a process that ended when nobody was left to hear how."""
_LOADED: Final = (
    "compliance.grading.units",
    "cryptography.hazmat.primitives.ciphers.aead",
    "dagster_postgres",
    "duckdb",
    "grpc_health.v1.health",
    "httpx2",
    "numpy",
    "obstore",
    "pipelines.engine.daemon",
    "psycopg_pool",
    "puremagic",
    "schemas.conformity",
    "schemas.filings",
    "schemas.skus.answers",
    "schemas.suppliers",
    "schemas.words",
    "tomlkit",
    "warehouse.operate.logs",
    "xlsxwriter",
)
"""What several of the programs import, without threads (NumPy's by `api.operate.start.MEMORY`)."""
_ARGUMENTS_FIELD: Final = 45
"""`arg_start` among the fields behind the name, from 0; `arg_end` follows it (proc_pid_stat(5))."""


class Program(NamedTuple):
    """A program to become: a module and its arguments, as after `python -m`, and its environment."""

    command: list[str]
    environment: dict[str, str]


def main() -> None:
    """Load the libraries, then fork what the supervisor asks for until SIGTERM."""
    path = dagster_home.forker_socket(Settings.load())
    gc.disable()  # nothing that is loaded is garbage
    for name in _LOADED:
        importlib.import_module(name)
    gc.enable()
    gc.collect()
    gc.freeze()  # a collection would write to the pages of all objects, and so copy them
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        program = _forked(listener)
    _become(program)


def _forked(listener: socket.socket) -> Program:
    """Answer each request: fork a program, or say how one ended. Return in a forked process alone."""
    end_with_parent = leftovers.end_with_parent()
    while True:
        with listener.accept()[0] as supervisor, supervisor.makefile("rb") as request:
            message = json.loads(request.read() or "null")
            if message is None:  # it only looks whether this process answers
                answer = 0
            elif "ended" in message:  # no number is used again before the supervisor has asked for its end
                answer = status_of(message["ended"])
            elif (answer := os.fork()) == 0:
                os.setsid()
                if end_with_parent is not None:
                    end_with_parent()
                return Program(**message)
            try:
                supervisor.sendall(json.dumps(answer).encode())
            except OSError:  # it waited no longer, and will ask for another one
                if message and "ended" not in message:
                    os.kill(answer, signal.SIGKILL)


def status_of(pid: int) -> int:
    """Return how a program ended; one that an earlier forker had forked ended with that one, by SIGKILL."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return _LOST


def _become(program: Program) -> None:
    """Run the program in this process."""
    os.environ.clear()
    os.environ.update(program.environment)
    _show([sys.executable, "-m", *program.command])
    sys.argv = program.command
    if program.command[0] in _LOADED:  # one of these is a program itself, and runs as one
        del sys.modules[program.command[0]]
    run_program(program.command[0])


def run_program(name: str) -> NoReturn:
    """Run a module as a program, and end this process as Python does, but for its objects.

    Taking apart all that is loaded copies its pages and costs up to two seconds of processor time.
    """
    code: object = None
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    if isinstance(code, str):
        print(code, file=sys.stderr)
    threading._shutdown()  # type: ignore[attr-defined]  # joins threads, which Python does first
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def _show(command: list[str]) -> None:
    """Write the command over the arguments that this process was started with, where `ps` finds them."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    begin, end = (int(field) for field in fields[_ARGUMENTS_FIELD : _ARGUMENTS_FIELD + 2])
    text = os.fsencode("\0".join(command))[: end - begin - 1]
    ctypes.memmove(begin, text.ljust(end - begin, b"\0"), end - begin)


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


if __name__ == "__main__":
    main()
