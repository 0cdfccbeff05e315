"""Declarations of Conformity: added by `pcds doc add`, listed over HTTP, newest first, with statuses of the day."""

import json
import os
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from schemas.conformity import DocListResponse
from tests import preloaded
from warehouse import conformity

AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


@pytest.fixture
def add(pool):
    def added(caller, *, at=AT, **values):
        given = dict.fromkeys(("sku_id", "reference", "supplier_name", "issued_on", "expires_on"))
        with pool.company(caller.company) as conn:
            return conformity.add(conn, caller.company, uuid4(), values={"status": "draft", **given, **values}, at=at)

    return added


@pytest.fixture
def pcds(caller, database, tmp_path):
    """`pcds doc add` for the caller's company, as an operator types it."""
    urls = {"DATABASE_URL": database.owner_url, "PCDS_APP_DATABASE_URL": database.app_url}
    places = urls | {"PCDS_DATA_DIR": str(tmp_path)}

    def run(*arguments):
        words = ("doc", "add", "--company", caller.company, *arguments, "--json")
        return preloaded.pcds(*words, environment=os.environ | places)

    return run


def _list(caller, **params):
    answer = caller.get("/docs", params=params)
    assert answer.status_code == 200, answer.text
    DocListResponse.model_validate(answer.json(), extra="forbid")
    return answer.json()


def test_every_field_is_there(caller, add):
    sku = caller.made()
    dates = {"issued_on": date(2026, 1, 1), "expires_on": date(2199, 12, 31)}
    add(caller, sku_id=sku["id"], reference="DOC-1", supplier_name="Cap works", status="valid", **dates)
    [doc] = _list(caller)["data"]
    assert doc == {
        "id": doc["id"],
        "sku_id": sku["id"],
        "reference": "DOC-1",
        "supplier_name": "Cap works",
        "status": "valid",
        "issued_on": "2026-01-01",
        "expires_on": "2199-12-31",
        "created_at": "2026-11-21T09:30:00Z",
        "updated_at": "2026-11-21T09:30:00Z",
    }


def test_the_list_is_newest_first_paged_and_the_callers_own(caller, join, add):
    for number in (2, 0, 1, 3):
        add(caller, reference=str(number), at=AT + timedelta(days=number))
    assert [doc["reference"] for doc in _list(caller)["data"]] == ["3", "2", "1", "0"]
    page = _list(caller, limit=2, offset=1)
    assert [doc["reference"] for doc in page["data"]] == ["2", "1"]
    assert page["pagination"] == {"limit": 2, "offset": 1, "total": 4}
    assert _list(join())["pagination"]["total"] == 0
    same = [str(add(caller, at=AT + timedelta(days=9))["id"]) for _ in range(5)]
    assert [doc["id"] for doc in _list(caller, limit=5)["data"]] == sorted(same)


def test_a_status_is_of_the_utc_day(caller, add):
    """The service's own day, two either side of it, so that midnight passes unharmed."""
    today = datetime.now(UTC).date()
    ended, ends = today - timedelta(days=2), today + timedelta(days=2)
    for status in ("draft", "pending", "valid", "expired", "rejected"):
        add(caller, reference=f"{status} ended", status=status, expires_on=ended)
        add(caller, reference=f"{status} ends", status=status, expires_on=ends)
        add(caller, reference=f"{status} endless", status=status)
    read = {doc["reference"]: doc["status"] for doc in _list(caller)["data"]}
    assert read.pop("valid ended") == "expired"
    assert all(reference.startswith(status) for reference, status in read.items())


def test_the_last_day_itself_is_valid(company, pool, clock):
    values = dict.fromkeys(("sku_id", "reference", "supplier_name", "issued_on"))
    with pool.company(company) as conn:
        for days, status in ((-1, "expired"), (0, "valid"), (1, "valid")):
            day = clock.today() + timedelta(days=days)
            added = conformity.add(
                conn, company, uuid4(), values={**values, "status": "valid", "expires_on": day}, at=clock.now()
            )
            assert added["status"] == status


def test_the_skus_coverage_follows_its_docs(caller, add):
    today = datetime.now(UTC).date()
    sku = caller.made()

    def coverage():
        shown = caller.get(f"/skus/{sku['id']}").json()["data"]
        [listed] = caller.get("/skus").json()["data"]
        assert shown["doc_status"] == shown["compliance"]["doc_status"] == listed["doc_status"]
        return shown["doc_status"]

    assert coverage() == "missing"
    add(caller, sku_id=sku["id"], status="rejected")
    assert coverage() == "missing"
    add(caller, sku_id=sku["id"], status="pending")
    assert coverage() == "draft"
    add(caller, sku_id=sku["id"], status="valid", expires_on=today - timedelta(days=2))
    assert coverage() == "expired"
    add(caller, sku_id=sku["id"], status="valid", expires_on=today + timedelta(days=2))
    assert coverage() == "valid"


def test_an_operator_adds_a_doc_of_a_sku(caller, database, pcds):
    sku = caller.made(sku_code="B-1")
    done = pcds(
        "--sku",
        " B-1 ",
        "--reference",
        "DOC-1",
        "--status",
        "valid",
        "--issued-on",
        "2026-01-01",
        "--expires-on",
        "2199-12-31",
        "--supplier-name",
        "Cap works",
    )
    assert done.returncode == 0, done.stderr
    doc = json.loads(done.stdout)
    assert _list(caller)["data"] == [doc]
    assert (doc["sku_id"], doc["status"], doc["expires_on"]) == (sku["id"], "valid", "2199-12-31")
    assert caller.get(f"/skus/{sku['id']}").json()["data"]["doc_status"] == "valid"
    with psycopg.connect(database.owner_url) as owner:
        [(after, actor)] = owner.execute(
            "SELECT after, actor_type FROM audit_entries JOIN audit_transactions AS signed ON signed.id = "
            "transaction_id WHERE audit_entries.company_id = %s AND action = 'doc.created' AND resource_id = %s",
            [caller.company, doc["id"]],
        ).fetchall()
    assert actor == "operator"
    assert after == {
        name: doc[name] for name in ("sku_id", "reference", "supplier_name", "status", "issued_on", "expires_on")
    }


@pytest.mark.parametrize(
    "refusal",
    [
        (1, {"--sku": "OTHERS"}, "The company has no SKU OTHERS."),
        (1, {"--sku": "UNKNOWN"}, "The company has no SKU UNKNOWN."),
        (1, {"--reference": " "}, "A DoC needs a reference that is not empty."),
        (1, {"--issued-on": "2026-02-01", "--expires-on": "2026-01-31"}, "cannot expire before that day"),
        (2, {"--status": "signed"}, "signed is not one of: draft, pending, valid, expired, rejected."),
        (2, {"--expires-on": "31/12/2026"}, "31/12/2026 is no date"),
    ],
)
def test_a_doc_that_cannot_be_is_refused_in_one_sentence(caller, join, pcds, refusal):
    status, change, said = refusal
    caller.made(sku_code="B-1")
    join().made(sku_code="OTHERS")
    asked = {"--sku": "B-1", "--reference": "DOC-1", "--status": "draft", **change}
    done = pcds(*[part for option in asked.items() for part in option])
    assert (done.returncode, done.stdout) == (status, "")
    assert said in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
    assert _list(caller)["pagination"]["total"] == 0
