"""Writes of one key that are done together: each is answered, stored and told in the ledger as if it were alone."""

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import orjson
import psycopg
import pytest
from starlette.responses import Response

from api import skus, together
from api.together import Together
from services.audit import verify
from tests.api.conftest import Caller
from tests.waiting import PATIENCE_SECONDS, wait_until, within_a_minute
from warehouse.access.keys import issue, new_key, revoke
from warehouse.database import Database
from warehouse.sessions import Pool

BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 25}
HELD = {"sku_code": "HELD", "name": "Held"}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "PATIENCE_SECONDS", 10 * PATIENCE_SECONDS)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many writes each group had that was tried."""
    sizes: list[int] = []
    real = skus._written_together

    def noted(conn: Any, sent: Any) -> Any:
        sizes.append(len(sent))
        return real(conn, sent)

    monkeypatch.setattr(skus, "_written_together", noted)
    return sizes


def at_once(
    caller: Caller, pool: Pool, requests: Sequence[dict[str, Any]], headers: dict[str, str] | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> list[Any]:  # fmt: skip
    """The answers to POSTs that wait for each other, because one of their like before them waits for a row."""
    here: Together = caller.http.app.state.service.together
    caller.made(**HELD)
    with ThreadPoolExecutor(1 + len(requests)) as threads:
        with pool.company(caller.company) as holder:
            holder.execute("SELECT FROM skus WHERE sku_code = 'HELD' FOR UPDATE")
            first = threads.submit(caller.post, "/skus", {**HELD, "name": "Still held"}, headers=headers or {})
            wait_until(lambda: here.under_way == 1)
            others = []
            for number, request in enumerate(requests, start=1):
                others.append(threads.submit(caller.request, "POST", "/skus", **request))
                wait_until(lambda due=number: here.waiting == due)  # so that their order is theirs
            meanwhile()
        answers = [each.result(PATIENCE_SECONDS) for each in others]
        assert first.result(PATIENCE_SECONDS).status_code == 200
    return answers


def sent(*bodies: Any) -> list[dict[str, Any]]:
    return [{"json": body} for body in bodies]


KNOWN = {"sku_code": "KNOWN", "name": "Known", "weight_grams": 7, "markets": ["FR"], "components": [BODY]}
EVERY_KIND = [
    {"json": {"sku_code": "NEW", "name": "New", "packaging_format": "bottle", "components": [BODY]}},
    {"json": {"sku_code": "KNOWN", "name": "Renamed", "weight_grams": None}},
    {"json": {"sku_code": "SAME", "name": "Same"}},
    {"json": {"sku_code": "FIELD", "name": "Unknown field", "colour": "blue"}},
    {"content": b"{"},
    {"json": [1]},
    {"json": {"sku_code": "NOBODYS", "name": "Nobody's brand", "brand_id": "0b5ac2f0-0000-4000-8000-000000000000"}},
    {"json": {"sku_code": "PFAS", "name": "Tray", "food_contact": True, "pfas_intentional": True}},
    {"json": {"sku_code": "NEW", "name": "New again", "description": "second"}},
    {"json": {"sku_code": "é \\ \" ' %s", "name": "Odd", "markets": ["de", "FR"], "packaging_level": "Verkauf"}},
    {"json": {"sku_code": "VOLUMES", "name": "Volumes", "volumes": [{"jurisdiction": "FR", "units": 5, "year": 2026}]}},
]


_ITS_OWN = re.compile(r'"(created|updated)_at":"[^"]*"|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


def told(answer: Any) -> tuple[int, str]:
    """Status and body without what is another one's each time: ids and instants."""
    return answer.status_code, _ITS_OWN.sub("", answer.text)


