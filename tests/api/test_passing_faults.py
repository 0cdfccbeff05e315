"""What the machine lacks for a moment makes the request that it touches 503, and says when to send it again."""

from types import SimpleNamespace
from uuid import uuid4

import pytest
from psycopg.errors import DiskFull
from psycopg_pool import PoolTimeout

from api.operate.serve import _Supervisor
from tests.api.people import signed_in
from tests.striking import struck

HTML = {"Accept": "text/html"}


@pytest.mark.parametrize("state", ["53100", "53200", "53300", "55P03"])
def test_a_write_that_the_machine_has_no_place_for_is_asked_for_again(caller, database, state):
    body, key = {"sku_code": "F-1", "name": "Bottle"}, {"Idempotency-Key": str(uuid4())}
    with struck(database.owner_url, "audit_entries", caller.company, state):
        refused = caller.post("/skus", body, headers=key)
        assert (refused.status_code, refused.json()["error"]) == (503, "internal_error")
        assert refused.headers["Retry-After"] == "5"
        assert "disk space, memory" in refused.json()["message"]
        in_german = caller.post("/skus", body, headers={**key, "Accept-Language": "de"})
        assert "Plattenplatz" in in_german.json()["message"]
        batch = caller.post("/skus/batch", {"skus": [body]})
        assert batch.status_code == 503, "no row is told to be stored"
        sent = caller.request("POST", "/imports", files={"file": ("a.csv", b"sku_code,name\nA,Jar")})
        assert (sent.status_code, sent.headers["Retry-After"]) == (503, "5")
    assert caller.get("/skus").json()["data"] == []
    assert caller.post("/skus", body, headers=key).status_code == 201


def test_a_fault_of_ours_in_the_same_place_is_none_that_passes(caller, database):
    with struck(database.owner_url, "audit_entries", caller.company, "XX000"):
        refused = caller.post("/skus", {"sku_code": "F-1", "name": "Bottle"})
    assert (refused.status_code, "Retry-After" in refused.headers) == (500, False)


def test_a_read_without_a_connection_is_asked_for_again(caller, monkeypatch):
    async def none_left(*_args, **_kwargs):
        raise PoolTimeout("couldn't get a connection after 10.00 sec")

    monkeypatch.setattr("warehouse.operate.sessions.AsyncPool.run", none_left)
    refused = caller.get("/skus")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")


@pytest.mark.parametrize(
    "lack", [OSError(28, "No space left on device"), DiskFull(), BlockingIOError(11, "no process")]
)
def test_the_supervisor_outlives_what_the_machine_lacks(monkeypatch, lack):
    """It writes the database's settings where that died of the full disk too, and starts processes."""
    supervisor = object.__new__(_Supervisor)
    supervisor._keeper = SimpleNamespace(poll=lambda: None)  # it runs
    begun = []

    def lacking(_: object) -> None:
        begun.append(1)
        raise lack

    monkeypatch.setattr(_Supervisor, "_keep_postgres", lacking)
    supervisor._tick()
    supervisor._tick()
    assert len(begun) == 2
    monkeypatch.setattr(_Supervisor, "_keep_postgres", lambda _: {}["a fault of ours"])
    with pytest.raises(KeyError):
        supervisor._tick()


def test_a_person_is_told_in_words(caller, pool, monkeypatch):
    person = signed_in(caller, pool)

    def full(*_args, **_kwargs):
        raise DiskFull("could not extend file")

    monkeypatch.setattr("api.imports.pages.queries.recent", full)
    page = person.get("/imports?lang=de", headers=HTML)
    assert (page.status_code, page.headers["Retry-After"]) == (503, "5")
    assert "in einigen Sekunden noch einmal" in page.text
