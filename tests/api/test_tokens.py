"""Bearer tokens: how one is asked for, what it may do, for how long, and what nobody is told about it."""

import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest

from schemas.accounts import TokenResponse
from schemas.answers import Error
from warehouse.accounts import keys

FORM = "application/x-www-form-urlencoded"
GRANT = {"grant_type": "client_credentials"}


def basic(client: object, secret: str) -> dict[str, str]:
    text = f"{quote(str(client), safe='')}:{quote(secret, safe='')}"
    return {"Authorization": f"Basic {b64encode(text.encode()).decode()}"}


def asked(caller, data=None, *, headers=None, **more):
    """A token request without the key's header; by form unless told otherwise."""
    headers = {"X-Forwarded-For": caller.address, **(headers or {})}
    return caller.http.post("/api/v1/oauth/token", data=data, headers=headers, **more)


def own(caller) -> dict[str, str]:
    return {"client_id": str(caller.client_id), "client_secret": caller.key}


def token(caller, **more) -> str:
    answer = asked(caller, GRANT | own(caller) | more)
    assert answer.status_code == 200, answer.text
    return answer.json()["access_token"]


def bearing(caller, value: str, method="GET", path="/skus", **more):
    headers = {"Authorization": f"Bearer {value}", **more.pop("headers", {})}
    return caller.http.request(method, f"/api/v1{path}", headers=headers, **more)


def refused(answer) -> tuple[int, str]:
    """Status and code, of an answer that is well formed in every other respect."""
    Error.model_validate(answer.json(), extra="forbid")
    if "/oauth/" in str(answer.request.url):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["pragma"] == "no-cache"
        description = answer.json()["error_description"]
        assert description.isascii()
        assert description.isprintable()
        assert not set('"\\') & set(description)
    return answer.status_code, answer.json()["error"]


def revoke(caller, pool) -> None:
    with pool.company(caller.company) as connection:
        assert keys.revoke(connection, caller.client_id, datetime.now(UTC))


@pytest.mark.parametrize("way", ["form", "json", "basic form", "basic json", "basic with client_id", "no type"])
def test_a_token_is_had_by_form_and_json_by_basic_and_body(caller, way):
    credentials, headers = (own(caller), {}) if "basic" not in way else ({}, basic(caller.client_id, caller.key))
    sent = GRANT | credentials | {"audience": "unknown, so ignored"}
    if way == "basic with client_id":
        sent |= {"client_id": str(caller.client_id)}
    if "json" in way:
        answer = asked(caller, json=sent | {"claims": {"ignored": [1]}}, headers=headers)
    elif way == "no type":
        text = "&".join(f"{name}={quote(value)}" for name, value in sent.items())
        answer = asked(caller, content=text, headers=headers | {"Content-Type": ""})
    else:
        answer = asked(caller, sent, headers=headers)
    assert answer.status_code == 200, answer.text
    TokenResponse.model_validate(answer.json(), extra="forbid")
    assert (answer.json()["token_type"], answer.json()["expires_in"]) == ("Bearer", 900)
    assert (answer.headers["cache-control"], answer.headers["pragma"]) == ("no-store", "no-cache")
    assert bearing(caller, answer.json()["access_token"]).status_code == 200


@pytest.mark.parametrize(
    ("scope", "granted"),
    [(None, "read write"), ("", "read write"), ("read", "read"), ("write read", "read write"), ("read read", "read")],
)
def test_the_scopes_asked_for_are_granted_where_the_key_holds_them(caller, scope, granted):
    answer = asked(caller, GRANT | own(caller) | ({} if scope is None else {"scope": scope}))
    assert answer.json()["scope"] == granted


@pytest.mark.parametrize("scope", ["admin", "read admin", "write", "READ", " ", "read\x00"])
def test_a_scope_unknown_or_not_held_is_refused(join, scope):
    reader = join(scopes=("read",))
    assert refused(asked(reader, GRANT | own(reader) | {"scope": scope})) == (400, "invalid_scope")


def test_a_token_does_what_its_scopes_say_and_never_more_than_its_key(caller, join):
    reading, writing = token(caller, scope="read"), token(caller, scope="write")
    sku = {"sku_code": f"T-{uuid4()}", "name": "Bottle"}
    assert refused(bearing(caller, reading, "POST", json=sku)) == (403, "insufficient_scope")
    assert bearing(caller, writing, "POST", json=sku).status_code == 201
    assert refused(bearing(caller, writing)) == (403, "insufficient_scope")
    assert bearing(caller, reading).json()["pagination"]["total"] == 1
    reader = join(scopes=("read",))
    assert refused(bearing(reader, token(reader), "POST", json=sku)) == (403, "insufficient_scope")
    assert bearing(reader, token(reader)).json()["pagination"]["total"] == 0


