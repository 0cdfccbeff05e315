from datetime import UTC, datetime, timedelta, timezone

from warehouse.operate.clock import Clock, StoppedClock
from warehouse.operate.settings import Settings


def test_the_offset_moves_instants_and_days() -> None:
    shifted = Clock.from_settings(Settings.load(test_clock_offset=-400 * 86_400))
    assert timedelta(days=399, hours=23) < datetime.now(UTC) - shifted.now() < timedelta(days=400, hours=1)
    assert shifted.now().tzinfo is UTC
    assert shifted.today() == shifted.now().date()


def test_a_day_is_the_utc_day() -> None:
    clock = StoppedClock(datetime(2027, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=2))))
    assert clock.today().isoformat() == "2026-12-31"
    clock.advance(timedelta(hours=2))
    assert clock.today().isoformat() == "2027-01-01"
