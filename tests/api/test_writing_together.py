"""Writes of one key that are done together: each is answered, stored and told in the ledger as if it were alone."""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final

import orjson
import psycopg
import pytest
from starlette.responses import Response

from api.http import together, writing
from api.http.together import Together
from api.skus import writing as writing_skus
from services.audit import verify
from tests.api.conftest import Caller
from tests.waiting import PATIENCE_SECONDS, wait_until, within_a_minute
from warehouse.accounts.keys import revoke
from warehouse.operate import sessions
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool

BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 25}
HELD = {"sku_code": "HELD", "name": "Held"}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "PATIENCE_SECONDS", 10 * PATIENCE_SECONDS)


@pytest.fixture
def grouped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many writes were stored by each transaction of several."""
    sizes: list[int] = []
    real = writing_skus.write_records

    def noted(conn: Any, actor: Any, records: Any, **more: Any) -> Any:
        sizes.extend([len(records)] if more.get("origins") else [])
        return real(conn, actor, records, **more)

    monkeypatch.setattr(writing_skus, "write_records", noted)
    return sizes


def at_once(
    caller: Caller,
    pool: Pool,
    requests: Sequence[dict[str, Any]],
    headers: dict[str, str] | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> list[Any]:
    """Return the answers to POSTs that wait for each other, because one of their like before them waits for a row."""
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
    assert here.under_way == here.waiting == 0
    return answers


def sent(*bodies: Any) -> list[dict[str, Any]]:
    return [{"json": body} for body in bodies]


def numbered(letter: str, count: int) -> list[dict[str, Any]]:
    return sent(*({"sku_code": f"{letter}-{number}", "name": "Numbered"} for number in range(count)))


KNOWN = {"sku_code": "KNOWN", "name": "Known", "weight_grams": 7, "markets": ["FR"], "components": [BODY]}
GERMAN = {"headers": {"Accept-Language": "de"}}
EVERY_KIND = [
    {"json": {"sku_code": "NEW", "name": "New", "packaging_format": "bottle", "components": [BODY]}},
    {"json": {"sku_code": "KNOWN", "name": "Renamed", "weight_grams": None}},
    {"json": {"sku_code": "SAME", "name": "Same"}},
    {"json": {"sku_code": "FIELD", "name": "Unknown field", "colour": "blue"}, **GERMAN},
    {"json": [1]},
    {"json": {"sku_code": "NOBODYS", "name": "Nobody's brand", "brand_id": "0b5ac2f0-0000-4000-8000-000000000000"}},
    {"json": {"sku_code": "PFAS", "name": "Tray", "food_contact": True, "pfas_intentional": True}, **GERMAN},
    {"json": {"sku_code": "NEW", "name": "New again", "description": "second"}},
    {"json": {"sku_code": "é \\ \" ' %s", "name": "Odd", "markets": ["de", "FR"], "packaging_level": "Verkauf"}},
    {"json": {"sku_code": "WEIGHT", "name": "Weight", "weight_grams": 900, "components": [BODY]}, **GERMAN},
]
_ITS_OWN = re.compile(r'"(created|updated)_at":"[^"]*"|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|_at": "[^"]*"')
_COUNTED = ("x-ratelimit-remaining", "ratelimit", "ratelimit-remaining", "ratelimit-reset", "x-ratelimit-reset")


def shown(answer: Any) -> tuple[int, str, dict[str, str]]:
    """Return status, body and headers without what is another one's each time: ids, instants and the count."""
    headers = {name: _ITS_OWN.sub("", value) for name, value in answer.headers.items() if name not in _COUNTED}
    return answer.status_code, _ITS_OWN.sub("", answer.text), headers


def told(caller: Caller) -> list[str]:
    """Return the entries of the audit about each SKU, in the order of its code and version, without ids and times."""
    entries = caller.get("/audit-log", params={"limit": 100}).json()["data"]
    its_own = ("id", "at", "ip", "actor", "actor_id")
    return sorted(
        _ITS_OWN.sub("", orjson.dumps({n: v for n, v in entry.items() if n not in its_own}).decode())
        for entry in entries
    )


