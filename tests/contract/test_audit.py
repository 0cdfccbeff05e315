"""The audit log: who did what to which record, in pages, by filters, provably whole."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.contract.outside import codes, good, refused, until
from tests.contract.samples import PDF
from tests.contract.shapes import faults

MONTHS_13 = 396 * 86_400
ACTORS = {"api_key", "user", "connection", "supplier", "import", "operator", "system"}


def entries(caller, **filters) -> list[dict]:
    return caller.data("/audit-log", limit=200, **filters)


@pytest.fixture
def busy(service):
    return busy_at(service)


def busy_at(server):
    """A company in which a key, an import and the operator have done things."""
    caller = server.joined(per_minute=6000)
    sku = caller.made(sku_code="A", name="One", components=[{"component_type": "body", "material_family": "glass"}])
    caller.made(sku_code="A", name="Two")
    good(caller.put(f"/skus/{sku['id']}/volumes", [{"market": "FR", "year": 2026, "units_placed": 5}]))
    good(
        caller.request(
            "POST",
            f"/skus/{sku['id']}/files",
            data={"type": "packaging_photo"},
            files={"file": ("a.pdf", PDF, "application/pdf")},
        )
    )
    caller.imported(b"sku_code;name\nA;Three\nB;New\n", "list.csv")
    caller.added("doc", sku="A", reference="R", status="valid")
    return caller


@pytest.mark.promise("AUD-02", "AUD-06", "AUD-08", "AUD-09", "CNV-11")
def test_an_entry_says_who_did_what_to_which_record(busy):
    page = good(busy.get("/audit-log"))
    found = page["data"]
    assert [fault for entry in found for fault in faults("AuditEntry", entry)] == []
    assert page["pagination"]["total"] == len(found) == len({entry["id"] for entry in found})
    assert [entry["at"] for entry in found] == sorted((entry["at"] for entry in found), reverse=True)
    assert {
        "api_key.issued",
        "sku.created",
        "sku.updated",
        "sku_volumes.updated",
        "technical_file.uploaded",
        "import.submitted",
        "import.completed",
        "doc.created",
    } <= {entry["action"] for entry in found}
    for entry in found:
        assert entry["action"].split(".")[0] == entry["resource_type"]
        assert {"type", "id", "name"} <= set(entry["actor"])
        assert entry["actor"]["type"] in ACTORS
        by_key = entry["actor"]["type"] == "api_key"
        assert not by_key or (entry["actor"]["id"], entry["actor"]["name"]) == (busy.client_id, "erp")
        assert not by_key or (entry["ip"], bool(entry["user_agent"])) == (busy.address, True)
    who = {entry["action"]: entry["actor"]["type"] for entry in found if entry["resource_id"] != "B"}
    assert (who["import.submitted"], who["doc.created"], who["api_key.issued"]) == ("api_key", "operator", "operator")


@pytest.mark.promise("AUD-06")
def test_every_action_that_occurs_is_in_the_published_enumeration(busy):
    document = str(busy.get("/openapi.json").json())
    for entry in entries(busy):
        assert f"'{entry['action']}'" in document


@pytest.mark.promise("AUD-07", "AUD-02")
def test_before_and_after_are_the_fields_that_changed(busy):
    sku = busy.data("/skus", sku_code="A")[0]
    own = [entry for entry in entries(busy) if entry["resource_id"] == sku["id"]][::-1]
    created, renamed, volumes, imported = own[0], *own[1:4]
    assert created["action"] == "sku.created"
    assert created["after"]["name"] == "One"
    changed = {"updated_at", "name"}
    assert (renamed["before"]["name"], renamed["after"]["name"]) == ("One", "Two")
    assert set(renamed["before"]) == set(renamed["after"]) <= changed
    assert (volumes["action"], set(volumes["after"]) - changed) == ("sku_volumes.updated", {"volumes"})
    assert (imported["actor"]["type"], imported["actor"]["name"]) == ("import", "list.csv")
    assert (imported["before"]["name"], imported["after"]["name"]) == ("Two", "Three")


@pytest.mark.promise("AUD-07", "AUD-08", "CNV-06")
def test_an_import_enters_each_sku_under_the_correlation_id_of_its_request(caller):
    caller.made(sku_code="B", name="Same")
    sent = caller.request(
        "POST",
        "/imports?filename=list.csv",
        headers={"X-Correlation-Id": "order-66"},
        content=b"sku_code;name\nA;New\nB;Same\nC;New\n",
    )
    report = caller.finished(good(sent)["poll_url"])
    of_it = [entry for entry in entries(caller) if entry["correlation_id"] == "order-66"]
    assert sorted(entry["action"] for entry in of_it) == [
        "import.completed",
        "import.submitted",
        "sku.created",
        "sku.created",
    ]
    actors = {entry["action"]: entry["actor"] for entry in of_it}
    assert actors["sku.created"] == {"type": "import", "id": report["id"], "name": "list.csv"}
    assert actors["import.submitted"]["type"] == "api_key"


@pytest.mark.promise("AUD-03", "AUD-12", "ERR-15")
def test_filters_keep_what_they_name(busy):
    everything = entries(busy)
    for filters, keeps in (
        ({"action": "sku.updated"}, lambda e: e["action"] == "sku.updated"),
        ({"resource_type": "sku"}, lambda e: e["resource_type"] == "sku"),
        ({"actor": "operator"}, lambda e: e["actor"]["type"] == "operator"),
        ({"actor": busy.client_id}, lambda e: e["actor"]["id"] == busy.client_id),
        ({"actor": "list.csv"}, lambda e: e["actor"]["name"] == "list.csv"),
        ({"actor": "nobody"}, lambda _: False),
        (
            {"action": "sku.updated", "actor": "import"},
            lambda e: e["action"] == "sku.updated" and e["actor"]["type"] == "import",
        ),
    ):
        page = good(busy.get("/audit-log", params={**filters, "limit": 200}))
        expected = [entry for entry in everything if keeps(entry)]
        assert page["data"] == expected, filters
        assert page["pagination"]["total"] == len(expected)
        assert expected or filters == {"actor": "nobody"}
    today = datetime.now(UTC).date()
    day = timedelta(days=1)
    assert entries(busy, since=str(today), until=str(today)) == everything
    assert entries(busy, until=str(today - day)) == entries(busy, since=str(today + day)) == []
    middle = everything[len(everything) // 2]["at"]
    assert entries(busy, since=middle) == [entry for entry in everything if entry["at"] >= middle]
    for wrong in ({"since": "soon"}, {"until": "2026-13-01"}, {"action": "sku.stolen"}):
        assert codes(busy.get("/audit-log", params=wrong))


@pytest.mark.promise("AUD-05")
def test_pages_join_without_a_gap_or_a_repeat(busy):
    everything = entries(busy)
    paged = [
        entry for offset in range(0, len(everything), 3) for entry in busy.data("/audit-log", limit=3, offset=offset)
    ]
    assert paged == everything


@pytest.mark.promise("AUD-01", "ERR-08")
@pytest.mark.parametrize("plan", ["starter", "growth", "professional"])
def test_other_plans_are_told_so_without_figures(service, plan):
    [issue] = refused(service.joined(plan).get("/audit-log"), 403, "plan_limit_reached")
    assert not {"limit", "held", "new"} & set(issue)


@pytest.mark.promise("AUD-01", "SVC-02")
def test_enterprise_sees_its_own_entries_alone(caller, other):
    sku = caller.made()
    assert sku["id"] in {entry["resource_id"] for entry in entries(caller)}
    assert sku["id"] not in str(other.get("/audit-log").json())


@pytest.mark.promise("AUD-10", "AUD-09")
def test_the_chain_is_proved_by_the_command(busy, place):
    proof = place.pcds("audit", "verify", "--company", busy.company)
    assert proof == {"entries": len(entries(busy)), "ok": True, "first_bad": None}


@pytest.mark.processes
@pytest.mark.promise("AUD-04", "AUD-10", "TIM-01")
def test_a_year_later_addresses_are_gone_and_what_was_done_stays(apart):
    """The same deployment thirteen months on: what has fallen due is done without a hand."""
    with apart.serving(imports=True) as now:
        busy = busy_at(now)
        before = entries(busy)
    assert any(entry["ip"] for entry in before)
    with apart.shifted(PCDS_TEST_CLOCK_OFFSET=MONTHS_13).serving(imports=True) as later:
        then = busy.at(later)
        assert later.send("GET", "/readyz").json()["clock_offset_seconds"] == MONTHS_13
        until(lambda: not any(entry["ip"] or entry["user_agent"] for entry in entries(then)), later.said, pause=0.5)
        after = entries(then)
    forgotten = {"ip": None, "user_agent": None}
    assert after == [{**entry, **forgotten} for entry in before]
    assert apart.pcds("audit", "verify", "--company", busy.company)["ok"] is True
