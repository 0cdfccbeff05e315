"""Writes that arrive at once: each is answered, counted, stored and audited as if it were alone."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import psycopg

from services.audit import verify
from tests.api.conftest import Caller
from tests.waiting import PATIENCE_SECONDS, within_a_minute
from warehouse.accounts.keys import issue, new_key
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool


def at_once(caller: Caller, requests: Sequence[dict[str, Any]]) -> list[Any]:
    """Return the answers to POSTs that are sent over as many connections."""
    with ThreadPoolExecutor(len(requests)) as threads:
        sent = [threads.submit(caller.request, "POST", "/skus", **request) for request in requests]
        return [each.result(PATIENCE_SECONDS) for each in sent]


def sent(*bodies: Any) -> list[dict[str, Any]]:
    return [{"json": body} for body in bodies]


def test_each_has_a_link_of_its_own_in_the_ledger(caller: Caller, pool: Pool) -> None:
    requests = [
        {
            "json": {"sku_code": f"L-{n}", "name": "Linked"},
            "headers": {"X-Correlation-Id": f"order-{n}", "User-Agent": f"till/{n}"},
        }
        for n in range(6)
    ]
    answers = at_once(caller, requests)
    assert [answer.headers["X-Correlation-Id"] for answer in answers] == [f"order-{n}" for n in range(6)]
    entries = caller.get("/audit-log", params={"limit": 100}).json()["data"]
    named = {entry["resource_id"]: (entry["correlation_id"], entry["user_agent"]) for entry in entries}
    for n, answer in enumerate(answers):
        assert named[answer.json()["data"]["id"]] == (f"order-{n}", f"till/{n}")
    with pool.company(caller.company) as conn:
        links = conn.execute("SELECT number, entries FROM audit_transactions ORDER BY number").fetchall()
        assert verify(conn).ok
    assert links == [(number, 1) for number in range(1, 7)]


def test_each_counts_once_and_the_last_places_go_round_once(join: Callable[..., Caller], database: Database) -> None:
    within_a_minute(lambda: last_places_go_round_once(join(), database))


def last_places_go_round_once(caller: Caller, database: Database) -> None:
    for _ in range(120 - 5):
        assert caller.get("/skus").status_code == 200
    answers = at_once(caller, sent(*({"sku_code": f"C-{n}", "name": "Counted"} for n in range(8))))
    assert sorted(answer.status_code for answer in answers) == [201] * 5 + [429] * 3
    with psycopg.connect(database.owner_url) as owner:
        spender = [f"key:{caller.client_id}"]
        used = owner.execute("SELECT sum(requests) FROM request_slots WHERE spender = %s", spender).fetchone()
    assert used == (120,)


def test_the_last_of_a_plan_go_to_as_many_as_there_are(join: Callable[..., Caller], pool: Pool) -> None:
    caller = join(plan="starter")
    with pool.company(caller.company) as conn:
        conn.execute("UPDATE company_counters SET skus = (SELECT sku_limit FROM plans WHERE plan = 'starter') - 3")
    answers = at_once(caller, sent(*({"sku_code": f"P-{n}", "name": "Planned"} for n in range(6))))
    assert sorted(answer.status_code for answer in answers) == [201] * 3 + [403] * 3
    assert {answer.json()["error"] for answer in answers if answer.is_error} == {"plan_limit_reached"}


def test_a_refused_one_holds_back_no_other(caller: Caller) -> None:
    known, refused = {"sku_code": "KNOWN", "name": "Known"}, {"sku_code": "FIELD", "name": "Unknown", "colour": "blue"}
    caller.made(**known)
    requests = [*sent({"sku_code": "NEW", "name": "New"}, refused, [1], known), {"content": b"{"}]
    assert [answer.status_code for answer in at_once(caller, requests)] == [201, 400, 400, 200, 400]
    assert {item["sku_code"] for item in caller.get("/skus").json()["data"]} == {"KNOWN", "NEW"}


def keyed(key: str, code: str, **fields: Any) -> dict[str, Any]:
    return {"json": {"sku_code": code, "name": "Keyed", **fields}, "headers": {"Idempotency-Key": key}}


def test_each_is_done_once_by_its_own_idempotency_key(caller: Caller) -> None:
    """A key known before, one with another payload, one sent twice at once, a refused row, and a key that is none."""
    known = caller.request("POST", "/skus", **keyed("known", "K"))
    caller.request("POST", "/skus", **keyed("other", "O"))
    requests = [
        keyed("known", "K"),
        keyed("other", "O", markets=["FR"]),
        keyed("new", "N"),
        keyed("new", "N"),
        keyed("refused", "R", colour="blue"),
        keyed("x" * 256, "X"),
        keyed("last", "L"),
    ]
    answers = at_once(caller, requests)
    assert [answer.status_code for answer in answers] == [201, 409, 201, 201, 400, 400, 201]
    replayed = [at for at, answer in enumerate(answers) if "Idempotent-Replayed" in answer.headers]
    assert replayed in ([0, 2], [0, 3])
    assert answers[0].content == known.content
    assert answers[3].content == answers[2].content
    for request, first in ((requests[2], answers[2]), (requests[6], answers[6])):
        again = caller.request("POST", "/skus", **request)
        assert (again.headers["Idempotent-Replayed"], again.content) == ("true", first.content)
    assert caller.request("POST", "/skus", **keyed("refused", "R")).status_code == 201
    assert {item["sku_code"] for item in caller.get("/skus").json()["data"]} == set("KONRL")


def test_twenty_connections_of_two_keys_on_the_same_new_codes(join: Callable[..., Caller], pool: Pool) -> None:
    """No fault, no lost update, and a ledger that verifies, whoever of a company is first with a code."""
    first = join()
    second = replace(first, client_id=uuid4(), key=new_key())
    with pool.company(first.company) as conn:
        issue(
            conn, first.company, second.client_id, key=second.key, name="till", scopes=("write",), at=datetime.now(UTC)
        )
    codes = [f"T-{number}" for number in range(6)]

    def write(number: int) -> list[int]:
        order, caller = random.Random(number).sample(codes, len(codes)), (first, second)[number % 2]
        return [
            caller.post("/skus", {"sku_code": code, "name": "Twenty", "description": str(number)}).status_code
            for code in order[:5]
        ]

    with ThreadPoolExecutor(20) as threads:
        answered = Counter(status for done in threads.map(write, range(20)) for status in done)
    assert answered == {201: len(codes), 200: 100 - len(codes)}
    with pool.company(first.company) as conn:
        verdict = verify(conn)
        entries = conn.execute("SELECT resource_id, count(*) FROM audit_entries GROUP BY 1 ORDER BY 1").fetchall()
        held = conn.execute("SELECT id::text, version FROM skus ORDER BY 1").fetchall()
    assert (verdict.ok, entries) == (True, held)