def feed(caller: Caller) -> list[str]:
    changes = caller.get("/changes", params={"limit": 100}).json()["data"]
    return sorted(f"{change.get('sku_code')} {change.get('type')} {change.get('version')}" for change in changes)


def test_each_is_answered_as_if_it_were_alone(join: Callable[..., Caller], pool: Pool, grouped: list[int]) -> None:
    alone, among = join(), join()
    for caller in (alone, among):
        caller.post("/skus", KNOWN)
        caller.post("/skus", {"sku_code": "SAME", "name": "Same"})
    alone.made(**HELD)
    alone.post("/skus", {**HELD, "name": "Still held"})
    one_by_one = [shown(alone.request("POST", "/skus", **request)) for request in EVERY_KIND]
    assert grouped == []
    in_one = [shown(answer) for answer in at_once(among, pool, EVERY_KIND)]
    assert grouped == [7], "those that validate, of one code the first alone"
    assert in_one == one_by_one
    assert {status for status, *_ in in_one} == {200, 201, 400}
    assert any("location" in headers and "etag" in headers for *_, headers in in_one)
    for code in ("NEW", "KNOWN", "SAME", "WEIGHT"):
        [one], [other] = (each.get("/skus", params={"sku_code": code}).json()["data"] for each in (alone, among))
        assert shown(alone.get(f"/skus/{one['id']}"))[1] == shown(among.get(f"/skus/{other['id']}"))[1]
    assert told(alone) == told(among)
    assert feed(alone) == feed(among)
    with pool.company(among.company) as conn:
        assert verify(conn).ok


def test_each_has_a_link_of_its_own_in_the_ledger(caller: Caller, pool: Pool, grouped: list[int]) -> None:
    requests = [
        {**request, "headers": {"X-Correlation-Id": f"order-{n}", "User-Agent": f"till/{n}"}}
        for n, request in enumerate(reversed(numbered("L", 6)))
    ]
    answers = at_once(caller, pool, requests)
    assert grouped == [6]
    assert [answer.headers["X-Correlation-Id"] for answer in answers] == [f"order-{n}" for n in range(6)]
    entries = caller.get("/audit-log", params={"limit": 100}).json()["data"]
    named = {entry["resource_id"]: (entry["correlation_id"], entry["user_agent"]) for entry in entries}
    for n, answer in enumerate(answers):
        assert named[answer.json()["data"]["id"]] == (f"order-{n}", f"till/{n}")
    with pool.company(caller.company) as conn:
        links = conn.execute("SELECT number, entries, visible_at IS NULL FROM audit_transactions ORDER BY 1").fetchall()
        told = conn.execute("SELECT correlation_id FROM audit_transactions ORDER BY number DESC LIMIT 6").fetchall()
        assert verify(conn).ok
    assert links == [(number, 1, False) for number in range(1, 2 + 1 + 6)]
    assert told == [(f"order-{n}",) for n in reversed(range(6))], "in the order in which they came"


def test_each_counts_once_and_says_what_is_left(join: Callable[..., Caller], pool: Pool, database: Database) -> None:
    within_a_minute(lambda: _last_places(join(), join(), pool, database))


def _last_places(alone: Caller, among: Caller, pool: Pool, database: Database) -> None:
    for caller in (alone, among):
        for _ in range(120 - 2 - 5):
            assert caller.get("/skus").status_code == 200
    alone.made(**HELD)
    alone.post("/skus", {**HELD, "name": "Still held"})
    one_by_one = [alone.request("POST", "/skus", **request) for request in numbered("C", 8)]
    in_one = at_once(among, pool, numbered("C", 8))
    assert [answer.status_code for answer in in_one] == [201] * 5 + [429] * 3
    for one, other in zip(one_by_one, in_one, strict=True):
        assert shown(one)[::2] == shown(other)[::2] or "retry-after" in other.headers
        assert set(one.headers) == set(other.headers)
        remaining = [name for name in one.headers if "remaining" in name]
        assert [one.headers[name] for name in remaining] == [other.headers[name] for name in remaining]
    with psycopg.connect(database.owner_url) as owner:
        spender = [f"key:{among.client_id}"]
        used = owner.execute("SELECT sum(requests) FROM request_slots WHERE spender = %s", spender).fetchone()
    assert used == (120,)


