"""Measures CPU seconds of this process and of its Postgres, and the memory of both.

It counts CPU, because other work on the machine prolongs elapsed seconds, and never both sides by the same amount.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import psutil

_LOOK_SECONDS: Final = 0.1
_SKUS_OF_ROUNDS: Final = 150_000
_MOST_ROUNDS: Final = 20


def rounds_for(skus: int) -> int:
    """Return how often a portfolio is measured: a large one once, a small one until its milliseconds are reliable."""
    return max(1, min(_MOST_ROUNDS, _SKUS_OF_ROUNDS // skus))


def cpu(work: Callable[[], Any], server: psutil.Process | None = None) -> float:
    """Return the CPU seconds that the work takes here and in the server."""
    begun = _used(server)
    work()
    return _used(server) - begun


@contextmanager
def peak_mib(server: psutil.Process | None = None) -> Iterator[list[float]]:
    """Yield a list of one number: the most MiB that this process and the server have taken by the end of the block."""
    peak, over = [0.0], threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_SECONDS):
            peak[0] = max(peak[0], psutil.Process().memory_info().rss / 2**20 + _private_mib(server))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield peak
    finally:
        over.set()
        looking.join()


def _used(server: psutil.Process | None) -> float:
    """Return CPU seconds up to now; those of a server's ended processes count for their parent."""
    used = time.process_time()
    if server is not None:
        times = server.cpu_times()
        used += times.children_user + times.children_system
        for process in (server, *server.children()):
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                used += times.user + times.system
    return used


def _private_mib(server: psutil.Process | None) -> float:
    """Return the memory that a server's processes do not share with each other."""
    held = 0.0
    for process in () if server is None else (server, *server.children()):
        with suppress(psutil.NoSuchProcess):
            memory = process.memory_info()
            held += (memory.rss - memory.shared) / 2**20
    return held
