"""Confines a reader process before it reads anything: sets its limits, and ties its life to its parent's.

The kernel enforces each limit, so it applies in the middle of a regular expression too. Where a system lacks one
(macOS does not limit memory like this, and has no parent-death signal), the parent's checks and the end of the channel
remain.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG: Final = 1  # prctl(2)
_MIB: Final = 2**20
_RESERVED_MIB: Final = 512
"""Allocators and thread stacks reserve more than they use; this is added to twice the limit."""


def confine(parent: int, memory_mib: int) -> None:
    """Confine this process, which the process `parent` started, for as long as it lives."""
    _end_with(parent)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a stop signals the whole group; files of open requests are still read
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _bound(resource.RLIMIT_CORE, 0)
    _bound(resource.RLIMIT_FSIZE, memory_mib * _MIB)  # an answer is a file; Python turns the signal into an OSError
    _bound(resource.RLIMIT_DATA, (2 * memory_mib + _RESERVED_MIB) * _MIB)
    with contextlib.suppress(OSError):  # where memory is still short, the kernel kills a reader first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


@contextmanager
def processor_seconds(most: float) -> Iterator[None]:
    """Have the kernel kill this process by SIGPROF when its threads have used this much processor time in the block."""
    signal.setitimer(signal.ITIMER_PROF, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _end_with(parent: int) -> None:
    """Have the kernel end this process with the thread that started it, which lives as long as it needs the process."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent ended before the signal was set
        os._exit(1)


def _bound(what: int, most: int) -> None:
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(what)
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
