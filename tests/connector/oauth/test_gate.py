"""The gate at /api/mcp: who comes through, how often, from where, and who the protocol is told it is."""

import json

import pytest

from connector.tools.kit import DRAFTING
from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from services.skus.write import write_records
from tests.api.people import BASE, added
from tests.connector.oauth.authorising import RPC, at_home
from warehouse.accounts import people
from warehouse.rules import Rulesets

CALL = {"name": "list_packaging_items", "arguments": {}}


def refused(answer) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


@pytest.fixture
def token(application):
    return application.connected()["access_token"]


@pytest.fixture
def item(pool, company, clock) -> str:
    """The code of an item of the company."""
    record = parse_sku({"sku_code": "S-1", "name": "Bottle"})
    with pool.company(company) as connection:
        write_records(
            connection,
            Actor(company, Origin("operator", "t", "t", "t"), clock.now()),
            {0: record},
            rulesets=Rulesets(),
            dry_run=False,
        )
    return "S-1"


@pytest.mark.parametrize("sent", [None, "unknown", "", "a b", "sat_x"])
def test_without_a_token_that_counts_there_is_one_answer(application, sent):
    answer = application.call(sent)
    assert refused(answer) == (401, "invalid_token")
    challenge = answer.headers["www-authenticate"]
    assert "resource_metadata=" in challenge
    assert ('error="invalid_token"' in challenge) is bool(sent)