def test_a_key_that_ends_while_they_wait_lets_none_of_them_in(caller: Caller, pool: Pool, grouped: list[int]) -> None:
    def end() -> None:
        with pool.company(caller.company) as conn:
            assert revoke(conn, caller.client_id, datetime.now(UTC))

    answers = at_once(caller, pool, numbered("R", 3), meanwhile=end)
    assert [(answer.status_code, answer.json()["error"]) for answer in answers] == [(401, "invalid_api_key")] * 3
    assert grouped == []
    with pool.company(caller.company) as conn:
        assert conn.execute("SELECT count(*) FROM skus").fetchone() == (1,)


def test_a_key_without_the_scope_is_refused_for_each(join: Callable[..., Caller], pool: Pool) -> None:
    reader = join(scopes=("read",))
    here: Together = reader.http.app.state.service.together
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(reader.request, "POST", "/skus", **request) for request in numbered("S", 8)]
        assert {each.result(PATIENCE_SECONDS).status_code for each in asked} == {403}
    assert here.under_way == here.waiting == 0


def test_the_last_of_a_plan_go_to_as_many_as_there_are(join: Callable[..., Caller], pool: Pool) -> None:
    caller = join(plan="starter")
    with pool.company(caller.company) as conn:
        conn.execute("UPDATE company_counters SET skus = (SELECT sku_limit FROM plans WHERE plan = 'starter') - 4")
    answers = at_once(caller, pool, numbered("P", 6))
    assert sorted(answer.status_code for answer in answers) == [201] * 3 + [403] * 3
    assert {answer.json()["error"] for answer in answers if answer.is_error} == {"plan_limit_reached"}
    with pool.company(caller.company) as conn:
        assert verify(conn).ok


def test_an_archived_one_comes_back_by_its_own_request(caller: Caller, pool: Pool, grouped: list[int]) -> None:
    archived = caller.made(sku_code="A-1", name="Archived")
    assert caller.post(f"/skus/{archived['id']}/archive", {"reason": "over"}).status_code == 200
    requests = [
        {**request, "headers": {"X-Correlation-Id": f"order-{n}"}} for n, request in enumerate(numbered("A", 3))
    ]
    answers = at_once(caller, pool, requests)
    assert [answer.status_code for answer in answers] == [201, 200, 201]
    assert [warning["code"] for warning in answers[1].json()["warnings"]] == ["returned_from_archive"]
    entries = caller.get("/audit-log", params={"limit": 100}).json()["data"]
    assert "order-1" in {e["correlation_id"] for e in entries if e["resource_id"] == archived["id"]}
    with pool.company(caller.company) as conn:
        assert verify(conn).ok


def test_a_former_code_is_refused_alone(caller: Caller, pool: Pool, grouped: list[int]) -> None:
    sku = caller.made(sku_code="F-1", name="Former")
    assert caller.request("PATCH", f"/skus/{sku['id']}", json={"sku_code": "TODAY"}).status_code == 200
    answers = at_once(caller, pool, numbered("F", 3))
    assert [answer.status_code for answer in answers] == [201, 409, 201]
    assert answers[1].json()["error"] == "sku_code_former"


