"""What `updated_since` and `as_of` say of one write at a time; many at once are `tests.journeys.test_changes`."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from uuid import UUID, uuid4

import psycopg
import pytest

from schemas.actors import Actor, Origin
from tests.waiting import wait_until
from warehouse import conformity
from warehouse.audit import ledger
from warehouse.audit.visible import STAMP

PERSON = Origin("operator", None, "operator", "correlation")


def listed(caller, **params):
    page = caller.get("/skus", params=params).json()
    return [item["sku_code"] for item in page["data"]], page["as_of"]


def covered(pool, caller, sku, at, **days):
    """One more valid declaration of a SKU, as the operator's command adds it."""
    values = {
        "sku_id": UUID(sku["id"]),
        "reference": "R",
        "supplier_name": None,
        "status": "valid",
        "issued_on": None,
        "expires_on": None,
        **days,
    }
    doc_id = uuid4()
    with pool.company(caller.company) as conn:
        conformity.add(conn, caller.company, doc_id, values=values, at=at)
        ledger.enter(conn, Actor(caller.company, PERSON, at), "doc.created", doc_id, before=None, after={})
    pool.stamp(caller.company)


def test_a_write_that_begins_before_a_poll_and_ends_after_it_is_told_by_the_next(caller, database):
    known = caller.made(sku_code="KNOWN")
    with ThreadPoolExecutor(1) as thread, psycopg.connect(database.owner_url) as other:
        other.execute("SELECT set_config('app.company_id', %s, true)", [str(caller.company)])
        other.execute("SELECT FROM company_counters WHERE company_id = %s FOR UPDATE", [caller.company])
        writing = thread.submit(caller.made, sku_code="LATE")
        blocked = "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
        with psycopg.connect(database.owner_url, autocommit=True) as looking:
            wait_until(lambda: looking.execute(blocked, [other.info.backend_pid]).fetchone() != (0,))
        own_instant = datetime.now(UTC)
        codes, as_of = listed(caller)
        assert codes == ["KNOWN"]
        other.rollback()
        late = writing.result()
    assert datetime.fromisoformat(late["updated_at"]) < own_instant
    for since in (as_of, own_instant.isoformat()):
        assert listed(caller, updated_since=since)[0] == ["LATE"], since
    codes, as_of = listed(caller)
    assert codes == ["LATE", "KNOWN"]
    assert listed(caller, updated_since=as_of)[0] == []
    assert listed(caller, updated_since=datetime.now(UTC).isoformat())[0] == []
    assert known["updated_at"] < as_of <= datetime.now(UTC).isoformat().replace("+00:00", "Z")


def test_a_write_whose_process_died_before_it_said_so_is_told_until_somebody_sees_it(caller, pool):
    doc_id, sku = uuid4(), caller.made(sku_code="S")
    as_of = listed(caller)[1]
    with pool.company(caller.company) as conn:  # commits, and says nothing
        values = {
            "sku_id": UUID(sku["id"]),
            "reference": "R",
            "supplier_name": None,
            "status": "valid",
            "issued_on": None,
            "expires_on": None,
        }
        conformity.add(conn, caller.company, doc_id, values=values, at=datetime.now(UTC))
        ledger.enter(
            conn, Actor(caller.company, PERSON, datetime.now(UTC)), "doc.created", doc_id, before=None, after={}
        )
    for since in (as_of, datetime.now(UTC).isoformat()):
        assert listed(caller, updated_since=since)[0] == ["S"]
    pool.stamp()
    assert listed(caller, updated_since=as_of)[0] == ["S"]
    assert listed(caller, updated_since=datetime.now(UTC).isoformat())[0] == []


def test_what_is_stamped_later_has_the_later_stamp_though_the_clock_was_set_back(caller, pool):
    caller.made(sku_code="BEFORE")
    as_of = listed(caller)[1]
    with pool.company(caller.company) as conn:
        ledger.enter(
            conn,
            Actor(caller.company, PERSON, datetime.now(UTC)),
            "company.updated",
            caller.company,
            before=None,
            after={},
        )
    with pool.company(caller.company) as conn:
        conn.execute(STAMP, (timedelta(days=-1),))
        stamps = conn.execute("SELECT visible_at FROM audit_transactions ORDER BY number DESC LIMIT 2").fetchall()
    assert stamps[0] > stamps[1]
    assert stamps[0][0] >= datetime.fromisoformat(as_of)


def test_an_unchanged_write_and_a_dry_run_are_no_update(caller):
    sku = caller.made(sku_code="SAME")
    as_of = listed(caller)[1]
    body = {"sku_code": "SAME", "name": "Bottle"}
    assert caller.post("/skus", body).json()["data"]["updated_at"] == sku["updated_at"]
    caller.post("/skus", body | {"name": "Other"}, params={"dry_run": "true"})
    assert listed(caller, updated_since=as_of)[0] == []


def test_a_declaration_added_updates_its_sku(caller, pool):
    covered_sku, _ = caller.made(sku_code="COVERED"), caller.made(sku_code="OTHER")
    as_of, at = listed(caller)[1], datetime.now(UTC)
    covered(pool, caller, covered_sku, at)
    [item] = caller.get("/skus", params={"updated_since": as_of}).json()["data"]
    assert (item["sku_code"], item["doc_status"]) == ("COVERED", "valid")
    assert datetime.fromisoformat(item["updated_at"]) == at
    detail = caller.get(f"/skus/{covered_sku['id']}").json()["data"]
    again = caller.post("/skus", {"sku_code": "COVERED", "name": "Bottle"}).json()
    assert again["outcome"] == "unchanged"
    assert detail["updated_at"] == again["data"]["updated_at"] == item["updated_at"]


@pytest.mark.parametrize(
    ("days", "status"),
    [
        ({"expires_on": date(2026, 11, 21)}, "expired"),
        ({"issued_on": date(2026, 11, 22)}, "valid"),
    ],
)
def test_a_day_that_ends_or_begins_a_declaration_is_an_update_at_its_midnight(stopped, pool, clock, days, status):
    covered(pool, stopped, stopped.made(sku_code="COVERED"), clock.now(), **days)
    before, as_of = stopped.get("/skus").json()["data"][0], listed(stopped)[1]
    assert listed(stopped, updated_since=as_of)[0] == []
    clock.instant = datetime(2026, 11, 22, 0, 0, 5, tzinfo=UTC)
    assert before["doc_status"] != status
    for since in (as_of, "2026-11-21T23:59:59.999999Z", "2026-11-22T00:00:00Z"):
        [item] = stopped.get("/skus", params={"updated_since": since}).json()["data"]
        assert (item["doc_status"], item["updated_at"]) == (status, "2026-11-22T00:00:00Z")
    assert listed(stopped, updated_since="2026-11-22T00:00:00.000001Z")[0] == []
    clock.advance(timedelta(hours=2))
    assert listed(stopped, updated_since=listed(stopped)[1])[0] == []
