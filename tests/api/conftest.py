"""The real app over the real database: a client per worker, companies with keys per test."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from random import randrange
from typing import Any
from uuid import UUID, uuid4

import pytest
from starlette.testclient import TestClient

from api.app import create
from compliance.catalogue import Jurisdiction, served
from pipelines.catalogue import load, read
from schemas.actors import Origin
from tests.api.people import Browser, signed_in
from tests.api.published import Published
from tests.clusters import founded
from tests.commands import Pcds
from tests.described import tools_described_once
from tests.keys import with_keys
from tests.openapi import document
from tools.ports import free_port
from warehouse.accounts import keys
from warehouse.operate.clock import Clock, StoppedClock
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings

__all__ = ["tools_described_once"]

PROXY = "127.0.0.1"


class Checked(TestClient):
    """A client that takes no answer that the document does not publish."""

    def request(self, method: str, url: Any, **more: Any) -> Any:
        answer = super().request(method, url, **more)
        body = answer.json() if answer.headers.get("Content-Type") == "application/json" else None
        path = answer.request.url.path
        assert not list(_published().faults(method, path, answer.status_code, answer.headers, body))
        return answer


@cache
def _published() -> Published:
    """Return the document that all apps of this process publish."""
    return Published(document())


@dataclass(frozen=True)
class Caller:
    """A company and one key of it, with the client to call with."""

    http: TestClient
    company: UUID
    client_id: UUID
    key: str
    address: str = field(default_factory=lambda: f"10.{randrange(256)}.{randrange(256)}.{randrange(256)}")
    """Its own, since token requests are limited by address."""

    def request(self, method: str, path: str, **more: object):
        headers = {"X-API-Key": self.key, "X-Forwarded-For": self.address, **more.pop("headers", {})}
        return self.http.request(method, f"/api/v1{path}", headers=headers, **more)

    def get(self, path: str, **more: object):
        return self.request("GET", path, **more)

    def post(self, path: str, body: object = None, **more: object):
        return self.request("POST", path, json=body, **more)

    def put(self, path: str, body: object = None, **more: object):
        return self.request("PUT", path, json=body, **more)

    def made(self, **fields: object) -> dict:
        """A SKU written by this caller, as the write shows it."""
        answer = self.post("/skus", {"sku_code": f"S-{uuid4()}", "name": "Bottle", **fields})
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]


@pytest.fixture(scope="session")
def http(database: Database, catalogue: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("data")
    settings = with_keys(Settings.load(data_dir=folder, trusted_proxies=PROXY, dagster_port=free_port()))
    with Checked(create(settings, database), client=(PROXY, 50_000)) as client:
        yield client


@pytest.fixture(scope="session")
def catalogue(pool: Pool) -> list[Jurisdiction]:
    """The release's catalogue, loaded; its served entries."""
    release = read(None)
    with pool.system() as connection:
        load(connection, release, Origin("system", None, None, "c"), datetime.now(UTC))
    return served(release.entries)


@pytest.fixture
def join(http: TestClient, pool: Pool, new_company: Callable[[str], UUID]) -> Callable[..., Caller]:
    """A new company on a plan, with a key of these scopes."""

    def joined(*, plan: str = "enterprise", scopes: tuple[str, ...] = ("read", "write")) -> Caller:
        company, client, key, now = new_company(plan), uuid4(), keys.new_key(), datetime.now(UTC)
        with pool.company(company) as connection:
            keys.issue(connection, company, client, key=key, name="erp", scopes=scopes, at=now)
        return Caller(http, company, client, key)

    return joined


class CurrentClock(Clock):
    """The clock of an app that outlives a test: at each moment that of the test which runs."""

    def __init__(self) -> None:
        super().__init__()
        self.of_test = Clock()

    def now(self) -> datetime:
        return self.of_test.now()

    def moved(self) -> timedelta:
        return self.of_test.moved()


@pytest.fixture(scope="session")
def stopped_app(
    database: Database, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[TestClient, CurrentClock]]:
    """An app of this worker, since starting one costs as much as twenty requests."""
    folder, clock = tmp_path_factory.mktemp("stopped"), CurrentClock()
    settings = with_keys(Settings.load(data_dir=folder, trusted_proxies=PROXY, dagster_port=free_port()))
    with TestClient(create(settings, database, clock), client=(PROXY, 50_000)) as http:
        yield http, clock


@pytest.fixture
def stopped(
    stopped_app: tuple[TestClient, CurrentClock], clock: StoppedClock, join: Callable[..., Caller]
) -> Iterator[Caller]:
    """A caller of an app whose clock stands until the test moves it."""
    http, of_app = stopped_app
    of_app.of_test = clock
    yield replace(join(), http=http)
    http.cookies.clear()


@pytest.fixture
def caller(join: Callable[..., Caller]) -> Caller:
    return join()


@pytest.fixture
def browser(caller: Caller, pool: Pool) -> Browser:
    """A browser in which the first person of the caller's company, its administrator, is signed in."""
    return signed_in(caller, pool)


@pytest.fixture(scope="session")
def pcds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pcds]:
    """The commands, with the database kept up while they run one after the other, as a service would."""
    folder = tmp_path_factory.mktemp("commands")
    folder.chmod(0o711)
    settings = with_keys(Settings.load(data_dir=folder / "data"))
    with founded(settings):
        yield Pcds(settings.data_dir)
