"""Finds the processes of one `pcds serve` by a mark in their environment, and ends them where the supervisor cannot.

A killed supervisor ends nothing. On Linux the kernel signals its children, but not their children. So each process of a
supervisor carries its mark, whichever process started it. The keeper (`warehouse.operate.keeper`) finds it by that mark
as soon as the supervisor is gone, and so does the next start.
"""

import ctypes
import fcntl
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Self

import psutil

from warehouse.operate.settings import SettingsError

MARK: Final = "PCDS_SUPERVISOR"
GRACE_SECONDS: Final = 25.0
"""How long a process may take to end, on a busy machine: the worker finishes its chunk, the API its requests."""

_LOCK: Final = "serve.lock"
"""The file of a data directory that `pcds serve` alone locks: commands and other programs share the directory."""
_PR_SET_PDEATHSIG: Final = 1  # prctl(2)
_START_FIELD: Final = 19
"""`starttime` among the fields behind the name, from 0 (proc_pid_stat(5))."""


class Mark(NamedTuple):
    """Identifies a supervisor by its process number and its start time, since process numbers are used again."""

    pid: int
    started: float

    @classmethod
    def own(cls) -> Self:
        """Return the mark of this process."""
        return cls(os.getpid(), _started(os.getpid()))

    @classmethod
    def from_process(cls, process: psutil.Process) -> Self | None:
        """Return the mark that a process carries; None where it has none, or where this account cannot read it."""
        try:
            return cls.read(process.environ().get(MARK, ""))
        except (psutil.Error, OSError):
            return None

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the mark that a text is; None where it is none."""
        pid, _, started = text.partition("@")
        try:
            return cls(int(pid), float(started))
        except ValueError:
            return None

    @classmethod
    def of_this_process(cls) -> Self | None:
        """Return the mark that this process carries."""
        return cls.from_process(psutil.Process())

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment variables that mark a process as this supervisor's."""
        return {MARK: self.text}

    @property
    def text(self) -> str:
        """Return what `read` reads."""
        return f"{self.pid}@{self.started}"

    @property
    def lives(self) -> bool:
        """Return whether the supervisor still runs."""
        try:
            ended = psutil.Process(self.pid).status() == psutil.STATUS_ZOMBIE
            return not ended and _started(self.pid) == self.started
        except psutil.Error:
            return False


@contextmanager
def serving_alone(data_dir: Path) -> Iterator[None]:
    """Be the one `pcds serve` of a data directory during the block. Raise `SettingsError` where another one is.

    The kernel lets go of the lock however the process ends.
    """
    with (data_dir / _LOCK).open("ab+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = supervisor_of(data_dir)
            who = f" (process {other.pid})" if other else ""
            sentence = f"`pcds serve`{who} runs on {data_dir} already; end it, or name another place with --data-dir."
            raise SettingsError(sentence) from None
        file.truncate(0)
        file.write(Mark.own().text.encode())
        file.flush()
        yield


def is_served(data_dir: Path) -> bool:
    """Return whether a `pcds serve` runs on a data directory."""
    return supervisor_of(data_dir) is not None


def supervisor_of(data_dir: Path) -> Mark | None:
    """Return the mark of the `pcds serve` that runs on a data directory."""
    try:
        mark = Mark.read((data_dir / _LOCK).read_text(encoding="ascii"))
    except (OSError, UnicodeDecodeError):
        return None
    return mark if mark is not None and mark.lives else None


def of_supervisor(mark: Mark) -> list[psutil.Process]:
    """Return the supervisor's processes other than this one."""
    return [process for process in _others() if Mark.from_process(process) == mark]


def orphans(data_dir: Path) -> list[psutil.Process]:
    """Return the processes on a data directory whose supervisors are gone."""
    return [process for process in _others() if _is_orphan(process, data_dir)]


def end(processes: Iterable[psutil.Process], *, grace_seconds: float = GRACE_SECONDS) -> None:
    """Send SIGTERM to each process, then SIGKILL to those that still run after the grace period."""
    to_end = list(processes)
    for process in to_end:
        _tell(process, kill=False)
    _, alive = psutil.wait_procs(to_end, timeout=grace_seconds)
    for process in alive:
        _tell(process, kill=True)
    psutil.wait_procs(alive, timeout=GRACE_SECONDS)  # killed, but the kernel takes its time


def end_with_parent() -> Callable[[], None] | None:
    """Return a child's function that makes the kernel end it when this one is killed; only Linux can do it."""
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None, use_errno=True).prctl, os.getpid()

    def arrange() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # killed before this was arranged
            os._exit(1)

    return arrange


def listening(port: int) -> psutil.Process | None:
    """Return the process that listens on a TCP port of this machine; None where this account cannot see it."""
    try:
        for connection in psutil.net_connections(kind="tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port and connection.pid:
                return psutil.Process(connection.pid)
    except (psutil.Error, OSError):
        return None
    return None


def _started(pid: int) -> float:
    """Return when a process started, the same to every caller. On Linux in clock ticks since the machine started.

    Linux records no other instant: a time computed from the ticks and the clock changes when the clock is set. On other
    systems in seconds since 1970.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return float(fields[_START_FIELD])
    except OSError:
        return float(psutil.Process(pid).create_time())


def _others() -> Iterator[psutil.Process]:
    return (process for process in psutil.process_iter() if process.pid != os.getpid())


def _is_orphan(process: psutil.Process, data_dir: Path) -> bool:
    mark = Mark.from_process(process)
    if mark is None or mark.lives:
        return False
    try:
        return bool(process.environ().get("PCDS_DATA_DIR") == str(data_dir))
    except (psutil.Error, OSError):
        return False


def _tell(process: psutil.Process, *, kill: bool) -> None:
    try:
        if kill:
            process.kill()
        else:
            process.terminate()
    except psutil.Error:
        return