def test_a_fault_in_the_answer_of_one_is_its_own(caller: Caller, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    real = writing_skus.write_answer

    def faulty(row: Any, *, lang: str, dry_run: bool) -> Response:
        if row.sku_code == "F-1":
            raise RuntimeError("a fault of ours")
        return real(row, lang=lang, dry_run=dry_run)

    monkeypatch.setattr(writing_skus, "write_answer", faulty)
    answers = at_once(caller, pool, numbered("F", 3))
    assert [answer.status_code for answer in answers] == [201, 500, 201]
    assert "a fault of ours" not in answers[1].text


def _faulty_group(monkeypatch: pytest.MonkeyPatch, fault: Callable[[Any, int], object]) -> None:
    """Let a fault happen in each transaction of several, when its rows are stored; it is told how many there were."""
    real, times = writing_skus.write_records, count()

    def faulty(conn: Any, *given: Any, **more: Any) -> Any:
        outcomes = real(conn, *given, **more)
        if more.get("origins"):
            fault(conn, next(times))
        return outcomes

    monkeypatch.setattr(writing_skus, "write_records", faulty)


def _versions(caller: Caller, pool: Pool) -> set[tuple[str, int]]:
    with pool.company(caller.company) as conn:
        assert verify(conn).ok
        return set(conn.execute("SELECT sku_code, version FROM skus WHERE sku_code <> 'HELD'").fetchall())


@pytest.mark.parametrize("query", ["SELECT 1 / 0", "SELECT no_such_column"])
def test_a_group_whose_transaction_fails_is_written_one_by_one(
    caller: Caller, pool: Pool, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    """The statement fails in the database, where its result is read; nothing of the group is stored then."""
    _faulty_group(monkeypatch, lambda conn, _: conn.execute(query))
    assert [answer.status_code for answer in at_once(caller, pool, numbered("F", 3))] == [201] * 3
    assert _versions(caller, pool) == {(f"F-{n}", 1) for n in range(3)}


_END: Final = "SELECT pg_terminate_backend(pg_backend_pid())"


def test_a_group_whose_connection_is_lost_is_written_once(
    caller: Caller, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is lost before the commit is sent: nothing is stored, and the group is written again."""
    _faulty_group(monkeypatch, lambda conn, times: None if times else conn.execute(_END).fetchall())
    assert [answer.status_code for answer in at_once(caller, pool, numbered("L", 3))] == [201] * 3
    assert _versions(caller, pool) == {(f"L-{n}", 1) for n in range(3)}


def test_a_group_whose_connection_is_lost_while_its_commit_travels_hears_of_it(
    caller: Caller, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a write by itself does: nobody knows that the commit behind the last statement was not reached."""
    _faulty_group(monkeypatch, lambda conn, _: conn.execute(_END))
    assert [answer.status_code for answer in at_once(caller, pool, numbered("T", 3))] == [503] * 3
    assert _versions(caller, pool) == set()


def test_nothing_is_written_again_where_a_commit_is_in_doubt(
    caller: Caller, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is lost right behind the commit: everyone hears of a fault, and each SKU has one version."""
    ended = f"{_END}, %s"
    _faulty_group(monkeypatch, lambda *_: monkeypatch.setattr(sessions, "STAMP", ended))
    answers = at_once(caller, pool, numbered("D", 3))
    monkeypatch.undo()
    assert [answer.status_code for answer in answers] == [503] * 3
    assert _versions(caller, pool) == {(f"D-{n}", 1) for n in range(3)}


def test_those_with_an_idempotency_key_find_out_whether_their_commit_was_stored(
    caller: Caller, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamp = sessions.STAMP
    _faulty_group(monkeypatch, lambda *_: monkeypatch.setattr(sessions, "STAMP", f"{_END}, %s"))
    real = writing._OnceEach.recall

    def recall(each: Any, conn: Any) -> Any:
        monkeypatch.setattr(sessions, "STAMP", stamp)
        return real(each, conn)

    monkeypatch.setattr(writing._OnceEach, "recall", recall)
    group = [keyed(f"k-{n}", f"K-{n}") for n in range(3)]
    answers = at_once(caller, pool, group, {"Idempotency-Key": "held"})
    assert [(answer.status_code, "Idempotent-Replayed" in answer.headers) for answer in answers] == [(201, True)] * 3
    assert _versions(caller, pool) == {(f"K-{n}", 1) for n in range(3)}


def test_a_request_that_says_more_goes_alone(caller: Caller, pool: Pool, grouped: list[int]) -> None:
    """A dry run, a condition, and a body too large to be taken along wait for no group, though a row is held."""
    here: Together = caller.http.app.state.service.together
    caller.made(**HELD)
    with ThreadPoolExecutor(1) as threads, pool.company(caller.company) as holder:
        holder.execute("SELECT FROM skus WHERE sku_code = 'HELD' FOR UPDATE")
        first = threads.submit(caller.post, "/skus", {**HELD, "name": "Still held"})
        wait_until(lambda: here.under_way == 1)
        sku = {"sku_code": "ALONE", "name": "Alone"}
        assert caller.post("/skus?dry_run=true", sku).json()["dry_run"] is True
        assert caller.post("/skus", sku, headers={"If-None-Match": "*"}).status_code == 201
        assert caller.post("/skus", sku, headers={"If-Match": '"1"'}).status_code == 200
        assert caller.request("POST", "/skus", content=orjson.dumps(sku) + b" " * 100_000).status_code == 200
        assert here.waiting == 0
        holder.execute("ROLLBACK")
        assert first.result(PATIENCE_SECONDS).status_code == 200
    assert grouped == []


def test_two_companies_never_share_a_group(join: Callable[..., Caller], pool: Pool, grouped: list[int]) -> None:
    one, other = join(), join()
    here: Together = one.http.app.state.service.together
    one.made(**HELD)
    with ThreadPoolExecutor(1) as threads, pool.company(one.company) as holder:
        holder.execute("SELECT FROM skus WHERE sku_code = 'HELD' FOR UPDATE")
        first = threads.submit(one.post, "/skus", {**HELD, "name": "Still held"})
        wait_until(lambda: here.under_way == 1)
        assert other.made(sku_code="T-0")
        holder.execute("ROLLBACK")
        assert first.result(PATIENCE_SECONDS).status_code == 200
    with ThreadPoolExecutor(8) as threads:
        each = [threads.submit((one, other)[n % 2].made, sku_code=f"T-{n}") for n in range(2, 10)]
        assert all(made.result(PATIENCE_SECONDS) for made in each)
    for caller, parity in ((one, 0), (other, 1)):
        codes = {item["sku_code"] for item in caller.get("/skus").json()["data"]} - {"HELD", "T-0"}
        assert codes == {f"T-{n}" for n in range(2, 10) if n % 2 == parity}
        with pool.company(caller.company) as conn:
            assert verify(conn).ok


def keyed(key: str, code: str, **fields: Any) -> dict[str, Any]:
    return {"json": {"sku_code": code, "name": "Keyed", **fields}, "headers": {"Idempotency-Key": key}}


def test_each_is_done_once_by_its_own_idempotency_key(caller: Caller, pool: Pool, grouped: list[int]) -> None:
    """A key known before, one with another payload, one twice in a group, a refused row, and a key that is none."""
    known = caller.request("POST", "/skus", **keyed("known", "K"))
    caller.request("POST", "/skus", **keyed("other", "O"))
    group = [
        keyed("known", "K"),
        keyed("other", "O", markets=["FR"]),
        keyed("new", "N"),
        keyed("new", "N"),
        keyed("refused", "R", colour="blue"),
        keyed("x" * 256, "X"),
        keyed("last", "L"),
    ]
    answers = at_once(caller, pool, group, {"Idempotency-Key": "held"})
    assert grouped == [2], "what is neither known, nor equal to another, nor refused"
    assert [answer.status_code for answer in answers] == [201, 409, 201, 201, 400, 400, 201]
    assert [at for at, answer in enumerate(answers) if "Idempotent-Replayed" in answer.headers] == [0, 3]
    assert answers[0].content == known.content
    assert answers[0].headers["Location"] == known.headers["Location"]
    assert answers[3].content == answers[2].content
    for request, first in ((group[2], answers[2]), (group[6], answers[6])):
        again = caller.request("POST", "/skus", **request)
        assert (again.headers["Idempotent-Replayed"], again.content) == ("true", first.content)
    assert caller.request("POST", "/skus", **keyed("refused", "R")).status_code == 201
    assert {item["sku_code"] for item in caller.get("/skus").json()["data"]} == {"HELD", *"KONRL"}


def test_those_with_an_idempotency_key_go_among_their_like(caller: Caller, pool: Pool, grouped: list[int]) -> None:
    here: Together = caller.http.app.state.service.together
    caller.made(**HELD)
    with ThreadPoolExecutor(1) as threads, pool.company(caller.company) as holder:
        holder.execute("SELECT FROM skus WHERE sku_code = 'HELD' FOR UPDATE")
        first = threads.submit(caller.post, "/skus", {**HELD, "name": "Still held"})
        wait_until(lambda: here.under_way == 1)
        assert caller.request("POST", "/skus", **keyed("k", "K")).status_code == 201
        holder.execute("ROLLBACK")
        assert first.result(PATIENCE_SECONDS).status_code == 200
    assert grouped == []
