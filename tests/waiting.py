"""Waiting in tests for what happens on another thread or in another process: with an end, and no longer than needed."""

import time
from collections.abc import Callable


def wait_until(happened: Callable[[], object], seconds: float = 60) -> None:
    """Return as soon as it has happened; fail where that takes longer than the seconds."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
