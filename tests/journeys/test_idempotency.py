"""Written exactly once: twins at two API processes, and an API killed before or at the commit of a write."""

import json
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import httpx2
import psycopg
import pytest

from tests.journeys.place import Place
from tests.waiting import wait_until
from warehouse.operate.database import Database

TWINS = 20
WRITTEN = "SELECT (SELECT count(*) FROM skus), (SELECT sum(version) FROM skus), (SELECT count(*) FROM audit_entries)"
SKU = {
    "sku_code": "A",
    "name": "Bottle",
    "components": [{"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 25}],
}


def test_twenty_twins_at_two_processes_are_one_write(place: Place):
    place.start_and_wait("api", "other api")
    headers = {"Idempotency-Key": str(uuid4())}

    def twin(number: int) -> httpx2.Response:
        return place.answered("POST", "/api/v1/skus", of=list(place.ports)[number % 2], json=SKU, headers=headers)

    with ThreadPoolExecutor(TWINS) as senders:
        answers = list(senders.map(twin, range(TWINS)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert sum("idempotent-replayed" in answer.headers for answer in answers) == TWINS - 1
    assert len({answer.headers["x-correlation-id"] for answer in answers}) == TWINS
    assert place.one(WRITTEN) == (1, 1, 1)


@pytest.mark.parametrize("held", ["skus", "kept_answers"], ids=["before the write", "at the commit"])
def test_an_api_killed_in_the_middle_has_written_once_when_asked_again(place: Place, held: str):
    """`held` is locked by us, so that the write waits there: for its row, or with its commit sent behind it."""
    place.start_and_wait("api")
    headers = {"Idempotency-Key": "k-1"}
    with ThreadPoolExecutor(1) as sender, psycopg.connect(Database.from_settings(place.settings).owner_url) as owner:
        owner.execute(f"LOCK TABLE {held} IN EXCLUSIVE MODE")
        lost = sender.submit(place.ask, "POST", "/api/v1/skus", json=SKU, headers=headers)
        wait_until(lambda: place.one("SELECT count(*) FROM pg_locks WHERE NOT granted") != (0,))
        place.kill("api")
        assert lost.result() is None
        owner.rollback()
    first, again = (place.answered("POST", "/api/v1/skus", json=SKU, headers=headers) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert "idempotent-replayed" in again.headers
    assert place.one(WRITTEN) == (1, 1, 1)


@pytest.mark.parametrize("held", ["skus", "kept_answers"], ids=["before the writes", "at the commit"])
def test_an_api_killed_within_a_group_has_written_each_once_when_asked_again(place: Place, held: str):
    """One write waits, those behind it wait as a group: none is lost with the process, none is done twice."""
    place.start_and_wait("api")
    codes = [f"G-{number}" for number in range(8)]

    def write(code: str, *, until_answered: bool) -> httpx2.Response | None:
        ask = place.answered if until_answered else place.ask
        return ask("POST", "/api/v1/skus", json={**SKU, "sku_code": code}, headers={"Idempotency-Key": code})

    with (
        ThreadPoolExecutor(len(codes)) as senders,
        psycopg.connect(Database.from_settings(place.settings).owner_url) as owner,
    ):
        owner.execute(f"LOCK TABLE {held} IN EXCLUSIVE MODE")
        lost = [senders.submit(write, code, until_answered=False) for code in codes]
        wait_until(lambda: place.one("SELECT count(*) > 1 FROM pg_locks WHERE NOT granted") == (True,))
        place.kill("api")
        assert [each.result() for each in lost] == [None] * len(codes)
        owner.rollback()
    for _ in range(2):
        answers = [write(code, until_answered=True) for code in codes]
        assert [answer.status_code for answer in answers] == [201] * len(codes)
    assert ["idempotent-replayed" in answer.headers for answer in answers] == [True] * len(codes)
    assert place.one(WRITTEN) == (len(codes), len(codes), len(codes))
    assert json.loads(place.pcds("audit", "verify", "--company", str(place.company), "--json").stdout)["ok"]
