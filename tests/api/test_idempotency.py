"""Idempotency-Key through the app: what is replayed, what is refused, what is not kept, and for how long."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import uuid4

import pytest
from starlette.testclient import TestClient

from api.app import create
from tests.api.conftest import Caller
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings

BODY = {"sku_code": "A", "name": "Bottle", "weight_grams": 12.5}
CSV = b"sku_code,name\nI-1,Bottle\n"


def _send(caller: Caller, method: str = "POST", path: str = "/skus", *, key: str | bytes = "k-1", **more: object):
    return caller.request(method, path, headers={"Idempotency-Key": key}, **more)


def _audited(caller: Caller, pool) -> list[str]:
    with pool.company(caller.company) as connection:
        return [action for (action,) in connection.execute("SELECT action FROM audit_entries ORDER BY id")]


def _replays(first, again) -> bool:
    """Whether `again` is the kept answer of `first`, under a correlation id of its own."""
    assert "idempotent-replayed" not in first.headers
    assert first.headers["x-correlation-id"] != again.headers["x-correlation-id"]
    seen = [(a.status_code, a.content, a.headers["content-type"]) for a in (first, again)]
    return again.headers.get("idempotent-replayed") == "true" and seen[0] == seen[1]


@pytest.mark.parametrize("other", [{**BODY, "name": "Tray"}, {**BODY, "weight_grams": None}, {"nonsense": 1}, []])
def test_another_payload_under_the_same_key_is_refused(caller, pool, other):
    _send(caller, json=BODY)
    answer = _send(caller, json=other)
    assert (answer.status_code, answer.json()["error"]) == (409, "idempotency_key_reuse")
    assert _audited(caller, pool) == ["sku.created"]


def test_a_refusal_is_not_kept_so_that_the_corrected_body_may_carry_the_key(caller):
    assert _send(caller, json={**BODY, "gtin": "1"}).status_code == 400
    assert _send(caller, json={**BODY, "brand_id": str(uuid4())}).status_code == 400
    corrected = _send(caller, json=BODY)
    assert (corrected.status_code, corrected.headers.get("idempotent-replayed")) == (201, None)


def test_a_dry_run_neither_consumes_a_key_nor_is_replayed(caller):
    dry = _send(caller, path="/skus?dry_run=1", json=BODY)
    assert (dry.status_code, dry.json()["outcome"]) == (200, "created")
    assert _send(caller, json={**BODY, "name": "Another"}).status_code == 201
    dry = _send(caller, path="/skus?dry_run=1", json=BODY)
    assert (dry.json()["outcome"], dry.headers.get("idempotent-replayed")) == ("updated", None)
    batch = {"skus": [{"sku_code": "B", "name": "n"}]}
    assert _send(caller, path="/skus/batch", json={**batch, "dry_run": True}).json()["dry_run"] is True
    assert _send(caller, path="/skus/batch", json=batch).json()["summary"]["created"] == 1
    assert "idempotent-replayed" not in _send(caller, path="/imports?filename=a.csv&dry_run=1", content=CSV).headers
    assert "idempotent-replayed" not in _send(caller, path="/imports?filename=a.csv", content=CSV).headers


def test_the_key_belongs_to_company_method_and_path(caller, join):
    created = _send(caller, json=BODY)
    stranger = _send(join(), json=BODY)
    assert (stranger.status_code, stranger.headers.get("idempotent-replayed")) == (201, None)
    assert stranger.json()["data"]["id"] != created.json()["data"]["id"]
    path, other = f"/skus/{created.json()['data']['id']}", caller.made()
    put = _send(caller, "PUT", path, json=BODY)
    assert (put.status_code, put.json()["outcome"], put.headers.get("idempotent-replayed")) == (200, "unchanged", None)
    assert _replays(put, _send(caller, "PUT", path, json=BODY))
    assert _send(caller, "PUT", f"/skus/{other['id']}", json=BODY).status_code == 400
    assert _send(caller, "PUT", f"/skus/{uuid4()}", json=BODY).status_code == 404


def test_a_batch_is_replayed_with_its_rejected_rows(caller, pool):
    batch = {"skus": [BODY, {"sku_code": "B"}, BODY]}
    first, again = (_send(caller, path="/skus/batch", json=batch) for _ in range(2))
    assert [row["outcome"] for row in first.json()["results"]] == ["created", "rejected", "rejected"]
    assert _replays(first, again)
    assert _send(caller, path="/skus/batch", json={"skus": [BODY]}).status_code == 409
    assert _audited(caller, pool) == ["sku.created"]


def test_an_import_is_replayed_with_its_id_whatever_the_boundary(caller, pool):
    def multipart(boundary: str, content: bytes = CSV, mapping: str = ""):
        files = {"file": ("a.csv", content)}
        kind = {"Idempotency-Key": "k-1", "Content-Type": f"multipart/form-data; boundary={boundary}"}
        return caller.request(
            "POST", "/imports", files=files, data={"mapping": mapping} if mapping else {}, headers=kind
        )

    first, again = multipart("one"), multipart("other")
    assert first.status_code == 202
    assert _replays(first, again)
    assert multipart("one", CSV + b"I-2,Tray\n").status_code == 409
    assert multipart("one", b"no table").status_code == 409
    assert multipart("one", mapping='{"columns": {"name": "B"}}').status_code == 409
    assert _audited(caller, pool) == ["import.submitted"]


def test_a_raw_import_is_told_apart_by_its_name_and_mapping(caller):
    first = _send(caller, path="/imports?filename=a.csv", content=CSV)
    assert _replays(first, _send(caller, path="/imports?filename=a.csv", content=CSV))
    assert _send(caller, path="/imports?filename=b.csv", content=CSV).status_code == 409
    assert _send(caller, path='/imports?filename=a.csv&mapping={"decimal":","}', content=CSV).status_code == 409


@pytest.mark.parametrize("key", ["k", "x" * 255, "é".encode() * 255, b"\xe9" * 255, 'a "quoted", key'])
def test_a_key_is_any_string_up_to_255_characters(caller, key):
    assert _replays(_send(caller, key=key, json=BODY), _send(caller, key=key, json=BODY))


@pytest.mark.parametrize("key", ["", "x" * 256, "é".encode() * 256])
@pytest.mark.parametrize("path", ["/skus", "/skus?dry_run=1", "/skus/batch"])
def test_a_key_beyond_its_bounds_is_refused_and_nothing_written(caller, key, path):
    answer = _send(caller, path=path, key=key, json=BODY)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body")
    assert [(i["field"], i["code"]) for i in answer.json()["details"]] == [("Idempotency-Key", "out_of_range")]
    assert caller.get("/skus").json()["pagination"]["total"] == 0


def test_two_keys_in_one_request_are_refused(caller):
    headers = [("X-API-Key", caller.key), ("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    assert caller.http.post("/api/v1/skus", json=BODY, headers=headers).status_code == 400


@pytest.fixture
def reopened(database: Database, catalogue: object, tmp_path, clock) -> Iterator[Callable[[], TestClient]]:
    """Starts the service anew over the same database, each time as a process that knows nothing of the one before."""
    clients: list[TestClient] = []

    def started() -> TestClient:
        for client in clients:
            client.__exit__(None, None, None)
        clients[:] = [TestClient(create(Settings.load(data_dir=tmp_path), database, clock)).__enter__()]
        return clients[0]

    yield started
    clients[0].__exit__(None, None, None)


def test_an_answer_is_kept_for_24_hours_from_the_first_over_restarts(reopened, join, clock):
    known = join()

    def send(client: TestClient, body: dict = BODY):
        return _send(Caller(client, known.company, known.client_id, known.key), json=body)

    first = send(reopened())
    assert first.status_code == 201
    client = reopened()
    for hours in (12, 11.99):  # a replay prolongs nothing
        clock.advance(timedelta(hours=hours))
        assert _replays(first, send(client))
        assert send(client, {**BODY, "name": "Other"}).status_code == 409
    clock.advance(timedelta(hours=0.01))
    anew = send(client, {**BODY, "name": "Other"})
    assert (anew.status_code, anew.json()["outcome"], anew.headers.get("idempotent-replayed")) == (200, "updated", None)
    assert _replays(anew, send(client, {**BODY, "name": "Other"}))
    assert send(client).status_code == 409


def test_what_a_key_stood_for_is_not_logged(caller, caplog, capsys):
    _send(caller, key="purchase-of-Ms-Smith", json=BODY)
    logged = caplog.text + capsys.readouterr().err
    assert "/api/v1/skus" in logged
    assert "Smith" not in logged
