"""The processes of one `pcds serve`, told by a mark in their environment, and their end when nobody else ends them.

A supervisor that is killed ends nothing. The kernel tells its children (Linux), and theirs are told by nobody. So each
process that belongs to a supervisor carries its mark, whoever started it, and is found by that: by the keeper as soon
as the supervisor is gone (`warehouse.keeper`), and by the next start.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

import psutil

MARK: Final = "PCDS_SUPERVISOR"
GRACE_SECONDS: Final = 7.0
"""How long a process may take to end: the worker finishes the chunk that it is in, the API the requests that it has."""

_START_FIELD: Final = 19
"""`starttime` among the fields behind the name, from 0 (proc_pid_stat(5))."""


class Mark(NamedTuple):
    """Which supervisor: its process number, and when that process started, since numbers are used again."""

    pid: int
    started: float

    @classmethod
    def own(cls) -> Self:
        """Of this process."""
        return cls(os.getpid(), _started(os.getpid()))

    @classmethod
    def of(cls, process: psutil.Process) -> Self | None:
        """Whose a process is; None where it is nobody's, or not ours to look into."""
        try:
            pid, _, started = process.environ().get(MARK, "").partition("@")
            return cls(int(pid), float(started))
        except (psutil.Error, OSError, ValueError):
            return None

    @classmethod
    def of_this_process(cls) -> Self | None:
        """Whose this process is."""
        return cls.of(psutil.Process())

    @property
    def variables(self) -> dict[str, str]:
        """What a process has in its environment that shall belong to this supervisor."""
        return {MARK: f"{self.pid}@{self.started}"}

    @property
    def lives(self) -> bool:
        """Whether the supervisor is still there."""
        try:
            ended = psutil.Process(self.pid).status() == psutil.STATUS_ZOMBIE
            return not ended and _started(self.pid) == self.started
        except psutil.Error:
            return False


def of_supervisor(mark: Mark) -> list[psutil.Process]:
    """Its processes other than this one."""
    return [process for process in _others() if Mark.of(process) == mark]


def orphans(data_dir: Path) -> list[psutil.Process]:
    """What supervisors that are gone left behind on a data directory."""
    return [process for process in _others() if _is_orphan(process, data_dir)]


def end(processes: Iterable[psutil.Process], *, grace_seconds: float = GRACE_SECONDS) -> None:
    """SIGTERM to each, and SIGKILL to those that are still there after the grace."""
    asked = list(processes)
    for process in asked:
        _tell(process, kill=False)
    _, alive = psutil.wait_procs(asked, timeout=grace_seconds)
    for process in alive:
        _tell(process, kill=True)
    psutil.wait_procs(alive, timeout=grace_seconds)


def listening(port: int) -> psutil.Process | None:
    """Whoever listens on a TCP port of this machine, where this account may know it."""
    try:
        for found in psutil.net_connections(kind="tcp"):
            if found.status == psutil.CONN_LISTEN and found.laddr.port == port and found.pid:
                return psutil.Process(found.pid)
    except (psutil.Error, OSError):
        return None
    return None


def _started(pid: int) -> float:
    """When a process started, the same for whoever asks: in ticks since the machine did, where the kernel says so.

    Linux knows no other instant; what is computed from that and the clock changes when the clock is set. Elsewhere in
    seconds since 1970.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return float(fields[_START_FIELD])
    except OSError:
        return float(psutil.Process(pid).create_time())


def _others() -> Iterator[psutil.Process]:
    return (process for process in psutil.process_iter() if process.pid != os.getpid())


def _is_orphan(process: psutil.Process, data_dir: Path) -> bool:
    mark = Mark.of(process)
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
