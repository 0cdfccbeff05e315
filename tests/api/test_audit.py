"""GET /audit-log as callers meet it: what their writes left there, filtered and paged, and who may look."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from schemas.actors import Actor, Origin
from schemas.audit import AuditLogResponse
from schemas.vocabularies import ACTIONS, ACTORS
from warehouse.audit import ledger

BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 25}


def page(caller, **query):
    answer = caller.get("/audit-log", params=query)
    assert answer.status_code == 200, answer.text
    AuditLogResponse.model_validate_json(answer.content, extra="forbid")
    return answer.json()


def entries(caller, **query):
    return page(caller, **query)["data"]


def test_an_entry_says_who_did_what_before_and_after_and_with_which_request(caller):
    made = caller.made(name="Bottle", weight_grams=12.5)
    written = caller.put(
        f"/skus/{made['id']}",
        {
            "sku_code": made["sku_code"],
            "name": "Flask",
            "markets": ["FR"],
            "components": [BODY],
            "pfas_intentional": False,
            "weight_grams": None,
        },
        headers={"X-Correlation-Id": "order-7", "User-Agent": "erp/1"},
    )
    assert written.status_code == 200
    updated, created = entries(caller)
    assert [entry["action"] for entry in (updated, created)] == ["sku.updated", "sku.created"]
    assert updated["actor"] == {"type": "api_key", "id": str(caller.client_id), "name": "erp"}
    assert (updated["resource_type"], updated["resource_id"]) == ("sku", made["id"])
    assert (updated["correlation_id"], updated["user_agent"], updated["reason"]) == ("order-7", "erp/1", None)
    assert updated["at"] == written.json()["data"]["updated_at"]
    detail = written.json()["data"]
    changed = {"name", "weight_grams", "weight_source", "markets", "components", "substances", "pfas_intentional"}
    assert set(updated["before"]) == set(updated["after"])
    assert changed <= set(updated["after"]) <= changed | {"recyclability_grade", "recyclability_score"}
    assert updated["before"] == {name: made[name] for name in updated["before"]}
    assert updated["after"] == {name: detail[name] for name in updated["after"]}
    assert (created["before"], created["after"]["name"], created["after"]["weight_grams"]) == (None, "Bottle", 12.5)
    assert "markets" not in created["after"]


def test_each_before_is_the_after_of_the_entry_before_it(caller):
    sku = caller.made(weight_grams=0)
    for weight in (1, 2, 3):
        caller.post("/skus", {"sku_code": sku["sku_code"], "name": "Bottle", "weight_grams": weight})
    weights = (
        [(entry["before"] or {}).get("weight_grams") for entry in entries(caller)],
        [entry["after"]["weight_grams"] for entry in entries(caller)],
    )
    assert weights == ([2, 1, 0, None], [3, 2, 1, 0])


def test_what_changes_nothing_leaves_no_entry(caller):
    sku = caller.made()
    caller.post("/skus", {"sku_code": sku["sku_code"], "name": "Bottle"})
    caller.post("/skus", {"sku_code": sku["sku_code"], "name": "Else"}, params={"dry_run": "true"})
    assert len(entries(caller)) == 1


def test_volumes_are_entered_under_their_own_name(caller):
    sku = caller.made()
    caller.put(f"/skus/{sku['id']}/volumes", [{"market": "FR", "year": 2026, "units_placed": 10}])
    newest = entries(caller)[0]
    assert (newest["action"], newest["resource_id"]) == ("sku_volumes.updated", sku["id"])
    assert newest["before"] == {"volumes": []}
    assert newest["after"]["volumes"][0]["units_placed"] == 10


def test_pages_are_newest_first_without_holes_wherever_they_lie(caller):
    caller.post("/skus/batch", {"skus": [{"sku_code": f"S{n:03d}", "name": "n"} for n in range(230)]})
    whole = page(caller, limit=500)
    assert whole["pagination"] == {"limit": 200, "offset": 0, "total": 230}
    seen = [e["id"] for offset in (0, 200) for e in entries(caller, limit=200, offset=offset)]
    assert seen == [str(number) for number in range(230, 0, -1)]
    assert [e["id"] for e in entries(caller, limit=1, offset=229)] == ["1"]
    assert page(caller, offset=230) == {"data": [], "pagination": {"limit": 50, "offset": 230, "total": 230}}
    filtered = [e["id"] for offset in (0, 200) for e in entries(caller, limit=200, offset=offset, actor="erp")]
    assert filtered == seen


def test_filters_leave_what_they_name_and_count_it(caller):
    sku = caller.made()
    caller.put(f"/skus/{sku['id']}/volumes", [{"market": "FR", "year": 2026, "units_placed": 10}])
    caller.post("/skus", {"sku_code": sku["sku_code"], "name": "Other"})

    def actions(**query):
        found = page(caller, **query)
        assert found["pagination"]["total"] == len(found["data"])
        return [entry["action"] for entry in found["data"]]

    every = ["sku.updated", "sku_volumes.updated", "sku.created"]
    assert actions(action="sku.updated") == ["sku.updated"]
    assert actions(resource_type="sku") == ["sku.updated", "sku.created"]
    assert actions(resource_type="sku", action="sku_volumes.updated") == []
    assert actions(action="brand.created") == []
    assert actions(actor="api_key") == actions(actor="erp") == actions(actor=str(caller.client_id)) == every
    assert actions(actor="er") == []
    assert actions(actor="erp", action="sku.created", since="2020-01-01") == ["sku.created"]


def test_days_are_whole_and_instants_exact(caller):
    caller.made()
    [entry] = entries(caller)
    at = datetime.fromisoformat(entry["at"])
    day, next_day = f"{at:%Y-%m-%d}", f"{at + timedelta(days=1):%Y-%m-%d}"
    assert len(entries(caller, since=day, until=day)) == 1
    assert entries(caller, since=next_day) == entries(caller, until=f"{at - timedelta(days=1):%Y-%m-%d}") == []
    assert len(entries(caller, since=entry["at"], until=entry["at"])) == 1
    assert entries(caller, since=(at + timedelta(microseconds=1)).isoformat()) == []
    assert entries(caller, until=(at - timedelta(microseconds=1)).isoformat()) == []
    east = at.astimezone(UTC).replace(tzinfo=None) + timedelta(hours=2)
    assert len(entries(caller, since=f"{east.isoformat()}+02:00")) == 1


@pytest.mark.parametrize("query", [{}, {"until": "2099-01-01"}, {"actor": "erp"}, {"action": "sku.created"}])
def test_behind_the_last_entry_is_an_empty_page(caller, query):
    """The greatest offset too: with the page's size it is no 32-bit number any more."""
    caller.post("/skus", {"sku_code": "OFF", "name": "Jar"})
    answer = caller.get("/audit-log", params=query | {"offset": 10**12, "limit": 200})
    assert (answer.status_code, answer.json()["data"]) == (200, [])
    assert answer.json()["pagination"]["offset"] == 2**31 - 1


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"since": "yesterday"}, "invalid_format"),
        ({"until": "2026-02-30"}, "invalid_format"),
        ({"since": "2026-1-1"}, "invalid_format"),
        ({"until": "2026-01-01T10:00:00"}, "invalid_format"),
        ({"action": "sku.exploded"}, "not_in_vocabulary"),
        ({"action": ""}, "not_in_vocabulary"),
        ({"resource_type": "SKU"}, "not_in_vocabulary"),
        ({"actor": "a\x00b"}, "invalid_format"),
        ({"limit": "many"}, "invalid_type"),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused(caller, query, code):
    answer = caller.get("/audit-log", params=query)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body")
    assert [(issue["field"], issue["code"]) for issue in answer.json()["details"]] == [(next(iter(query)), code)]