def test_each_is_answered_as_if_it_were_alone(join: Callable[..., Caller], pool: Pool, asked: list[int]) -> None:
    alone, among = join(), join()
    for caller in (alone, among):
        caller.post("/skus", KNOWN)
        caller.post("/skus", {"sku_code": "SAME", "name": "Same"})
    one_by_one = [told(alone.request("POST", "/skus", **request)) for request in EVERY_KIND]
    together = [told(answer) for answer in at_once(among, pool, EVERY_KIND)]
    assert asked == [len(EVERY_KIND) - 1], "all that could be read went together"
    assert together == one_by_one
    assert {status for status, _ in together} == {200, 201, 400}
    for code in ("NEW", "KNOWN", "SAME"):
        [one], [other] = (each.get("/skus", params={"sku_code": code}).json()["data"] for each in (alone, among))
        assert told(alone.get(f"/skus/{one['id']}")) == told(among.get(f"/skus/{other['id']}"))


def test_each_has_a_link_of_its_own_in_the_ledger(caller: Caller, pool: Pool, asked: list[int]) -> None:
    requests = [
        {"json": {"sku_code": f"L-{n}", "name": "Linked"},
         "headers": {"X-Correlation-Id": f"order-{n}", "User-Agent": f"till/{n}"}}
        for n in range(6)
    ]  # fmt: skip
    answers = at_once(caller, pool, requests)
    assert asked == [6]
    assert [answer.headers["X-Correlation-Id"] for answer in answers] == [f"order-{n}" for n in range(6)]
    entries = caller.get("/audit-log", params={"limit": 100}).json()["data"]
    named = {entry["resource_id"]: (entry["correlation_id"], entry["user_agent"]) for entry in entries}
    for n, answer in enumerate(answers):
        assert named[answer.json()["data"]["id"]] == (f"order-{n}", f"till/{n}")
    with pool.company(caller.company) as conn:
        links = conn.execute("SELECT number, entries FROM audit_transactions ORDER BY number").fetchall()
    assert links == [(number, 1) for number in range(1, 2 + 1 + 6)]


def test_each_counts_once_and_the_last_places_go_round_once(
    join: Callable[..., Caller], pool: Pool, database: Database, asked: list[int]
) -> None:
    within_a_minute(lambda: last_places_go_round_once(join(), pool, database, asked))


def last_places_go_round_once(caller: Caller, pool: Pool, database: Database, asked: list[int]) -> None:
    asked.clear()
    for _ in range(120 - 2 - 5):
        assert caller.get("/skus").status_code == 200
    answers = at_once(caller, pool, sent(*({"sku_code": f"C-{n}", "name": "Counted"} for n in range(8))))
    assert asked == [5]
    assert sorted(answer.status_code for answer in answers) == [201] * 5 + [429] * 3
    with psycopg.connect(database.owner_url) as owner:
        spender = [f"key:{caller.client_id}"]
        used = owner.execute("SELECT sum(requests) FROM request_slots WHERE spender = %s", spender).fetchone()
    assert used == (120,)


def test_a_key_that_ends_while_they_wait_lets_none_of_them_in(caller: Caller, pool: Pool, asked: list[int]) -> None:
    def end() -> None:
        with pool.company(caller.company) as conn:
            assert revoke(conn, caller.client_id, datetime.now(UTC))

    answers = at_once(caller, pool, sent(*({"sku_code": f"R-{n}", "name": "Waits"} for n in range(3))), meanwhile=end)
    assert [(answer.status_code, answer.json()["error"]) for answer in answers] == [(401, "invalid_api_key")] * 3
    assert asked == []
    with pool.company(caller.company) as conn:
        assert conn.execute("SELECT count(*) FROM skus").fetchone() == (1,)


def test_the_last_of_a_plan_go_to_as_many_as_there_are(join: Callable[..., Caller], pool: Pool) -> None:
    caller = join(plan="starter")
    with pool.company(caller.company) as conn:
        conn.execute("UPDATE company_counters SET skus = (SELECT sku_limit FROM plans WHERE plan = 'starter') - 4")
    answers = at_once(caller, pool, sent(*({"sku_code": f"P-{n}", "name": "Planned"} for n in range(6))))
    assert [answer.status_code for answer in answers] == [201] * 3 + [403] * 3
    assert {answer.json()["error"] for answer in answers[3:]} == {"plan_limit_reached"}


