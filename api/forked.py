"""Starts programs through the process that forks them (`pipelines.engine.forker`), and watches what it forked.

What belongs here: the supervisor's end of that socket. What does not: when a program starts or ends (`api.serve`).
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from schemas.json_values import JsonObject

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
