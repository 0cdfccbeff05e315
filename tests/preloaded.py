"""Programs of the service for tests, forked from one process that has loaded them: a start by itself costs seconds.

What belongs here: that process, starting programs by it (`start`, as `python -m MODULE ARGUMENT...` would), `pcds`,
called (`pcds`) or on a shell's PATH (`shell`), and readers for all of them (`lend_readers`). Each program is a process
of its own with its caller's folder, variables, input and outputs; it ends and is killed as one. `pcds serve` forks its
programs likewise, from the process that it runs itself (`api.operate.forker`). Where nothing can be forked all are
started by themselves.
"""

import atexit
import gc
import importlib
import json
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import IO, Any

import dagster

from api.operate import forker
from api.operate import start as start_programs
from pipelines.readers import variables
from warehouse.operate import dagster_home, forks, leftovers
from warehouse.operate.settings import Settings

ROOT = Path(__file__).parents[1]
LOADED = (
    "api.app",
    "api.cli",
    "httpcore2",
    "pipelines.engine.code_server",
    "pipelines.engine.daemon",
    "pipelines.engine.instance",
    "pipelines.engine.ui",
    "psycopg2.extras",
    "upath.core",
)
"""And what the modules of `pipelines.defs` define (`_definitions`)."""
FIGURES_BY_COMMAND = "TESTS_FIGURES_BY_COMMAND"
"""A variable with which programs leave what was written unpublished until `pcds rollup` or `pcds snapshot` is called.

Each company that writes costs a run some seconds later, and most tests read no figures.
"""
PROGRAM = """#!/bin/sh
[ "$1" = serve ] && exec {python} -m api.cli "$@"
exec {python} -S -E {folder}/ask.py "$@"
"""
ASK = """
import json, os, select, socket, sys
def ask(request, descriptors=()):
    with socket.socket(socket.AF_UNIX) as door:
        door.connect({door!r})
        socket.send_fds(door, [json.dumps(request).encode()], descriptors)
        door.shutdown(socket.SHUT_WR)
        return int(door.recv(100))
program = {{"command": ["api.cli", *sys.argv[1:]], "folder": os.getcwd(), "environment": dict(os.environ)}}
pid = ask(program, [0, 1, 2])
select.select([os.pidfd_open(pid)], [], [])
sys.exit(ask({{"ended": pid}}))
"""


_own_door: list[Path] = []
"""In the process that has loaded the programs, and in those that it forked: its socket."""


@cache
def _door() -> Path:
    """The socket of the process that has loaded the programs, which the first that is started begins."""
    if _own_door:
        return _own_door[0]
    folder = Path(tempfile.mkdtemp(prefix="pcds-preloaded-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    door = folder / "door"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(door))
        listening.listen()
        command = [sys.executable, "-m", "tests.preloaded", str(listening.fileno())]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            pass_fds=[listening.fileno()],
            preexec_fn=leftovers.end_with_parent(),  # noqa: PLW1509  (it calls no lock of ours)
        )
    atexit.register(process.terminate)
    return door


def start(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    output: IO[bytes],
    errors: IO[bytes] | None = None,
    said: IO[bytes] | None = None,
    apart: bool = False,
) -> forks.Forked | subprocess.Popen[bytes]:
    """Start `python -m MODULE ARGUMENT...` from the repository.

    `said` is its standard input, which is empty without. `apart` gives it a process group of its own.
    """
    if not forks.SUPPORTED:
        files = {"stdin": said or subprocess.DEVNULL, "stdout": output, "stderr": errors or output}
        return subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=apart, **files)
    asked = {"command": [*command[2:]], "folder": str(ROOT), "environment": {**environment}, "apart": apart}
    with socket.socket(socket.AF_UNIX) as channel, Path(os.devnull).open("rb") as nothing:
        channel.connect(str(_door()))
        files = [file.fileno() for file in (said or nothing, output, errors or output)]
        socket.send_fds(channel, [json.dumps(asked).encode()], files)
        channel.shutdown(socket.SHUT_WR)
        return forks.Forked(int(channel.recv(100)), _door())


