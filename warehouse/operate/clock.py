"""Gives the current time: every instant and day that is stored, or that decides something, comes from this clock.

What does not belong here: durations (`time.perf_counter`) and the times in log lines, which are the machine's own.
"""

from datetime import UTC, date, datetime, timedelta

from warehouse.operate.settings import Settings


class Clock:
    """The machine's time plus an offset, which is zero outside tests."""

    def __init__(self, offset: timedelta = timedelta(0)) -> None:
        self._offset = offset

    @classmethod
    def from_settings(cls, settings: Settings) -> "Clock":
        """Return the clock of a process, moved by `PCDS_TEST_CLOCK_OFFSET` seconds."""
        return Clock(timedelta(seconds=settings.test_clock_offset))

    def now(self) -> datetime:
        """Return the current instant, aware, in UTC."""
        return datetime.now(UTC) + self._offset

    def moved(self) -> timedelta:
        """Return how far this clock is ahead of the machine's time: zero outside tests."""
        return self._offset

    def today(self) -> date:
        """Return the UTC day (decisions §11: a day that decides is the UTC day)."""
        return self.now().date()


class StoppedClock(Clock):
    """A clock for tests that stays at one instant until it is moved."""

    def __init__(self, instant: datetime) -> None:
        super().__init__()
        self.instant = instant.astimezone(UTC)

    def now(self) -> datetime:
        """Return the instant at which the clock stands."""
        return self.instant

    def moved(self) -> timedelta:
        """Return how far this clock is ahead of the machine's time at this moment."""
        return self.instant - datetime.now(UTC)

    def advance(self, by: timedelta) -> None:
        """Move the clock forward by a duration."""
        self.instant += by
