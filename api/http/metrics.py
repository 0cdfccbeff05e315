"""Counts this process's requests and their seconds, for `/metrics`.

Where several API processes share a machine, `pcds serve` sets PROMETHEUS_MULTIPROC_DIR: each then counts in files of
that folder, and any of them can answer with the sum. No label has a caller's text: the route is the template, a word of
a statement is one of our own sentences.
"""

import errno
import mmap
import os
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Histogram, values
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

from api.operate.start import COUNTED
from services.statements import NOT_UNDERSTOOD

_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

_RESERVED_BYTES: Final = 2**19
_FRAME_BYTES: Final = 32
"""At most, of an entry of such a file beside its key."""


class _Reserved(MmapedDict):
    """A file of counts whose bytes are all on the disk before they are counted in.

    The library's files have holes. The kernel kills whoever writes into one that a full disk cannot fill (SIGBUS).
    """

    def __init__(self, filename: str) -> None:
        try:
            _reserve(Path(filename))
        except OSError:
            if not hasattr(os, "memfd_create"):
                raise
            filename = f"/proc/self/fd/{os.memfd_create('counts')}"  # these counts nobody else sees
        super().__init__(filename)  # type: ignore[no-untyped-call]

    def _init_value(self, key: str) -> None:
        """Make an entry. Raises `OSError` where the file is too small and the disk has no room for more of it."""
        if self._used + len(key.encode()) + _FRAME_BYTES > self._capacity:
            _append(self._f.fileno(), self._capacity)
            self._capacity *= 2
            self._m = mmap.mmap(self._f.fileno(), self._capacity)
        super()._init_value(key)  # type: ignore[no-untyped-call]


def _reserve(file: Path) -> None:
    """Make the file where it is not there; whoever adds all files up sees it whole or not."""
    if file.exists():
        return
    unfinished = file.with_suffix(".new")
    try:
        with unfinished.open("wb", buffering=0) as begun:
            _append(begun.fileno(), _RESERVED_BYTES)
        unfinished.replace(file)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _append(descriptor: int, size: int) -> None:
    if os.write(descriptor, bytes(size)) < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


vars(values)["MmapedDict"] = _Reserved

_own: Final = CollectorRegistry()
_requests: Final = Counter(
    "pcds_requests", "Requests answered, by route and status.", ("method", "route", "status"), registry=_own
)
_seconds: Final = Histogram(
    "pcds_request_seconds", "Seconds from a request's headers to its end.", ("route",), registry=_own, buckets=_BUCKETS
)

_damaged: Final = Counter(
    "pcds_files_damaged", "Readings of stored files that were missing or altered.", ("problem",), registry=_own
)
for _problem in ("missing", "altered"):
    _damaged.labels(_problem)  # so that an alert sees the first one rise

_own.register(NOT_UNDERSTOOD)


def note_damaged(problem: Literal["missing", "altered"]) -> None:
    """Count a file that was not there, or not as it was stored."""
    _damaged.labels(problem).inc()


def note(method: str, route: str | None, status: int, seconds: float) -> None:
    """Count a request that has ended; on a full disk one of a new kind is not counted."""
    route_name = route or "none"
    with suppress(OSError):
        _requests.labels(method if method in _METHODS else "other", route_name, str(status)).inc()
        _seconds.labels(route_name).observe(seconds)


def registry() -> CollectorRegistry:
    """Return what was counted: by all processes where they share a folder, else by this one."""
    if COUNTED not in os.environ:
        return _own
    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    return shared