def pcds(*arguments: object, environment: Mapping[str, str], said: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command with these variables, and a text at its standard input."""
    return run([sys.executable, "-m", "api.cli", *map(str, arguments)], environment, said)


def run(command: Sequence[str], environment: Mapping[str, str], said: str = "") -> subprocess.CompletedProcess[str]:
    """Run `python -m MODULE ARGUMENT...` to its end."""
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(said.encode())
        files[0].seek(0)
        status = start(command, environment, said=files[0], output=files[1], errors=files[2]).wait()
        answers = [os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode() for file in files[1:]]
    return subprocess.CompletedProcess([*command], status, *answers)


@cache
def readers() -> Path:
    """The socket of the process that forks readers, as `pcds serve` starts it; all data directories share this one."""
    folder = Path(tempfile.mkdtemp(prefix="pcds-readers-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    process = subprocess.Popen(
        [*start_programs.READERS.command, str(folder / "door")],
        env=variables.of_reader(),
        preexec_fn=leftovers.end_with_parent(),  # noqa: PLW1509  (it calls no lock of ours)
    )
    atexit.register(process.terminate)
    return folder / "door"


def lend_readers(settings: Settings) -> None:
    """Have the programs of a data directory fork their readers: each that starts by itself loads for half a second."""
    if forks.SUPPORTED:
        place = dagster_home.readers_socket(settings)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(readers())


def popen(
    command: Sequence[str], environment: Mapping[str, str], *, stdout: int = subprocess.DEVNULL, **_: object
) -> forks.Forked | subprocess.Popen[bytes]:
    """What `api.operate.serve` shall have to start the process that prepares a database, which is read from."""
    assert stdout == subprocess.PIPE
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as output, os.fdopen(2, "wb", closefd=False) as errors:
        process = start(command, environment, output=output, errors=errors)
    vars(process)["stdout"] = os.fdopen(reading, "rb")
    return process


class ForksRuns:
    """What `api.operate.program` shall have as its `subprocess`: the runs that a command starts are forked too."""

    @staticmethod
    def run(command: Sequence[str], *, env: Mapping[str, str], **_: object) -> subprocess.CompletedProcess[str]:
        """Do as `subprocess.run` with the output captured."""
        return run(command, env)


def shell(folder: Path) -> Path:
    """The folder with `pcds` in it, for a shell's PATH."""
    (folder / "ask.py").write_text(ASK.format(door=str(_door())), encoding="utf-8")
    (folder / "pcds").write_text(PROGRAM.format(python=sys.executable, folder=folder), encoding="utf-8")
    (folder / "pcds").chmod(0o755)
    return folder


def main(listening: socket.socket) -> None:
    """Load the programs, then fork what is asked for until this process is ended, or its caller."""
    gc.disable()  # nothing that is loaded is garbage
    for name in LOADED:
        importlib.import_module(name)
    with warnings.catch_warnings(action="ignore"):  # Dagster's, which the definitions know
        defined = _definitions()
    dagster.load_from_defs_folder = lambda **_: defined
    cli = importlib.import_module("api.cli")
    cli.build_program(cli.COMMANDS)
    gc.enable()
    gc.freeze()
    _own_door.append(Path(listening.getsockname()))
    _become(_forked(listening))


def _definitions() -> dagster.Definitions:
    """What the modules of `pipelines.defs` define, found once: that takes a quarter of a second in each program.

    None of it takes settings. Each program combines it with resources of its own, by `pipelines.definitions`.
    """
    return dagster.load_from_defs_folder(path_within_project=ROOT / "pipelines" / "definitions.py")


def _forked(listening: socket.socket) -> dict[str, Any]:
    """Answer each request; return in a forked process alone, with what it shall be."""
    while True:
        channel, _ = listening.accept()
        with channel:
            said, descriptors, *_ = socket.recv_fds(channel, 1 << 16, 3)
            while more := channel.recv(1 << 16):
                said += more
            asked: dict[str, Any] = json.loads(said)
            answer = forks.status_of(asked["ended"]) if "ended" in asked else os.fork()
            if answer or "ended" in asked:
                channel.sendall(json.dumps(answer).encode())
                for descriptor in descriptors:
                    os.close(descriptor)
                continue
        listening.close()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        return asked


def _become(program: dict[str, Any]) -> None:
    """Run the program in this process."""
    if program.get("apart"):
        os.setsid()
    os.chdir(program["folder"])
    os.environ.clear()
    os.environ.update(program["environment"])
    vars(importlib.import_module("api.operate.program"))["subprocess"] = ForksRuns
    if FIGURES_BY_COMMAND in program["environment"]:
        vars(importlib.import_module("pipelines.due"))["written_portfolios"] = lambda *_: {}
    vars(importlib.import_module("uvicorn._subprocess"))["spawn"] = multiprocessing.get_context("fork")
    name, *_ = sys.argv = program["command"]
    if not hasattr(sys.modules.get(name), "__path__"):  # a package has a module beside it for that
        sys.modules.pop(name, None)  # it is loaded, and runs as a program
    forker.run_program(name)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
