"""POST /oauth/token and what its tokens are good for."""

import base64
from dataclasses import replace
from uuid import uuid4

import pytest

from tests.contract.outside import V1, good, refused
from tests.contract.shapes import faults
from tests.contract.test_keys import told
from tests.waiting import within_a_minute

TOKEN = f"{V1}/oauth/token"


def basic(client_id: str, secret: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{client_id}:{secret}'.encode()).decode()}"}


def ask(caller, *, headers=None, **more):
    return caller.server.send("POST", TOKEN, headers={"X-Forwarded-For": caller.address, **(headers or {})}, **more)


@pytest.mark.promise("TOK-01", "TOK-02", "TOK-04", "TOK-15", "TOK-03")
def test_the_four_ways_of_asking_get_a_token(caller):
    secret = {"client_id": caller.client_id, "client_secret": caller.key}
    grant = {"grant_type": "client_credentials", "audience": "nobody asked for this"}
    own = basic(caller.client_id, caller.key)
    for answer in (
        ask(caller, data={**grant, **secret}),
        ask(caller, json={**grant, **secret}),
        ask(caller, data=grant, headers=own),
        ask(caller, json=grant, headers=own),
    ):
        token = good(answer)
        assert answer.headers["Cache-Control"] == "no-store"
        assert faults("Token", token) == []
        assert (token["expires_in"], sorted(token["scope"].split())) == (900, ["read", "write"])
        assert "refresh_token" not in token
        bearer = caller.with_headers(Authorization=f"Bearer {token['access_token']}")
        assert bearer.get("/skus").status_code == 200


@pytest.mark.promise("TOK-11", "TOK-07")
def test_scopes_are_those_asked_for_and_held(caller):
    assert good(caller.token(scope="read"))["scope"] == "read"
    assert sorted(good(caller.token(scope="write read"))["scope"].split()) == ["read", "write"]
    reader = caller.server.keyed(caller.company, scopes="read")
    assert good(reader.token())["scope"] == "read"
    for scope in ("write", "read write"):
        refused(reader.token(scope=scope), 400, "invalid_scope")
    refused(caller.token(scope="admin"), 400, "invalid_scope")


@pytest.mark.promise("TOK-12")
def test_a_read_only_token_cannot_write(caller):
    reading = caller.bearing(scope="read")
    assert reading.get("/skus").status_code == 200
    refused(reading.post("/skus", {"sku_code": "R", "name": "R"}), 403, "insufficient_scope")
    assert caller.bearing(scope="read write").made()["id"]


@pytest.mark.promise("TOK-05", "TOK-06", "ERR-03", "TOK-04", "CNV-05")
@pytest.mark.parametrize(
    ("change", "status", "error"),
    [
        ({"grant_type": None}, 400, "invalid_request"),
        ({"client_id": None}, (400, 401), None),
        ({"client_secret": None}, (400, 401), None),
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
        ({"grant_type": "refresh_token"}, 400, "unsupported_grant_type"),
        ({"scope": "root"}, 400, "invalid_scope"),
        ({"client_secret": f"svc_{'y' * 43}"}, 401, "invalid_client"),
        ({"client_id": "not a uuid"}, 401, "invalid_client"),
    ],
)
def test_a_bad_request_for_a_token_has_the_code_of_the_standard(caller, change, status, error):
    answer = caller.token(**change)
    body = answer.json()
    if error is None:
        assert (answer.status_code, body["error"]) in ((400, "invalid_request"), (401, "invalid_client"))
    else:
        refused(answer, status, error)
    assert answer.headers["Cache-Control"] == "no-store"
    assert faults("Error", body) == []
    assert body["correlationId"] == answer.headers["X-Correlation-Id"]
    assert answer.status_code != 401 or answer.headers["WWW-Authenticate"]


@pytest.mark.promise("TOK-05", "ERR-03")
def test_a_body_that_cannot_be_read_is_an_invalid_request(caller):
    for more in (
        {"content": b"{", "headers": {"Content-Type": "application/json"}},
        {"json": []},
        {"content": b"", "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
    ):
        refused(ask(caller, **more), 400, "invalid_request")


@pytest.mark.promise("TOK-08", "CNV-09")
@pytest.mark.parametrize("way", ["form", "basic"])
def test_an_unknown_client_a_wrong_secret_and_a_revoked_key_are_told_the_same(service, way):
    caller, revoked = service.joined(), service.joined()
    service.place.pcds("key", "revoke", revoked.client_id)

    def answer(client_id, secret):
        if way == "form":
            return caller.token(client_id=client_id, client_secret=secret)
        return ask(caller, data={"grant_type": "client_credentials"}, headers=basic(client_id, secret))

    seen = [
        answer(caller.client_id, f"svc_{'z' * 43}"),
        answer(str(uuid4()), caller.key),
        answer("nobody", caller.key),
        answer(revoked.client_id, revoked.key),
        answer(revoked.client_id, caller.key),
        answer(caller.client_id, "short"),
    ]
    for each in seen:
        refused(each, 401, "invalid_client")
        assert told(each) == told(seen[0])


@pytest.mark.promise("TOK-13", "TOK-10")
def test_the_key_counts_where_both_are_sent(caller, other):
    sku = caller.made()
    token = good(other.token())["access_token"]
    both = caller.with_headers(**caller.headers, Authorization=f"Bearer {token}")
    assert both.data(f"/skus/{sku['id']}")["id"] == sku["id"]
    bad = caller.with_headers(**{"X-API-Key": f"svc_{'x' * 43}"}, Authorization=f"Bearer {token}")
    refused(bad.get("/skus"), 401, "invalid_api_key")
    assert caller.with_headers(Authorization=f"bearer {token}").get("/skus").status_code == 200


@pytest.mark.processes
@pytest.mark.promise("TOK-14", "TOK-10", "CNV-09")
def test_bad_tokens_are_told_the_same_and_a_revoked_key_ends_its_tokens(caller, service, before_the_law):
    bearing = caller.bearing()
    assert bearing.get("/skus").status_code == 200
    expired = good(caller.at(before_the_law).token())["access_token"]
    seen = [
        caller.with_headers(Authorization=f"Bearer {token}").get("/skus")
        for token in ("x", f"svc_{'x' * 43}", "a.b.c", expired, good(caller.token())["access_token"][:-1] + "~")
    ]
    service.place.pcds("key", "revoke", caller.client_id)
    seen.append(bearing.get("/skus"))
    for answer in seen:
        refused(answer, 401, "invalid_token")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        assert told(answer) == told(seen[0])


@pytest.mark.processes
@pytest.mark.promise("TOK-10", "TOK-16")
def test_a_token_lives_over_a_restart_and_no_longer_than_900_seconds(caller, place):
    """The instant itself is decided on a stopped clock (tests/api/test_tokens.py); starting a process takes a while."""
    bearing = caller.bearing()
    for seconds, status in ((900 - 300, 200), (900, 401)):
        with place.shifted(PCDS_TEST_CLOCK_OFFSET=seconds).serving() as later:
            assert bearing.at(later).get("/skus").status_code == status


@pytest.mark.promise("TOK-09", "LIM-03", "CNV-10")
def test_thirty_token_requests_a_minute_per_client_and_per_address(service):
    within_a_minute(lambda: has_30_tokens(service.joined(), service.joined()))


def has_30_tokens(caller, neighbour):
    statuses = [caller.token().status_code for _ in range(31)]
    assert statuses == [200] * 30 + [429]
    assert caller.get("/skus").status_code == 200, "the key's own allowance is another"
    at_the_address = replace(neighbour, address=caller.address)
    elsewhere = replace(caller, address=neighbour.address)
    for over in (caller, at_the_address, elsewhere):
        answer = over.token()
        refused(answer, 429, "rate_limited")
        assert int(answer.headers["Retry-After"]) in range(1, 61)
    assert neighbour.token().status_code == 200