@pytest.mark.parametrize(
    ("sent", "refusal"),
    [
        ({}, (400, "invalid_request")),
        ({"grant_type": ""}, (400, "invalid_request")),
        ({"grant_type": "password"}, (400, "unsupported_grant_type")),
        ({"grant_type": "refresh_token", "refresh_token": "x"}, (400, "unsupported_grant_type")),
        (GRANT | {"client_secret": None}, (400, "invalid_request")),
        (GRANT | {"client_id": ""}, (400, "invalid_request")),
        (GRANT | {"scope": ["read", "write"]}, (400, "invalid_request")),
        ({"grant_type": ["client_credentials", "client_credentials"]}, (400, "invalid_request")),
        (GRANT | {"resource": ["a", "b"]}, None),
    ],
)
def test_what_is_missing_repeated_or_another_grant_is_refused(caller, sent, refusal):
    body = {name: value for name, value in (own(caller) | sent).items() if value is not None}
    answer = asked(caller, body)
    assert answer.status_code == 200 if refusal is None else refused(answer) == refusal


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("application/json", b""), ("application/json", b"[]"), ("application/json", b'[["grant_type", "x"]]'),
        ("application/json", b"{"), ("application/json", b"\xff"), ("application/json", b"[" * 8000),
        ("application/json", b'{"grant_type": 1}'), ("application/json", b'{"grant_type": {}}'),
        ("application/json", b'{"grant_type": "a", "grant_type": "b"}'),
        ("application/json", b'{"x": "' + b"y" * 9000 + b'"}'),
        (FORM, b"grant_type=%ff"), (FORM, b"&" * 9000), (FORM, b"a=1&" * 200), ("text/plain", b"grant_type=x"),
        ("multipart/form-data; boundary=x", b"--x--"),
    ],
)  # fmt: skip
def test_what_is_no_form_and_no_json_of_a_reasonable_size_is_refused(caller, media_type, body):
    answer = asked(caller, content=body, headers={"Content-Type": media_type})
    assert refused(answer) == (400, "invalid_request")


def test_a_client_names_itself_in_one_place(caller):
    header = basic(caller.client_id, caller.key)
    for body in ({"client_secret": caller.key}, own(caller), {"client_id": str(uuid4())}):
        assert refused(asked(caller, GRANT | body, headers=header)) == (400, "invalid_request")
    other_scheme = {"Authorization": "Bearer of something else"}
    assert asked(caller, GRANT | own(caller), headers=other_scheme).status_code == 200


def _but_for_its_id(answer):
    body = {name: value for name, value in answer.json().items() if name != "correlationId"}
    return answer.status_code, body, answer.headers.get("www-authenticate")


@pytest.mark.parametrize("by_basic", [False, True])
def test_unknown_wrong_and_revoked_clients_cannot_be_told_apart(caller, join, pool, by_basic):
    gone, other = join(), join()
    revoke(gone, pool)
    tries = [
        (gone.client_id, gone.key),
        (uuid4(), keys.new_key()),
        (caller.client_id, keys.new_key()),
        (caller.client_id, other.key),
        ("no uuid", caller.key),
        (uuid4(), caller.key),
        (caller.client_id, "é\x00"),
    ]
    said = []
    for client, secret in tries:
        if by_basic:
            answer = asked(caller, GRANT, headers=basic(client, secret))
        else:
            answer = asked(caller, GRANT | {"client_id": str(client), "client_secret": secret})
        assert refused(answer) == (401, "invalid_client")
        said.append(_but_for_its_id(answer))
    assert all(one == said[0] for one in said)
    assert said[0][2] == 'Basic realm="api"'


@pytest.mark.parametrize("encoded", ["", "!!!", "bm9jb2xvbg==", b64encode(b"\xff:\xff").decode()])
def test_a_basic_header_that_names_no_client_is_an_invalid_client(caller, encoded):
    answer = asked(caller, GRANT, headers={"Authorization": f"basic {encoded}"})
    assert refused(answer) == (401, "invalid_client")
    assert answer.headers["www-authenticate"] == 'Basic realm="api"'