def test_a_fault_with_one_is_its_own(caller: Caller, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails while the answers are made: the group is given up, and each is done by itself."""
    real = skus._shown

    def faulty(row: Any, lang: str, *, dry_run: bool) -> Response:
        if row.sku_code == "F-1":
            raise RuntimeError("a fault of ours")
        return real(row, lang, dry_run=dry_run)

    monkeypatch.setattr(skus, "_shown", faulty)
    answers = at_once(caller, pool, sent(*({"sku_code": f"F-{n}", "name": "Faulty"} for n in range(3))))
    assert answers[1].status_code == 500
    assert "a fault of ours" not in answers[1].text
    assert {answers[0].status_code, answers[2].status_code} == {200}, "they were stored before the fault"


def test_what_says_something_of_its_own_goes_alone(caller: Caller, pool: Pool, asked: list[int]) -> None:
    """A dry run, and a body too large to be taken along, wait for no group, though a row is held."""
    here: Together = caller.http.app.state.service.together
    caller.made(**HELD)
    with ThreadPoolExecutor(1) as threads, pool.company(caller.company) as holder:
        holder.execute("SELECT FROM skus WHERE sku_code = 'HELD' FOR UPDATE")
        first = threads.submit(caller.post, "/skus", {**HELD, "name": "Still held"})
        wait_until(lambda: here.under_way == 1)
        sku = {"sku_code": "ALONE", "name": "Alone"}
        assert caller.post("/skus?dry_run=true", sku).json()["dry_run"] is True
        assert caller.request("POST", "/skus", content=orjson.dumps(sku) + b" " * 100_000).status_code == 201
        holder.execute("ROLLBACK")
        assert first.result(PATIENCE_SECONDS).status_code == 200
    assert asked == []


def keyed(key: str, code: str, **fields: Any) -> dict[str, Any]:
    return {"json": {"sku_code": code, "name": "Keyed", **fields}, "headers": {"Idempotency-Key": key}}


def test_each_is_done_once_by_its_own_idempotency_key(caller: Caller, pool: Pool, asked: list[int]) -> None:
    """A key known before, one with another payload, one twice in a group, a refused row, and a key that is none."""
    known = caller.request("POST", "/skus", **keyed("known", "K"))
    caller.request("POST", "/skus", **keyed("other", "O"))
    group = [
        keyed("known", "K"), keyed("other", "O", markets=["FR"]), keyed("new", "N"), keyed("new", "N"),
        keyed("refused", "R", colour="blue"), keyed("x" * 256, "X"), keyed("last", "L"),
    ]  # fmt: skip
    answers = at_once(caller, pool, group, {"Idempotency-Key": "held"})
    assert asked == [3], "what is neither known, nor equal to another, nor without a fit key"
    assert [answer.status_code for answer in answers] == [201, 409, 201, 201, 400, 400, 201]
    assert [at for at, answer in enumerate(answers) if "Idempotent-Replayed" in answer.headers] == [0, 3]
    assert answers[0].content == known.content
    assert answers[3].content == answers[2].content
    for request, first in ((group[2], answers[2]), (group[6], answers[6])):
        again = caller.request("POST", "/skus", **request)
        assert (again.headers["Idempotent-Replayed"], again.content) == ("true", first.content)
    assert caller.request("POST", "/skus", **keyed("refused", "R")).status_code == 201
    assert {item["sku_code"] for item in caller.get("/skus").json()["data"]} == {"HELD", *"KONRL"}


def test_twenty_connections_of_two_keys_on_the_same_new_codes(
    join: Callable[..., Caller], pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No fault, no lost update, and a ledger that verifies, whoever of a company is first with a code."""
    monkeypatch.undo()
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
