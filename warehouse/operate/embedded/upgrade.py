"""Reads `postmaster.pid`: finds the process of a cluster's server, and removes a lock that is out of date.

Postgres judges its own lock by whether the process number exists. That is too careful in two cases that are common in
containers: the number now belongs to another program, or to a dead server that no parent has reaped.
"""

import contextlib
import os
import random
import socket
import time
from pathlib import Path
from typing import Final

import psutil

_NAME: Final = "postgres"
_SEGMENTS: Final = Path("/proc/sysvipc/shm")  # Linux: key, shmid, perms, size, cpid, lpid, nattch, ...
_SEGMENT_LINE: Final = 6  # of postmaster.pid, from 0: key and shmid of the segment that every process attaches


def postmaster(cluster: Path) -> psutil.Process | None:
    """Return the cluster's running postmaster. Every account can read its command line, but not its directory."""
    try:
        process = psutil.Process(int(_lines(cluster)[0]))
        return process if str(cluster) in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE else None
    except (OSError, ValueError, IndexError, psutil.Error):
        return None


def clear(cluster: Path) -> None:
    """Remove the lock of a server that is not running, where Postgres itself would keep it.

    A number without a process is left to Postgres, which also looks for surviving children of the old server. So is the
    number of a running Postgres: it may be this cluster's under another path, and two servers would destroy the
    cluster.
    """
    lock = cluster / "postmaster.pid"
    try:
        lines = _lines(cluster)
        process = psutil.Process(int(lines[0]))
    except (OSError, psutil.NoSuchProcess):
        return
    except (ValueError, IndexError):  # the file was cut off while it was written: no server had started
        _remove(lock)
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        if process.name() != _NAME or (process.status() == psutil.STATUS_ZOMBIE and _is_abandoned(lines, process.pid)):
            _remove(lock)


def _remove(lock: Path) -> None:
    """Remove the lock, and the socket's lock beside it, which names the same process."""
    for path in lock.parent.glob(".s.PGSQL.*"):
        path.unlink()
    lock.unlink()


def _is_abandoned(lines: list[str], number: int) -> bool:
    """Return whether no process of a dead server is left: its children outlive it for a moment."""
    with contextlib.suppress(ChildProcessError):  # as the container's first process, we reap it
        os.waitpid(number, os.WNOHANG)
    if not _SEGMENTS.exists():
        return False
    shmid = lines[_SEGMENT_LINE].split()[1]
    segments = (row.split() for row in _SEGMENTS.read_text(encoding="ascii").splitlines()[1:])
    return all(segment[6] == "0" for segment in segments if segment[1] == shmid)


def _lines(cluster: Path) -> list[str]:
    return (cluster / "postmaster.pid").read_text(encoding="utf-8").splitlines()


LOOPBACK: Final = "127.0.0.1"
_PORTS: Final = range(20_000, 32_000)  # below the range that systems use for outgoing connections
_PORT_SECONDS: Final = 3.0


def becomes_free(port: int) -> bool:
    """Return whether the port is free, or becomes free: processes of a killed server release it in a moment."""
    deadline = time.monotonic() + _PORT_SECONDS
    while not (free := _is_free(port)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return free


def free_port() -> int:
    """Return a port that nobody listens on."""
    return next(port for port in random.sample(_PORTS, len(_PORTS)) if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
