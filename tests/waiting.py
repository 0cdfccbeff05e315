"""Waiting in tests for what happens on another thread or in another process: with an end, and no longer than needed."""

import time
from collections.abc import Callable
from typing import Final

PATIENCE_SECONDS: Final = 240.0
"""When what is waited for will never happen. No bound of the service: a busy machine may start a process in minutes."""
_PAUSES_SECONDS: Final = (0.01, 0.05)
"""From one look to the next, at first and at most: what looks often takes the processor from what it waits for."""
_SURELY_WITHIN: Final = 50.0


def wait_until(
    happened: Callable[[], object], seconds: float = PATIENCE_SECONDS, otherwise: Callable[[], str] = str
) -> None:
    """Return as soon as it has happened; fail where that takes longer than the seconds, with what is known then."""
    deadline = time.monotonic() + seconds
    pause, longest = _PAUSES_SECONDS
    while not happened():
        assert time.monotonic() < deadline, f"it did not happen in time: {otherwise()}"
        time.sleep(pause)
        pause = min(pause * 1.1, longest)


def within_a_minute(work: Callable[[], object]) -> None:
    """Do what a limit of requests a minute decides; again where the minute went by meanwhile, which shows nothing."""
    while True:
        begun = time.monotonic()
        try:
            work()
        except AssertionError:
            if time.monotonic() - begun < _SURELY_WITHIN:
                raise
            time.sleep(60)  # the next one begins with a whole minute
        else:
            return
