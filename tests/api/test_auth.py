"""Who may call: the four ways to be turned away, and that two of them cannot be told apart."""

from datetime import UTC, datetime

import pytest

from warehouse.accounts import keys

PATHS = [("GET", "/skus"), ("POST", "/skus"), ("GET", "/imports/0198b8a0-0000-7000-8000-000000000000")]


def _same(answer):
    return (
        answer.status_code,
        {k: v for k, v in answer.json().items() if k != "correlationId"},
        answer.headers["www-authenticate"],
    )


@pytest.mark.parametrize(("method", "path"), PATHS)
@pytest.mark.parametrize(
    "headers", [{}, {"X-API-Key": ""}, {"X-API-Key": "sk_live_1"}, {"Authorization": "Basic eDp5"}]
)
def test_a_request_without_a_key_of_ours_is_missing_one(http, method, path, headers):
    answer = http.request(method, f"/api/v1{path}", headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (401, "missing_api_key")
    assert answer.headers["www-authenticate"]


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_an_unknown_and_a_revoked_key_answer_the_same(caller, pool, method, path):
    with pool.company(caller.company) as connection:
        keys.revoke(connection, caller.client_id, datetime.now(UTC))
    revoked = caller.request(method, path)
    unknown = caller.http.request(method, f"/api/v1{path}", headers={"X-API-Key": keys.new_key()})
    assert _same(revoked) == _same(unknown)
    assert (revoked.status_code, revoked.json()["error"]) == (401, "invalid_api_key")


def test_a_read_key_reads_and_does_not_write(join):
    reader = join(scopes=("read",))
    assert reader.get("/skus").status_code == 200
    for answer in (reader.post("/skus", {"sku_code": "A", "name": "A"}), reader.post("/skus/batch", {"skus": []})):
        assert (answer.status_code, answer.json()["error"]) == (403, "insufficient_scope")


def test_a_write_key_does_not_read(join):
    assert join(scopes=("write",)).get("/skus").json()["error"] == "insufficient_scope"


def test_a_refused_key_costs_no_reading_of_the_body(http):
    answer = http.post("/api/v1/skus", content=b"{" * 100, headers={"X-API-Key": keys.new_key()})
    assert answer.status_code == 401


def test_a_key_is_held_as_a_digest_only(caller, pool):
    with pool.company(caller.company) as connection:
        row = connection.execute("SELECT api_keys::text FROM api_keys").fetchone()
    assert caller.key not in row[0]
    assert keys.digest(caller.key).hex() in row[0]


def test_a_refused_key_leaves_no_company_on_the_connection(caller, join):
    other = join()
    caller.made()
    for _ in range(5):
        assert caller.get("/skus").json()["pagination"]["total"] == 1
        assert caller.http.get("/api/v1/skus", headers={"X-API-Key": "svc_unknown"}).status_code == 401
        assert other.get("/skus").json()["pagination"]["total"] == 0