def test_revoking_the_key_ends_its_tokens_and_unknown_ones_hear_the_same(caller, pool):
    held = token(caller)
    assert bearing(caller, held).status_code == 200
    revoke(caller, pool)
    answers = [bearing(caller, value) for value in (held, f"sat_{'x' * 43}", "malformed", "", caller.key, "a b")]
    assert {refused(answer) for answer in answers} == {(401, "invalid_token")}
    assert all(_but_for_its_id(answer) == _but_for_its_id(answers[0]) for answer in answers)
    assert answers[0].headers["www-authenticate"] == 'Bearer error="invalid_token"'


def test_the_key_counts_where_both_are_sent(caller, join):
    other, held = join(), token(caller)
    sku = caller.made()
    assert bearing(caller, held, headers={"X-API-Key": other.key}).json()["pagination"]["total"] == 0
    for bad, code in ((keys.new_key(), "invalid_api_key"), ("no-key", "missing_api_key")):
        assert refused(bearing(caller, held, headers={"X-API-Key": bad})) == (401, code)
    assert bearing(other, "malformed", headers={"X-API-Key": caller.key}).json()["data"][0]["id"] == sku["id"]


def test_a_token_lives_900_seconds_by_the_clock(stopped, clock):
    value = token(stopped)
    clock.advance(timedelta(seconds=900) - timedelta(microseconds=1))
    assert bearing(stopped, value).status_code == 200
    clock.advance(timedelta(microseconds=1))
    assert refused(bearing(stopped, value)) == (401, "invalid_token")
    clock.advance(-timedelta(days=1))
    assert bearing(stopped, value).status_code == 200, "an instant decides, not a row that was seen to have ended"


def test_thirty_token_requests_a_minute_by_address_whoever_they_name(stopped, clock):
    """They do not spend the key's own requests, and one that is refused for the limit is not counted."""
    for number in range(30):
        body = GRANT | own(stopped) if number % 3 else {"grant_type": "nonsense"}
        assert asked(stopped, body).status_code in (200, 400)
        clock.advance(timedelta(seconds=1))
    for _ in range(3):
        late = asked(stopped, GRANT | own(stopped))
        assert refused(late) == (429, "rate_limited")
        assert late.headers["retry-after"] == "30"
    assert stopped.get("/skus").status_code == 200
    clock.advance(timedelta(seconds=30))
    assert asked(stopped, GRANT | own(stopped)).status_code == 200
    assert refused(asked(stopped, GRANT | own(stopped))) == (429, "rate_limited")


def test_thirty_token_requests_a_minute_by_client_from_wherever_they_come(stopped):
    """Only a caller who knows the secret can spend them: to know a client's id is not enough to shut it out."""
    for number in range(40):
        wrong = GRANT | own(stopped) | {"client_secret": keys.new_key()}
        headers = {"X-Forwarded-For": f"192.0.2.{number}"}
        assert refused(asked(stopped, wrong, headers=headers)) == (401, "invalid_client")
    for number in range(30):
        sent = asked(stopped, GRANT | own(stopped), headers={"X-Forwarded-For": f"198.51.100.{number}"})
        assert sent.status_code == 200
    last = asked(stopped, GRANT | own(stopped), headers={"X-Forwarded-For": "203.0.113.1"})
    assert (refused(last), last.headers["retry-after"]) == ((429, "rate_limited"), "60")


def test_no_secret_is_held_or_logged(caller, database, caplog, capsys):
    value = token(caller)
    bearing(caller, value)
    asked(caller, GRANT | own(caller), headers=basic(caller.client_id, caller.key))
    bearing(caller, f"{value}x")
    logged = capsys.readouterr().err
    assert logged.count('"event": "request"') == 4
    logged += "".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    with psycopg.connect(database.owner_url) as owner:
        rows = owner.execute("SELECT * FROM bearer_tokens WHERE client_id = %s", [caller.client_id]).fetchall()
        spent = owner.execute("SELECT DISTINCT spender FROM request_slots").fetchall()
    for secret in (value, caller.key, value.removeprefix("sat_"), basic(caller.client_id, caller.key)["Authorization"]):
        assert secret not in logged
        assert secret not in str(rows) + str(spent)
    assert keys.digest(value) in rows[0]
    assert json.dumps(sorted(rows[0][3])) == '["read", "write"]'
