"""Limits over two API processes on one database: exact, whoever of them a request came to."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import httpx2
import psycopg
import pytest

from tests.journeys.place import Place
from tests.waiting import PATIENCE_SECONDS, within_a_minute
from warehouse.accounts import keys
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database


@pytest.fixture
def both(place: Place) -> Place:
    place.start_and_wait("api", "other api")
    return place


def another_key(place: Place) -> tuple[UUID, str]:
    """A key of the place's company without a window."""
    client, key = uuid4(), keys.new_key()
    with psycopg.connect(Database.from_settings(place.settings).owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(place.company)])
        keys.issue(owner, place.company, client, key=key, name="ERP", scopes=["read", "write"], at=Clock().now())
    return client, key


def test_300_requests_at_once_to_two_processes_are_120(both: Place) -> None:
    within_a_minute(lambda: are_120_of_300(both))


def are_120_of_300(both: Place) -> None:
    client, key = another_key(both)
    ports = list(both.ports.values())
    grant = {"grant_type": "client_credentials", "client_id": str(client), "client_secret": key}

    with (
        httpx2.Client(limits=httpx2.Limits(max_connections=32), timeout=PATIENCE_SECONDS) as http,
        ThreadPoolExecutor(32) as threads,
    ):
        first = http.post(f"http://127.0.0.1:{ports[0]}/api/v1/oauth/token", data=grant)
        bearer = {"Authorization": f"Bearer {first.json()['access_token']}"}

        def send(number: int) -> httpx2.Response:
            method, body = (
                ("POST", {"sku_code": f"{client}-{number}", "name": "n"}) if number % 5 == 0 else ("GET", None)
            )
            url = f"http://127.0.0.1:{ports[number % 2]}/api/v1/skus"
            return http.request(method, url, headers=bearer if number % 3 == 0 else {"X-API-Key": key}, json=body)

        def ask_token(number: int) -> httpx2.Response:
            return http.post(f"http://127.0.0.1:{ports[number % 2]}/api/v1/oauth/token", data=grant)

        answers = list(threads.map(send, range(300)))
        grants = list(threads.map(ask_token, range(60)))

    said = Counter(answer.status_code for answer in answers)
    assert said[200] + said[201] == 120
    assert said[429] == 180
    assert all(1 <= int(answer.headers["retry-after"]) <= 60 for answer in answers if answer.status_code == 429)
    assert Counter(answer.status_code for answer in grants) == {200: 29, 429: 31}
    written = both.one(f"SELECT count(*) FROM skus WHERE starts_with(sku_code, '{client}')")[0]
    assert written == said[201], "a request that was refused for the limit did nothing"


def test_tokens_outlive_a_restart_and_end_with_their_key_at_every_process(both: Place) -> None:
    client, key = another_key(both)
    grant = {"grant_type": "client_credentials", "client_id": str(client), "client_secret": key}
    token = both.answered("POST", "/api/v1/oauth/token", data=grant).json()["access_token"]
    bearer = {"Authorization": f"Bearer {token}", "X-API-Key": ""}
    both.kill("postgres")
    both.restart("api", "other api")
    for of in both.ports:
        assert both.answered("GET", "/api/v1/skus", of=of, headers=bearer).status_code == 200
    with psycopg.connect(Database.from_settings(both.settings).owner_url) as owner:
        assert keys.revoke(owner, client, Clock().now())
    for of in both.ports:
        answer = both.ask("GET", "/api/v1/skus", of=of, headers=bearer)
        assert answer is not None
        assert answer.json()["error"] == "invalid_token"
