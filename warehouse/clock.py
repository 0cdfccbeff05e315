"""The one clock: every instant and day that is stored or decides something comes from here.

What does not belong here: how long something took (`time.perf_counter`) and the times in log lines, which are the
machine's own.
"""

from datetime import UTC, date, datetime, timedelta

from warehouse.settings import Settings


class Clock:
    """The machine's time moved by an offset, which is zero outside tests."""

    def __init__(self, offset: timedelta = timedelta(0)) -> None:
        self._offset = offset

    @classmethod
    def of(cls, settings: Settings) -> "Clock":
        """The clock of a process, moved by `PCDS_TEST_CLOCK_OFFSET` seconds."""
        return Clock(timedelta(seconds=settings.test_clock_offset))

    def now(self) -> datetime:
        """The instant, aware, in UTC."""
        return datetime.now(UTC) + self._offset

    def moved(self) -> timedelta:
        """How far it is ahead of the machine's time: zero outside tests."""
        return self._offset

    def today(self) -> date:
        """The UTC day (decisions §11: a day that decides is the UTC day)."""
        return self.now().date()


class StoppedClock(Clock):
    """A clock for tests that stands at an instant until it is moved."""

    def __init__(self, instant: datetime) -> None:
        super().__init__()
        self.instant = instant.astimezone(UTC)

    def now(self) -> datetime:
        """Where the clock stands."""
        return self.instant

    def moved(self) -> timedelta:
        """How far it is ahead of the machine's time at this moment."""
        return self.instant - datetime.now(UTC)

    def advance(self, by: timedelta) -> None:
        """Move the clock on."""
        self.instant += by