def test_a_token_counts_in_the_header_alone_and_at_the_connector_alone(application, token):
    http = application.browser.http
    body = RPC | {"method": "tools/list"}
    assert http.post(f"/api/mcp?access_token={token}", json=body).status_code == 401
    assert http.post("/api/mcp", json=body, headers={"X-API-Key": token}).status_code == 401
    assert http.get("/api/v1/skus", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    refresh = application.connected()["refresh_token"]
    assert application.call(refresh).status_code == 401


def test_a_disabled_person_is_out_with_the_next_request(application, token, person, pool, clock):
    assert application.call(token).status_code == 200
    with pool.company(person.company) as connection:
        people.disable(connection, person.id, clock.now())
    assert application.call(token).status_code == 401


@pytest.mark.parametrize("plan", ["starter"])
def test_calls_of_a_connection_are_counted_exactly_and_nothing_else_is(application, token, clock):
    for _ in range(3):
        assert application.call(token).status_code == 200, "a list is no call"
    answers = [application.call(token, "tools/call", CALL) for _ in range(60)]
    assert {answer.status_code for answer in answers} == {200}
    over = application.call(token, "tools/call", CALL)
    assert (over.status_code, over.headers["retry-after"]) == (429, "60")
    error = over.json()["error"]
    assert (over.json()["id"], error["code"]) == (1, -32000)
    assert error["data"] | {"correlationId": ""} == {
        "error": "rate_limited",
        "limit": 60,
        "retryAfter": 60,
        "correlationId": "",
    }
    assert application.call(token).status_code == 200
    another = application.connected(scope="read")["access_token"]
    assert application.call(another, "tools/call", CALL).status_code == 429, "the same connection"


@pytest.mark.parametrize("plan", ["starter"])
def test_the_answer_to_a_calls_question_is_not_counted_again(application, token, item):
    draft = {"name": "generate_doc_draft", "arguments": {"sku_code": item}}
    asked = application.call(token, "tools/call", draft).json()["result"]["structuredContent"]
    by_state = application.call(token, "tools/call", draft, can={"elicitation": {}}).json()["result"]
    for _ in range(58):
        assert application.call(token, "tools/call", CALL).status_code == 200
    agreed = {question: {"action": "accept", "content": {"file": True}} for question in by_state["inputRequests"]}
    answers = [
        draft | {"arguments": {"sku_code": item, "confirmation": asked["confirmation"]}},
        draft | {"requestState": by_state["requestState"], "inputResponses": agreed},
    ]
    for answer in answers:
        told = application.call(token, "tools/call", answer, can={"elicitation": {}})
        assert told.json()["result"]["structuredContent"]["status"] == "filed"
    assert application.call(token, "tools/call", draft).status_code == 429


@pytest.mark.parametrize("plan", ["starter"])
def test_what_only_looks_like_an_answer_is_a_call(application, token, item, person):
    another = at_home(application.browser.http, application.browser.address, person)
    draft = {"name": "generate_doc_draft", "arguments": {"sku_code": item}}
    theirs = another.connected()["access_token"]
    code = another.call(theirs, "tools/call", draft).json()["result"]["structuredContent"]["confirmation"]
    feigned = [
        CALL | {"requestState": "sealed"},
        CALL | {"arguments": {"confirmation": "made-up"}},
        draft | {"requestState": "sealed"},
        draft | {"arguments": {"sku_code": item, "confirmation": "made-up"}},
        draft | {"arguments": {"sku_code": item, "confirmation": code}},
    ]
    for number in range(60):
        assert application.call(token, "tools/call", feigned[number % len(feigned)]).status_code != 429
    for answer in (CALL, *feigned):
        assert application.call(token, "tools/call", answer).status_code == 429


@pytest.mark.parametrize("written", ['{"a": NaN, %s', '{"a": "\\ud800", %s', "[{%s]", '"%s"', '{"a": 1}{%s', "\x00{%s"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("era", ["2026-07-28", "2025-11-25"])
def test_what_the_gate_cannot_read_goes_no_further(application, written, encoding, era):
    """Other parsers take some of it: a call would come through uncounted, and one that writes with a scope to read."""
    token = application.connected(scope="read")["access_token"]
    whole = json.dumps(RPC | {"method": "tools/call", "params": {"name": "generate_doc_draft"}})
    sent = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": era,
        "Accept": "application/json, text/event-stream",
    }
    body = (written % whole[1:]).encode(encoding)
    answer = application.browser.http.post("/api/mcp", content=body, headers=sent)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in (-32700, -32600)


@pytest.mark.parametrize("body", ["[]", '[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', '"ping"', "1", "null"])
def test_json_that_is_no_message_is_no_request(application, token, body):
    """Batches too, which the protocol has given up (MCP 2025-06-18)."""
    sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    answer = application.browser.http.post("/api/mcp", content=body, headers=sent)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)


def test_a_connection_that_may_only_read_files_nothing(application):
    token = application.connected(scope="read")["access_token"]
    answer = application.call(token, "tools/call", {"name": "generate_doc_draft", "arguments": {"sku_code": "X"}})
    assert refused(answer) == (403, "insufficient_scope")
    assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
    assert application.call(token, "tools/call", CALL).status_code == 200
    write = application.connected(scope="write")["access_token"]
    assert refused(application.call(write)) == (403, "insufficient_scope")


def test_foreign_names_and_pages_are_turned_away_before_anything(application, token):
    assert application.call(token, Host="evil.example").status_code == 421
    assert application.call(token, Origin="https://evil.example").status_code == 403
    assert application.call(token, Origin="null").status_code == 403
    assert application.call(token, Host="localhost:8000").status_code == 200


def test_a_page_that_the_operator_let_in_may_ask(application, token):
    page = {"Origin": "https://page.example"}
    preflight = application.browser.http.options("/api/mcp", headers=page)
    assert preflight.status_code == 204
    assert "Authorization" in preflight.headers["access-control-allow-headers"]
    for answer in (preflight, application.call(token, **page), application.call(None, **page)):
        assert answer.headers["access-control-allow-origin"] == "https://page.example"
    assert "WWW-Authenticate" in answer.headers["access-control-expose-headers"]
    assert application.call(token, Origin=BASE).status_code == 200


def test_what_is_too_large_or_no_message_is_refused_in_order(application, token):
    http, sent = application.browser.http, {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    assert http.post("/api/mcp", content=b" " * (2 * 2**20 + 1), headers=sent).status_code == 413
    assert http.post("/api/mcp", content=b"{", headers=sent | {"Content-Type": "application/json"}).status_code < 500


def test_a_session_of_the_older_handshake_is_of_its_person_alone(application, place, pool, company, token):
    answer = opened(application, token)
    session = {"Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
    assert older(application, token, "tools/list", **session).status_code == 200
    thief = at_home(place.http, place.address, added(pool, company))
    assert older(thief, thief.connected()["access_token"], "tools/list", **session).status_code == 404
    assert older(application, token, "tools/list", **session).status_code == 200


def opened(application, token):
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    return older(application, token, "initialize", client)


def older(application, token, method, params=None, **headers):
    sent = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {token}"} | headers
    return application.browser.http.post(
        "/api/mcp", json=RPC | {"method": method, "params": params or {}}, headers=sent
    )


@pytest.mark.parametrize("role", ["viewer", "editor", "approver"])
def test_a_connection_files_for_review_where_the_role_of_its_person_may(place, pool, company, role):
    application = at_home(place.http, place.address, added(pool, company, role))
    token = application.connected(scope="read write")["access_token"]
    assert application.call(token, "tools/call", CALL).status_code == 200
    drafting = {"name": "propose_sku_update", "arguments": {}}
    answer = application.call(token, "tools/call", drafting)
    told = answer.json()["result"]
    assert (answer.status_code, told["isError"]) == (200, True)
    assert told["content"][0]["text"].startswith("forbidden: Your role is viewer") == (role == "viewer")


@pytest.mark.parametrize(
    ("role", "scope", "may"),
    [("viewer", "read write", False), ("editor", "read", False), ("editor", "read write", True)],
)
def test_only_tools_that_can_be_used_are_listed(place, pool, company, role, scope, may):  # noqa: PLR0917  (a table's columns)
    application = at_home(place.http, place.address, added(pool, company, role))
    token = application.connected(scope=scope)["access_token"]
    listed = {tool["name"] for tool in application.call(token, "tools/list").json()["result"]["tools"]}
    assert listed.isdisjoint(DRAFTING) != may
    session = {"MCP-Protocol-Version": "2025-11-25"}
    session["Mcp-Session-Id"] = opened(application, token).headers["mcp-session-id"]
    text = older(application, token, "tools/list", **session).text
    assert [f'"name":"{name}"' in text for name in DRAFTING] == [may] * len(DRAFTING)
