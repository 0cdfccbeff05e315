"""The app in a process of its own (`api.app`)."""

import gc
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from api.app import create
from warehouse.database import Database
from warehouse.settings import Settings


@pytest.fixture
def collector() -> Iterator[None]:
    """A collector of garbage that has kept nothing back, left as it was: this process is the tests'."""
    threshold = gc.get_threshold()
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)
    gc.collect()
    gc.freeze()  # as after the collection of tests


@pytest.mark.long
@pytest.mark.usefixtures("collector")
def test_only_alone_in_its_process_it_sets_what_is_collected_and_when(settings: Settings, database: Database) -> None:
    before = gc.get_threshold(), gc.get_freeze_count()
    with TestClient(create(settings, database)):
        assert (gc.get_threshold(), gc.get_freeze_count()) == before
    with TestClient(create(settings, database, alone=True)) as http:
        assert http.get("/healthz").status_code == 200  # it may not have frozen anything yet, but has when it ends
    assert gc.get_freeze_count() > 100_000
    assert gc.get_threshold()[0] > before[0][0]
