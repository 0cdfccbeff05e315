"""One app for all of these tests, with a clock that only goes forward; a person and an application for each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import randrange
from uuid import UUID

import pytest
from starlette.testclient import TestClient

from api.app import create
from tests.api.people import BASE, Person, added
from tests.connector.oauth.authorising import Application, at_home
from tests.keys import with_keys
from warehouse.operate.clock import StoppedClock
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings

CLOCK = StoppedClock(datetime(2026, 11, 21, 9, 30, tzinfo=UTC))


@dataclass(frozen=True)
class Place:
    """The app, with an address that no other test asks from."""

    http: TestClient
    address: str


@pytest.fixture(scope="session")
def app(database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder: Path = tmp_path_factory.mktemp("oauth")
    settings = with_keys(
        Settings.load(data_dir=folder, trusted_proxies="127.0.0.1", connector_origins="https://page.example")
    )
    with TestClient(create(settings, database, CLOCK), base_url=BASE, client=("127.0.0.1", 50_000)) as http:
        yield http


@pytest.fixture
def clock() -> StoppedClock:
    return CLOCK


@pytest.fixture
def place(app: TestClient) -> Place:
    return Place(app, f"10.{randrange(256)}.{randrange(256)}.{randrange(256)}")


@pytest.fixture
def plan() -> str:
    return "enterprise"


@pytest.fixture
def company(new_company: Callable[[str], UUID], plan: str) -> UUID:
    return new_company(plan)


@pytest.fixture
def person(pool: Pool, company: UUID) -> Person:
    return added(pool, company)


@pytest.fixture
def application(place: Place, person: Person) -> Application:
    return at_home(place.http, place.address, person)