def test_a_key_that_may_only_write_does_not_read_it(join):
    assert join(scopes=("write",)).get("/audit-log").json()["error"] == "insufficient_scope"


def test_the_enumerations_are_published(http):
    schemas = http.get("/api/v1/openapi.json").json()["components"]["schemas"]
    assert schemas["AuditAction"]["enum"] == list(ACTIONS)
    assert schemas["AuditActorType"]["enum"] == list(ACTORS)
    assert schemas["AuditResourceType"]["enum"] == list(dict.fromkeys(a.partition(".")[0] for a in ACTIONS))


def test_an_entry_of_a_record_that_is_no_sku_shows_what_was_entered(caller, pool, clock):
    origin = Origin("operator", "ops", "operator", "c-1", reason="ticket 12")
    record = str(uuid4())
    with pool.company(caller.company) as conn:
        ledger.enter(
            conn,
            Actor(caller.company, origin, clock.now()),
            "company.updated",
            record,
            before={"plan": "growth"},
            after={"plan": "enterprise"},
        )
    [entry] = entries(caller)
    assert (entry["before"], entry["after"]) == ({"plan": "growth"}, {"plan": "enterprise"})
    assert (entry["reason"], entry["ip"], entry["resource_id"]) == ("ticket 12", None, record)
    assert entry["actor"] == {"type": "operator", "id": "ops", "name": "operator"}
