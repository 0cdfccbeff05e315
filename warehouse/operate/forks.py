"""Forks processes from one that has loaded their code, and asks for such a fork over a socket.

A forked process shares the pages of what is loaded with all others, and starts at once. What belongs here: both ends of
the socket, and watching a forked process. What does not: what is loaded, and what a forked process does
(`api.operate.forker`, `pipelines.readers.template`).

The process that forks has no threads of its own: a fork loses threads and keeps their locks.
"""

import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from schemas.json_values import JsonObject

SUPPORTED: Final = sys.platform == "linux"
"""Whether processes can be forked and watched: other systems' libraries do not bear a fork, and have no `pidfd`."""
_ANSWER_SECONDS: Final = 5.0
_MOST_BYTES: Final = 100
_MOST_DESCRIPTORS: Final = 1
_ARGUMENTS_FIELD: Final = 45
"""`arg_start` among the fields behind the name, from 0; `arg_end` follows it (proc_pid_stat(5))."""
_LOST: Final = -signal.SIGKILL
"""The status of a process that ended when nobody was left to hear how."""


class Asked(NamedTuple):
    """What a process was forked for, and the descriptors that came with it."""

    message: JsonObject
    descriptors: list[int]


def serve(path: Path) -> Asked:
    """Answer each request at a socket: fork a process, or say how one ended. Return in a forked process alone."""
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        while True:
            with listener.accept()[0] as asking:
                text, descriptors = _received(asking)
                message = json.loads(text or "null")
                if message is None:  # it only looks whether this process answers
                    answer = 0
                elif "ended" in message:  # no number is used again before it was asked for the end
                    answer = status_of(message["ended"])
                elif (answer := os.fork()) == 0:
                    os.setsid()
                    return Asked(message, descriptors)
                for descriptor in descriptors:
                    os.close(descriptor)
                try:
                    asking.sendall(json.dumps(answer).encode())
                except OSError:  # it waited no longer, and will ask for another one
                    if message and "ended" not in message:
                        os.kill(answer, signal.SIGKILL)


def _received(asking: socket.socket) -> tuple[bytes, list[int]]:
    text, descriptors, _, _ = socket.recv_fds(asking, 65_536, _MOST_DESCRIPTORS)
    while more := asking.recv(65_536):
        text += more
    return text, descriptors


def show(command: Sequence[str]) -> None:
    """Write the command over the arguments that this process was started with, where `ps` finds them."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    begin, end = (int(field) for field in fields[_ARGUMENTS_FIELD : _ARGUMENTS_FIELD + 2])
    text = os.fsencode("\0".join(command))[: end - begin - 1]
    ctypes.memmove(begin, text.ljust(end - begin, b"\0"), end - begin)


def status_of(pid: int) -> int:
    """Return how a process ended; one that an earlier process had forked ended with that one, by SIGKILL."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return _LOST


class Forked:
    """A forked process, with as much of `subprocess.Popen` as is used."""

    def __init__(self, pid: int, forker: Path) -> None:
        """Watch the process. Raises `OSError` where it is gone already."""
        self.pid, self.returncode, self._forker = pid, None, forker
        self._ended = os.pidfd_open(pid)

    returncode: int | None

    def __del__(self) -> None:
        """Stop watching; until then the descriptor is this process's, whichever thread signals it."""
        with suppress(AttributeError):
            os.close(self._ended)

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
        """Send SIGTERM, unless it has ended."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL, unless it has ended."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._ended, number)

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None:
            ended = select.poll()  # of any descriptor; `select` takes none above 1 023
            ended.register(self._ended, select.POLLIN)
            if not ended.poll(None if seconds is None else seconds * 1000):
                return None
            try:
                self.returncode = _ask(self._forker, {"ended": self.pid})
            except OSError:
                self.returncode = _LOST
        return self.returncode


def fork(forker: Path, message: JsonObject, descriptors: Sequence[int] = ()) -> Forked | None:
    """Ask for a process; None where the one that forks has just ended."""
    try:
        return Forked(_ask(forker, message, descriptors), forker)
    except OSError:
        return None


def answers(forker: Path) -> bool:
    """Return whether the process that forks answers; one that hangs is still connected to by the system."""
    try:
        return _ask(forker, None) == 0
    except OSError:
        return False


def _ask(forker: Path, request: JsonObject | None, descriptors: Sequence[int] = ()) -> int:
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(_ANSWER_SECONDS)
        channel.connect(str(forker))
        text = json.dumps(request).encode()
        sent = socket.send_fds(channel, [text], descriptors)
        channel.sendall(text[sent:])
        channel.shutdown(socket.SHUT_WR)
        answer = channel.recv(_MOST_BYTES)
    if not answer:
        raise ConnectionResetError
    return int(answer)
