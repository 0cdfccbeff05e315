"""Forks Dagster's programs from one process that has loaded their libraries (`python -m api.operate.forker`).

Webserver, daemon, code server and workers each need Dagster and its storage: 90 MiB and more than a second of processor
time a process. A forked process shares those pages with all others, and starts at once. So does the preparation of the
database at a start of the service, which needs most of them. What belongs here: loading what all of them need, forking,
and asking for a fork over the forker's socket. What does not: which programs run and when they start again
(`api.operate.serve`).

A fork loses threads. Polars starts three as it is imported, which a program can do without, and its pool with the first
query, which is never made here (decision 0061).
"""

import atexit
import gc
import importlib
import os
import runpy
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from warehouse.operate import dagster_home, forks, leftovers
from warehouse.operate.forks import Forked
from warehouse.operate.settings import Settings

_LOADED: Final = (
    "grpc_health.v1.health",
    "httpx2",
    "pandera.backends.polars.builtin_checks",
    "pipelines.definitions",
    "pipelines.engine.coordinator",
    "pipelines.engine.daemon",
    "pipelines.engine.instance",
    "pipelines.engine.launcher",
    "psycopg2.extras",
    "puremagic",
    "tomlkit",
    "upath",
)
"""What several of the programs import."""
PREPARE: Final = "api.operate.prepare"
"""The program that prepares the database."""


class Program(NamedTuple):
    """A program to become: a module and its arguments, as after `python -m`, and its environment."""

    command: list[str]
    environment: dict[str, str]


def main() -> None:
    """Load the libraries, prepare the database where that is asked for, then fork what is asked for until SIGTERM."""
    path = dagster_home.forker_socket(Settings.load())
    end_with_parent = leftovers.end_with_parent()
    load()
    gc.freeze()  # a collection would write to the pages of all objects, and so copy them; nothing of them is garbage
    if options := sys.argv[1].strip():
        _prepare(options, end_with_parent)
    importlib.import_module("pipelines.engine.instance").make_tables()
    gc.freeze()
    asked = forks.serve(path)
    if end_with_parent is not None:
        end_with_parent()
    _become(Program(**asked.message))


def _prepare(options: str, end_with_parent: Callable[[], None] | None) -> None:
    """Prepare the database in a forked process, whose memory is free when it has ended; end as it does where it fails.

    Its answer goes to the supervisor by standard output, which is closed behind it. One that was killed has a status
    above 128, as in a shell.
    """
    if (child := os.fork()) == 0:
        if end_with_parent is not None:
            end_with_parent()
        forks.show([sys.executable, "-m", PREPARE])
        sys.argv = [PREPARE, options]
        run_program(PREPARE)
    status = forks.status_of(child)
    if status != 0:
        os._exit(status if status > 0 else 128 - status)  # what is loaded is not taken apart, as in `run_program`
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), sys.stdout.fileno())


def load() -> None:
    """Import what the programs share, and have Dagster resolve the jobs of the definitions."""
    gc.disable()  # nothing that is loaded is garbage
    for name in _LOADED:
        importlib.import_module(name)
    importlib.import_module("pipelines.definitions").defs.resolve_all_job_defs()
    gc.enable()


def _become(program: Program) -> None:
    """Run the program in this process."""
    os.environ.clear()
    os.environ.update(program.environment)
    forks.show([sys.executable, "-m", *program.command])
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


def start(command: Sequence[str], environment: Mapping[str, str], forker: Path) -> Forked | None:
    """Fork a command of the form `python -m MODULE ARGUMENT...`; None where the forker has just ended."""
    return forks.fork(forker, {"command": command[2:], "environment": dict(environment)})


if __name__ == "__main__":
    main()
