"""A place to run the real processes in: a migrated embedded server of the test's own, with one company."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.clusters import founded
from tests.journeys.place import Place
from tools.ports import free_port
from warehouse.operate import keys
from warehouse.operate.settings import Settings


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A directory that the server's own account can go through, which pytest's are not."""
    with tempfile.TemporaryDirectory(prefix="pcds-kill-", ignore_cleanup_errors=True) as directory:
        Path(directory).chmod(0o711)
        yield Path(directory) / "data"


@pytest.fixture
def place(data_dir: Path) -> Iterator[Place]:
    """Nothing runs but the database; what a test starts is ended after it."""
    place = Place(Settings.load(data_dir=data_dir, port=free_port(), dagster_port=free_port()))
    with founded(place.settings) as database:
        with psycopg.connect(database.owner_url) as owner:
            keys.prepare(owner, place.settings)
        place.found(database)
        with place.client:
            yield place
        place.end()
