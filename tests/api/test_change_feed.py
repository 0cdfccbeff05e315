"""The feed of changes, one call at a time: order, cursors, what is in it and what is not. Writers are in `journeys`."""

from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from uuid import uuid4

import psycopg
import pytest

from schemas.actors import Actor, Origin
from services import changes
from tests.api.test_changes import covered
from warehouse.audit import ledger
from warehouse.changes.feed import BEGINNING
from warehouse.rules import Rulesets

PERSON = Origin("operator", "me", "Ada Marsh", "correlation")


def page(caller, **params):
    answer = caller.get("/changes", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def told(caller, after=None, **params):
    """Every change behind a cursor, page by page, and the cursor behind them."""
    found, more = [], True
    while more:
        got = page(caller, **params, **({"after": after} if after else {}))
        found, after, more = found + got["data"], got["next_cursor"], got["has_more"]
    return found, after


def refusal(caller, **params):
    answer = caller.get("/changes", params=params)
    assert answer.status_code == 400, answer.text
    return [(fault["field"], fault["code"]) for fault in answer.json()["details"]]


def test_changes_come_in_the_order_of_their_commits_and_once(caller):
    empty = page(caller)
    assert (empty["data"], empty["has_more"]) == ([], False)
    assert page(caller, after=empty["next_cursor"])["data"] == []
    jar = caller.made(sku_code="JAR")
    caller.post("/skus", {"sku_code": "JAR", "name": "Jar"})
    caller.put(f"/skus/{jar['id']}/volumes", [{"market": "FR", "year": 2026, "units_placed": 5}])
    caller.post("/skus/batch", {"skus": [{"sku_code": f"B-{n}", "name": "n"} for n in range(5)]})
    caller.post(f"/skus/{jar['id']}/archive", {})
    everything, end = told(caller)
    expected = [("sku.created", "JAR", 1), ("sku.updated", "JAR", 2), ("sku_volumes.updated", "JAR", 3)]
    expected += [("sku.created", f"B-{n}", 1) for n in range(5)] + [("sku.archived", "JAR", 4)]
    assert [(each["type"], each["sku_code"], each["version"]) for each in everything] == expected
    assert {each["sku_id"] for each in everything if each["sku_code"] == "JAR"} == {jar["id"]}
    assert len({each["id"] for each in everything}) == len(everything)
    assert {each["actor_type"] for each in everything} == {"api_key"}
    assert told(caller, limit=2) == (everything, end)
    assert told(caller, empty["next_cursor"], limit=1) == (everything, end)
    for at, each in enumerate(everything, 1):
        assert told(caller, each["cursor"])[0] == everything[at:]
    assert page(caller, after=end) == {"data": [], "next_cursor": end, "has_more": False}


def test_a_caller_takes_a_cursor_reads_the_lists_and_goes_on(caller):
    caller.made(sku_code="BEFORE")
    start = page(caller, after="now")
    assert (start["data"], start["has_more"]) == ([], False)
    caller.made(sku_code="SINCE")
    assert [each["sku_code"] for each in told(caller, start["next_cursor"])[0]] == ["SINCE"]


def test_records_are_the_skus_as_they_are_now(caller, pool):
    jar, can = caller.made(sku_code="JAR", material="glass"), caller.made(sku_code="CAN")
    caller.post("/skus", {"sku_code": "JAR", "weight_grams": 7, "name": "Jar"})
    covered(pool, caller, jar, datetime.now(UTC))
    caller.post(f"/skus/{can['id']}/archive", {})
    listed, _ = told(caller, include="records")
    now = {sku: caller.get(f"/skus/{sku}").json()["data"] for sku in (jar["id"], can["id"])}
    assert len(listed) == 5
    assert [each["record"] for each in listed] == [now[each["sku_id"]] for each in listed]
    assert [each["type"] for each in listed if each["resource_type"] == "doc"] == ["doc.created"]
    assert now[jar["id"]]["doc_status"] == "valid"
    assert "archived_at" in now[can["id"]]
    assert "record" not in told(caller)[0][0]


def test_who_signed_in_or_waits_for_review_is_no_change(caller, pool):
    now = datetime.now(UTC)
    for action in ("user.signed_in", "sku_proposal.filed", "api_key.issued"):
        with pool.company(caller.company) as conn:
            ledger.enter(conn, Actor(caller.company, PERSON, now), action, uuid4(), before=None, after={})
    pool.stamp(caller.company)
    got = page(caller)
    assert got["data"] == []
    assert got["next_cursor"] == page(caller, after="now")["next_cursor"], "what is left out is not read again"


def test_a_commit_that_may_be_lost_in_a_crash_is_not_told_nor_what_follows(caller, pool):
    made = caller.made(sku_code="A")
    brand = uuid4()
    with pool.company(caller.company) as conn:  # commits, and nobody has stamped it
        now = datetime.now(UTC)
        ledger.enter(conn, Actor(caller.company, PERSON, now), "brand.created", brand, before=None, after={})
    before, cursor = told(caller)
    assert [each["resource_id"] for each in before] == [made["id"]]
    assert page(caller, after=cursor)["data"] == []
    pool.stamp(caller.company)
    after, _ = told(caller, cursor)
    assert [(each["type"], each["resource_id"], each["sku_id"]) for each in after] == [
        ("brand.created", str(brand), None)
    ]
    assert after[0]["actor_type"] == "operator"
    assert "Ada" not in str(after), "who it was stands in the audit log"


def test_a_page_of_large_records_ends_earlier_and_loses_nothing(caller, monkeypatch):
    for name in ("Jar", "Can"):
        part = {"component_type": "body", "material_family": "glass", "polymer_or_grade": name}
        rows = [{"sku_code": f"L-{n}", "name": name, "components": [part]} for n in range(5)]
        caller.post("/skus/batch", {"skus": rows})
    whole = page(caller, include="records")
    monkeypatch.setattr(changes, "AT_ONCE", 2)
    monkeypatch.setattr(changes, "MOST_BYTES", 0)
    first = page(caller, include="records")
    assert (len(first["data"]), first["has_more"]) == (2, True)
    assert told(caller, include="records") == (whole["data"], whole["next_cursor"])


def test_the_commit_of_a_page_with_records_waits_for_the_disk(caller, pool):
    caller.made(sku_code="A")
    asked = "SELECT pg_current_xact_id_if_assigned() IS NOT NULL, current_setting('synchronous_commit')"
    with pool.company(caller.company) as conn:
        today = datetime.now(UTC).date()
        found = changes.page_with_records(conn, BEGINNING, 10, rulesets=Rulesets(), today=today)
        assert [each["record"]["sku_code"] for each in found["data"]] == ["A"]
        assert conn.execute(asked).fetchone() == (True, "on"), "a transaction with an id writes its commit and waits"


def test_a_cursor_of_another_ledger_is_refused(caller, join, database):
    other = join()
    other.made(sku_code="OTHER")
    caller.made(sku_code="OWN")
    foreign, own = told(other)[1], told(caller)[1]
    assert refusal(caller, after=foreign) == [("after", "unknown_cursor")]
    assert refusal(caller, after=foreign, include="records") == [("after", "unknown_cursor")]
    beyond = urlsafe_b64encode((10**6).to_bytes(8) + b"12345678").decode().rstrip("=")
    assert refusal(caller, after=beyond) == [("after", "unknown_cursor")]
    for text in ("", "1", own + "A", "?" * 22, "_" * 22, own[:-1] + "é", "NOW"):
        assert refusal(caller, after=text) == [("after", "invalid_format")], text
    assert refusal(caller, include="everything") == [("include", "not_in_vocabulary")]
    with psycopg.connect(database.owner_url) as owner:  # a restored backup, whose later writes were others
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(caller.company)])
        owner.execute("UPDATE audit_transactions SET hash = sha256(hash)")
    assert refusal(caller, after=own) == [("after", "unknown_cursor")]


@pytest.mark.parametrize("plan", ["starter", "growth", "professional", "enterprise"])
def test_every_plan_has_it_and_the_scope_read_suffices(join, plan):
    reader = join(plan=plan, scopes=("read",))
    assert page(reader)["data"] == []
    writer = join(plan=plan, scopes=("write",))
    assert writer.get("/changes").json()["error"] == "insufficient_scope"
