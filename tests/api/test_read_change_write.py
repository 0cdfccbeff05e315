"""Reading, changing, writing back; PATCH; renaming, and what becomes of a former code."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.api.conftest import Caller
from tests.api.people import hidden, signed_in
from tests.api.portfolios import counted, run, sent, service_behind
from tests.contract.samples import VALUES, VOCABULARIES
from tests.drawing import examples
from warehouse.figures import snapshots

PART = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 24}
UNITS = [{"market": "FR", "year": 2026, "units_placed": 1000}]


def patched(caller: Caller, sku: dict, body: object, **more: Any) -> Any:
    return caller.request("PATCH", f"/skus/{sku['id']}", json=body, **more)


def data(answer: Any) -> dict:
    assert answer.status_code in (200, 201), answer.text
    return answer.json()["data"]


def faults(answer: Any) -> dict[str, str]:
    return {issue["field"]: issue["code"] for issue in answer.json()["details"]}


entries = st.none() | st.sampled_from(
    [{"status": "absent"}, {"status": "below_limit", "source": "test_report"}, {"status": "unknown", "evidence": "e"}]
)
NOT_DRAWN = ("components", "heavy_metals_sum_ppm", "pfas_intentional", "svhc_declared", "bpa_present")
records = st.fixed_dictionaries(
    {},
    optional={
        **{name: st.none() | st.just(value) for name, value in VALUES.items() if name not in NOT_DRAWN},
        "heavy_metals_sum_ppm": st.sampled_from([None, 0, 12.5, "<50", "<100"]),
        "substances": st.fixed_dictionaries({}, optional=dict.fromkeys(("pfas", "svhc", "bpa"), entries)),
        "components": st.lists(
            st.fixed_dictionaries(
                {"component_type": st.sampled_from(["body", "cap", "label"]), "material_family": st.just("plastic")},
                optional={
                    "weight_g": st.floats(0, 50, allow_nan=False),
                    "separable": st.none() | st.booleans(),
                    "substances": st.just({"pfas": {"status": "absent"}}),
                    "position_in_sku": st.integers(0, 3),
                },
            ),
            max_size=3,
        ),
    },
)


@examples(30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(record=records, role=st.sampled_from(VOCABULARIES["ppwr_role"]), lang=st.sampled_from(["en", "fr", "de"]))
def test_what_a_get_answers_is_written_back_unchanged_and_a_change_changes_that_alone(caller, record, role, lang):
    sku = caller.made(**record)
    caller.put(f"/skus/{sku['id']}/volumes", UNITS)
    read = caller.get(f"/skus/{sku['id']}", headers={"Accept-Language": lang}).json()["data"]
    for method in ("PUT", "PATCH"):
        answer = caller.request(method, f"/skus/{sku['id']}", json=read)
        assert answer.status_code == 200, answer.text
        assert (answer.json()["outcome"], answer.json()["version"]) == ("unchanged", read["version"])
    after = data(caller.put(f"/skus/{sku['id']}", read | {"ppwr_role": role, "name": "Other"}))
    differs = {name for name in read if after[name] != read[name]} - {"updated_at", "version", "compliance"}
    assert differs <= {"ppwr_role", "name"}
    assert (after["ppwr_role"], after["name"]) == (role, "Other")


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_read_only_member_that_differs_is_unknown_as_before(caller, method):
    sku = caller.made(components=[PART])
    caller.put(f"/skus/{sku['id']}/volumes", UNITS)
    read = data(caller.get(f"/skus/{sku['id']}"))
    others = {"volumes": [], "version": 1, "recyclability_grade": "Z", "id": None, "doc_status": "valid"}
    for name, value in (others | {"compliance": {}, "flag_facts": None}).items():
        answer = caller.request(method, f"/skus/{sku['id']}", json=read | {name: value, "name": "Other"})
        assert answer.status_code == 400
        assert faults(answer) == {name: "unknown_field"}
    assert data(caller.get(f"/skus/{sku['id']}")) == read
    assert faults(caller.post("/skus", read))["id"] == "unknown_field", "POST is as it was"


def test_a_changed_substance_beside_its_stored_legacy_form_is_no_contradiction(caller):
    sku = caller.made(substances={"pfas": {"status": "absent"}, "bpa": {"status": "above_limit"}})
    read = data(caller.get(f"/skus/{sku['id']}"))
    read["substances"]["pfas"] = {"status": "above_limit"}
    written = data(caller.put(f"/skus/{sku['id']}", read))
    assert (written["pfas_intentional"], written["bpa_present"]) == (True, True)
    read = data(caller.get(f"/skus/{sku['id']}")) | {"bpa_present": False}
    assert data(caller.put(f"/skus/{sku['id']}", read))["substances"]["bpa"]["status"] == "absent"


def test_an_archived_sku_is_written_back_too(caller):
    sku = caller.made(components=[PART])
    caller.post(f"/skus/{sku['id']}/archive", {})
    read = data(caller.get(f"/skus/{sku['id']}"))
    assert read["archived_at"]
    back = caller.put(f"/skus/{sku['id']}", read).json()
    assert (back["outcome"], back["warnings"][0]["code"]) == ("updated", "returned_from_archive")


def test_a_patch_needs_no_name_null_clears_and_a_substance_is_merged(caller):
    sku = caller.made(description="Still", substances={"pfas": {"status": "absent", "source": "test_report"}})
    merge = {"Content-Type": "application/merge-patch+json"}
    body = {"description": None, "substances": {"pfas": {"evidence": "E-1"}}}
    after = data(patched(caller, sku, body, headers=merge))
    pfas = {"status": "absent", "source": "test_report", "evidence": "E-1", "value": None, "unit": None, "basis": None}
    assert (after["description"], after["substances"]["pfas"], after["name"]) == (None, pfas, sku["name"])
    assert data(patched(caller, sku, {"substances": {"pfas": None}}))["substances"]["pfas"] is None
    assert patched(caller, sku, {}).json()["outcome"] == "unchanged"
    assert faults(patched(caller, sku, {"name": None})) == {"name": "not_null"}
    assert faults(patched(caller, sku, {"nmae": "x"})) == {"nmae": "unknown_field"}
    assert patched(caller, sku, []).status_code == 400
    assert patched(caller, {"id": str(uuid4())}, {}).status_code == 404


def test_a_patch_has_versions_keys_and_dry_runs_as_a_put_has(caller):
    sku = caller.made()
    assert patched(caller, sku, {"name": "B"}, headers={"If-Match": '"9"'}).status_code == 412
    dry = patched(caller, sku, {"name": "B"}, params={"dry_run": "true"}).json()
    assert (dry["dry_run"], dry["data"]["name"]) == (True, "B")
    first = patched(caller, sku, {"name": "B"}, headers={"If-Match": '"1"', "Idempotency-Key": "k"})
    assert first.headers["ETag"] == '"2"'
    again = patched(caller, sku, {"name": "B"}, headers={"If-Match": '"1"', "Idempotency-Key": "k"})
    assert (again.headers["Idempotent-Replayed"], again.json()) == ("true", first.json())


def test_a_row_of_a_held_code_needs_no_name_and_a_new_one_does(caller):
    sku = caller.made(sku_code="H-1", name="Jar")
    rows = [{"sku_code": "H-1", "material": "glass"}, {"sku_code": "H-2", "material": "glass"}, {"material": "glass"}]
    held, new, codeless = caller.post("/skus/batch", {"skus": rows}).json()["results"]
    assert (held["outcome"], held["id"]) == ("updated", sku["id"])
    assert [(issue["field"], issue["code"]) for issue in new["errors"]] == [("name", "required")]
    assert [(issue["field"], issue["code"]) for issue in codeless["errors"]] == [("sku_code", "required")]
    assert data(caller.get(f"/skus/{sku['id']}"))["name"] == "Jar"
    assert faults(caller.post("/skus", {"sku_code": "H-1"})) == {"name": "required"}


def test_a_renamed_sku_stays_one_and_its_former_code_makes_no_second(caller):
    sku, other = caller.made(sku_code="OLD", components=[PART]), caller.made(sku_code="HELD")
    dry = patched(caller, sku, {"sku_code": "NEW"}, params={"dry_run": "true"})
    assert (dry.status_code, dry.json()["data"]["sku_code"]) == (200, "NEW")
    assert data(caller.get(f"/skus/{sku['id']}"))["sku_code"] == "OLD"
    written = patched(caller, sku, {"sku_code": " NEW ", "name": "Renamed"}).json()
    assert (written["outcome"], written["version"], written["data"]["sku_code"]) == ("updated", 2, "NEW")
    assert written["data"]["components"] == sku["components"]
    assert [item["id"] for item in caller.get("/skus", params={"sku_code": "NEW"}).json()["data"]] == [sku["id"]]
    entry = caller.get("/audit-log").json()["data"][0]
    assert (entry["before"]["sku_code"], entry["after"]["sku_code"]) == ("OLD", "NEW")

    tonight = caller.post("/skus", {"sku_code": "OLD", "name": "Bottle"})
    assert (tonight.status_code, tonight.json()["error"]) == (409, "sku_code_former")
    assert "NEW" in tonight.json()["details"][0]["message"]
    rows = [{"sku_code": code, "name": "B"} for code in ("OLD", "NEW", "FRESH")]
    results = caller.post("/skus/batch", {"skus": rows}).json()["results"]
    assert [row["outcome"] for row in results] == ["rejected", "updated", "created"]
    assert results[0]["errors"][0]["code"] == "sku_code_former"
    for code in ("HELD", "FRESH"):
        assert patched(caller, sku, {"sku_code": code}).json()["error"] == "sku_code_taken"
    taken = patched(caller, other, {"sku_code": "OLD"})
    assert (taken.status_code, taken.json()["error"]) == (409, "sku_code_former")
    answer = caller.put(f"/skus/{sku['id']}", {"sku_code": "ELSE", "name": "B"})
    assert faults(answer) == {"sku_code": "sku_code_mismatch"}
    assert caller.get("/skus").json()["pagination"]["total"] == 3


def test_a_sku_can_have_its_former_code_back_and_an_archived_one_keeps_its_code(caller):
    sku = caller.made(sku_code="A")
    assert data(patched(caller, sku, {"sku_code": "B"}))["sku_code"] == "B"
    assert data(patched(caller, sku, {"sku_code": "A"}))["sku_code"] == "A"
    assert caller.post("/skus", {"sku_code": "B", "name": "x"}).json()["error"] == "sku_code_former"
    caller.post(f"/skus/{sku['id']}/archive", {})
    assert faults(patched(caller, sku, {"sku_code": "C"})) == {"sku_code": "sku_archived"}
    assert patched(caller, caller.made(sku_code="D"), {"sku_code": "A"}).json()["error"] == "sku_code_taken"
    former = caller.post("/skus", {"sku_code": "B", "name": "x"})
    assert former.json()["error"] == "sku_code_former", "archived, and still the same thing"
    assert data(patched(caller, sku, {"name": "Back"}))["sku_code"] == "A"


def test_a_freed_code_names_a_new_sku(caller):
    sku = caller.made(sku_code="A")
    patched(caller, sku, {"sku_code": "B"})
    patched(caller, sku, {"sku_code": "C"})
    address, body = f"/skus/{sku['id']}/free-code", {"sku_code": "A", "reason": "Used by the factory again"}
    dry = caller.post(address, body, params={"dry_run": "true"}).json()
    assert (dry["outcome"], dry["data"]["former_codes"]) == ("updated", ["B"])
    assert caller.post("/skus", {"sku_code": "A", "name": "x"}).status_code == 409
    assert caller.post(address, body).json()["data"] == {"id": sku["id"], "sku_code": "C", "former_codes": ["B"]}
    assert caller.post(address, body).json()["outcome"] == "unchanged"
    assert caller.post("/skus", {"sku_code": "A", "name": "x"}).status_code == 201
    entry = next(e for e in caller.get("/audit-log").json()["data"] if e["action"] == "sku.code_freed")
    assert (entry["before"], entry["reason"]) == ({"former_codes": ["A", "B"]}, body["reason"])
    assert caller.post(f"/skus/{uuid4()}/free-code", body).status_code == 404


def test_a_former_code_of_another_company_means_nothing(caller, join):
    patched(caller, caller.made(sku_code="A"), {"sku_code": "B"})
    assert join().post("/skus", {"sku_code": "A", "name": "x"}).status_code == 201


def test_an_imported_row_of_a_former_code_is_rejected_and_the_others_are_written(caller):
    sku = caller.made(sku_code="A")
    patched(caller, sku, {"sku_code": "B"})
    rests = caller.made(sku_code="R")
    caller.post(f"/skus/{rests['id']}/archive", {})
    import_id = sent(caller, "sku_code,name,material\nA,Again,glass\nB,Jar,glass\nC,New,paper\nR,Back,wood\n")
    run(caller, import_id)
    report = caller.get(f"/imports/{import_id}").json()
    assert report["counts"] == {"total": 4, "created": 1, "updated": 2, "unchanged": 0, "rejected": 1}
    [fault] = report["errors"]
    assert (fault["line"], fault["field"], fault["code"]) == (2, "sku_code", "sku_code_former")
    assert {item["sku_code"] for item in caller.get("/skus").json()["data"]} == {"B", "C", "R"}


def test_a_file_with_a_former_code_is_accepted_where_the_plan_is_full(join, pool):
    caller = join(plan="starter")
    patched(caller, caller.made(sku_code="A"), {"sku_code": "B"})
    with pool.company(caller.company) as conn:
        conn.execute("UPDATE company_counters SET skus = (SELECT sku_limit FROM plans WHERE plan = 'starter')")
    import_id = sent(caller, "sku_code,name\nA,Again\nB,Jar\n")
    run(caller, import_id)
    report = caller.get(f"/imports/{import_id}").json()
    assert (report["counts"]["updated"], report["errors"][0]["code"]) == (1, "sku_code_former")
    new = caller.request("POST", "/imports", params={"filename": "a.csv"}, content=b"sku_code,name\nC,New\n")
    assert new.json()["error"] == "plan_limit_reached"


def test_a_snapshot_of_a_renamed_sku_is_that_of_a_company_that_always_called_it_so(caller):
    sku, _ = caller.made(sku_code="A", components=[PART]), caller.made(sku_code="M")
    caller.put(f"/skus/{sku['id']}/volumes", UNITS)
    counted(caller)
    patched(caller, sku, {"sku_code": "Z"})
    counted(caller)
    snapshot = snapshots.current(service_behind(caller).settings.data_dir, caller.company)
    codes = [set(pl.read_parquet(snapshot.files(table))["sku_code"]) for table in snapshots.TABLES]
    assert codes == [{"M", "Z"}, {"Z"}, {"Z"}]


def test_the_feed_tells_a_rename_as_a_change_of_the_one_sku(caller):
    sku = caller.made(sku_code="A")
    cursor = caller.get("/changes", params={"after": "now"}).json()["next_cursor"]
    patched(caller, sku, {"sku_code": "B"})
    [change] = caller.get("/changes", params={"after": cursor, "include": "records"}).json()["data"]
    told = (change["type"], change["sku_id"], change["sku_code"], change["record"]["sku_code"])
    assert told == ("sku.updated", sku["id"], "B", "B")


def test_of_a_rename_and_upserts_of_both_codes_at_once_one_sku_comes(caller):
    for turn in range(5):
        old, new = f"A{turn}", f"B{turn}"
        sku = caller.made(sku_code=old)
        with ThreadPoolExecutor(3) as threads:
            renamed = threads.submit(patched, caller, sku, {"sku_code": new})
            upserts = [threads.submit(caller.post, "/skus", {"sku_code": code, "name": "X"}) for code in (old, new)]
        assert renamed.result().status_code in (200, 409)
        held = caller.get("/skus", params={"sku_code": [old, new]}).json()["data"]
        statuses = [upsert.result().status_code for upsert in upserts]
        if renamed.result().status_code == 200:
            assert [item["id"] for item in held] == [sku["id"]]
            assert statuses[0] in (200, 409)
        else:
            assert ({item["sku_code"] for item in held}, statuses) == ({old, new}, [200, 201])


@pytest.mark.parametrize(("lang", "words"), [("en", "Former codes"), ("fr", "Anciens codes"), ("de", "Frühere Codes")])
def test_a_person_frees_a_code_on_the_page_of_the_item(caller, pool, lang, words):
    browser = signed_in(caller, pool, "administrator")
    sku = caller.made(sku_code="A<1>")
    address = f"/items/{sku['id']}"
    assert words not in browser.get(f"{address}?lang={lang}").text
    patched(caller, sku, {"sku_code": "B"})
    page = browser.get(f"{address}?lang={lang}").text
    assert words in page
    form = hidden("<main" + page.partition(f'action="{address}/free-code?lang={lang}"')[2].partition("</form>")[0])
    assert form["sku_code"] == "A<1>"
    assert browser.post(f"{address}/free-code?lang={lang}", form).status_code == 303
    assert words not in browser.get(f"{address}?lang={lang}").text
    assert caller.post("/skus", {"sku_code": "A<1>", "name": "x"}).status_code == 201
    part = caller.post("/components", {"code": "C", "name": "Cap", **PART}).json()["data"]["id"]
    assert caller.request("PATCH", f"/components/{part}", json={"name": "Lid", "weight_g": None}).status_code == 200
    log = browser.get(f"/audit?lang={lang}")
    assert (log.status_code, "A&lt;1&gt;" in log.text, "Lid" in log.text) == (200, True, True)
