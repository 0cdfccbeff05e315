"""A database of the module's own, since a rule-set is active for all companies of one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines import rules
from tests.conftest import migrated
from tests.pipelines.regrading.office import Office, opened
from warehouse.operate.clock import StoppedClock
from warehouse.operate.database import Database


@pytest.fixture(scope="module")
def place(server: Database) -> Iterator[Database]:
    with migrated(server) as database:
        yield database


@pytest.fixture
def office(place: Database, clock: StoppedClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    monkeypatch.setattr("warehouse.rules.FRESH_SECONDS", 0.0)
    monkeypatch.setattr(rules, "FRESH_SECONDS", 0.0)
    with opened(place, clock, tmp_path) as office:
        office.activate({})  # of a name that no other test's SKUs have
        yield office
        with office.pool.company(office.company) as conn:  # nobody else shall find it open
            conn.execute("UPDATE regrades SET finished_at = now()")
