"""Counts this process's requests and their seconds, for `/metrics`.

Where several API processes share a machine, `pcds serve` sets PROMETHEUS_MULTIPROC_DIR: each then counts in files of
that folder, and any of them can answer with the sum. No label has a caller's text: the route is the template, a word of
a statement is one of our own sentences.
"""

import os
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

from api.operate.start import COUNTED
from services.statements import NOT_UNDERSTOOD

_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

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
    """Count a request that has ended."""
    route_name = route or "none"
    _requests.labels(method if method in _METHODS else "other", route_name, str(status)).inc()
    _seconds.labels(route_name).observe(seconds)


def registry() -> CollectorRegistry:
    """Return what was counted: by all processes where they share a folder, else by this one."""
    if COUNTED not in os.environ:
        return _own
    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    return shared
