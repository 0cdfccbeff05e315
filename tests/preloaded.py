"""`pcds` for a test's shell, forked from one process that has loaded every command: a start by itself costs a second.

What belongs here: the program of that name in a folder for PATH, and the process behind it. Each call is a process of
its own, in its caller's folder, with its caller's variables, input and outputs. `pcds serve` is started by itself.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = """#!/bin/sh
[ "$1" = serve ] && exec {python} -m api.cli "$@"
exec {python} -S -E {folder}/ask.py "$@"
"""
ASK = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as door:
    door.connect({door!r})
    asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(door, [len(asked).to_bytes(4, "big")], [0, 1, 2])
    door.sendall(asked)
    sys.exit(int(door.recv(1) and door.recv(10)))
"""


@contextmanager
def pcds(folder: Path) -> Iterator[Path]:
    """The folder that has the program, for as long as the block runs."""
    door = folder / "door"
    (folder / "ask.py").write_text(ASK.format(door=str(door)), encoding="utf-8")
    (folder / "pcds").write_text(PROGRAM.format(python=sys.executable, folder=folder), encoding="utf-8")
    (folder / "pcds").chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(door))
        listening.listen()
        command = [sys.executable, "-m", "tests.preloaded", str(listening.fileno())]
        with subprocess.Popen(command, cwd=ROOT, pass_fds=[listening.fileno()]) as process:
            try:
                yield folder
            finally:
                process.terminate()


def serve(listening: socket.socket) -> None:
    """Answer each call by a fork, until the process is ended."""
    from api import cli  # noqa: PLC0415  (loaded here alone: the caller's process needs none of it)

    cli.build_program(cli.COMMANDS)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    assert threading.active_count() == 1, "a fork has no other threads"
    while True:
        asking, _ = listening.accept()
        if os.fork():
            asking.close()
            continue
        listening.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        status = _run(asking, cli.main)
        asking.sendall(f" {status}".encode())
        os._exit(0)


def _run(asking: socket.socket, main: object) -> int:
    size, descriptors, *_ = socket.recv_fds(asking, 4, 3)
    asked = b""
    while len(asked) < int.from_bytes(size, "big"):
        asked += asking.recv(1 << 16)
    words, folder, variables = json.loads(asked)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = ["pcds", *words]
    try:
        assert callable(main)
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
