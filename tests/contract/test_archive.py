"""Archiving, returning and undoing an import, by our own operations beside the contract."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contract.outside import good, refused

UNKNOWN = "00000000-0000-7000-8000-000000000000"


def listed(caller):
    return [sku["sku_code"] for sku in caller.data("/skus")]


@pytest.mark.promise("SKU-60")
def test_an_archived_sku_leaves_the_lists_and_stays_readable(caller):
    kept, gone = caller.made(sku_code="KEPT", name="Jar"), caller.made(sku_code="GONE", name="Jar", material="glass")
    path = f"/skus/{gone['id']}"
    caller.put(f"{path}/volumes", {"volumes": [{"market": "FR", "year": 2026, "units_placed": 5}]})
    before = good(caller.get(path))["data"]
    tried = good(caller.post(f"{path}/archive", {}, params={"dry_run": "true"}))
    assert (tried["outcome"], tried["dry_run"]) == ("updated", True)
    assert tried["data"]["archived_at"].endswith("Z")
    assert sorted(listed(caller)) == ["GONE", "KEPT"]
    done = good(caller.post(f"{path}/archive", {"reason": "No longer sold"}))
    assert (done["outcome"], done["data"]["id"]) == ("updated", gone["id"])
    assert listed(caller) == ["KEPT"]
    assert good(caller.get("/skus"))["pagination"]["total"] == 1
    found = good(caller.get(path))["data"]
    assert found == done["data"]
    since = {name: found[name] for name in ("archived_at", "updated_at")}
    assert found == before | since | {"version": before["version"] + 1}
    rested = good(caller.get("/skus/archived"))
    assert [(item["id"], item["archived_at"]) for item in rested["data"]] == [(gone["id"], found["archived_at"])]
    assert good(caller.post(f"{path}/archive", {}))["outcome"] == "unchanged"
    entry = caller.data("/audit-log")[0]
    assert (entry["action"], entry["resource_id"], entry["reason"]) == ("sku.archived", gone["id"], "No longer sold")
    assert done["warnings"] == [], "no units were placed"
    good(caller.put(f"{path}/volumes", [{"market": "FR", "year": 2026, "units_placed": 5}]))
    assert good(caller.get(path))["data"]["volumes"][0]["units_placed"] == 5
    assert listed(caller) == ["KEPT"], "its units are written without bringing it back (decisions §13)"
    assert good(caller.get(f"/skus/{kept['id']}"))["data"].get("archived_at") is None


@pytest.mark.promise("SKU-61")
def test_a_write_of_its_code_brings_an_archived_sku_back(caller):
    made = caller.made(sku_code="BACK", name="Jar", material="glass", weight_grams=200)
    path = f"/skus/{made['id']}"
    good(caller.post(f"{path}/archive", {}))
    body = {"sku_code": "BACK", "name": "Jar", "weight_grams": 210}
    tried = good(caller.post("/skus", body, params={"dry_run": "true"}))
    assert (tried["outcome"], tried["data"]["id"], tried["data"]["material"]) == ("updated", made["id"], "glass")
    assert listed(caller) == []
    back = good(caller.post("/skus", body))
    assert (back["outcome"], back["data"]["id"], back["data"]["weight_grams"]) == ("updated", made["id"], 210)
    assert back["data"]["created_at"] == made["created_at"]
    assert "archived_at" not in good(caller.get(path))["data"]
    good(caller.post(f"{path}/archive", {}))
    same = good(caller.put(path, body))
    assert (same["outcome"], same["data"]["id"]) == ("updated", made["id"]), "to come back is a change"
    assert listed(caller) == ["BACK"]
    actions = [entry["action"] for entry in caller.data("/audit-log") if entry["resource_id"] == made["id"]]
    assert actions == [
        "sku.returned",
        "sku.archived",
        "sku.updated",
        "sku.returned",
        "sku.archived",
        "sku.created",
    ]


@pytest.mark.promise("SKU-61")
def test_returning_is_a_write_and_another_company_may_not(caller, other):
    made = caller.made(sku_code="RET", name="Jar")
    path = f"/skus/{made['id']}"
    assert good(caller.post(f"{path}/return", {}))["outcome"] == "unchanged"
    for action in ("archive", "return"):
        refused(other.post(f"{path}/{action}", {}), 404, "not_found")
        refused(caller.post(f"/skus/{UNKNOWN}/{action}", {}), 404, "not_found")
        refused(caller.post(f"{path}/{action}", {"why": "x"}), 400, "invalid_body")
    good(caller.post(f"{path}/archive", {}))
    refused(other.get(path), 404, "not_found")
    assert other.data("/skus/archived") == []
    assert good(caller.post(f"{path}/return", {}, params={"dry_run": "true"}))["outcome"] == "updated"
    assert listed(caller) == []
    key = {"Idempotency-Key": "back-1"}
    back = good(caller.post(f"{path}/return", {}, headers=key))
    assert back["outcome"] == "updated"
    assert good(caller.post(f"{path}/return", {}, headers=key)) == back
    assert listed(caller) == ["RET"]


@pytest.mark.promise("SKU-60")
def test_an_archived_sku_frees_its_place_and_takes_one_again(service):
    caller = service.joined("starter")
    limit = 100
    rows = [{"sku_code": f"P{number}", "name": "Jar"} for number in range(limit)]
    made = good(caller.post("/skus/batch", {"skus": rows}))["results"]
    refused(caller.post("/skus", {"sku_code": "ONE-MORE", "name": "Jar"}), 403, "plan_limit_reached")
    good(caller.post(f"/skus/{made[0]['id']}/archive", {}))
    good(caller.post("/skus", {"sku_code": "ONE-MORE", "name": "Jar"}))
    refused(caller.post("/skus", {"sku_code": "P0", "name": "Jar"}), 403, "plan_limit_reached")
    refused(caller.post(f"/skus/{made[0]['id']}/return", {}), 403, "plan_limit_reached")
    good(caller.post(f"/skus/{made[1]['id']}/archive", {}))
    good(caller.post(f"/skus/{made[0]['id']}/return", {}))
    assert good(caller.get("/skus"))["pagination"]["total"] == limit


@pytest.mark.promise("SKU-61")
def test_writers_of_an_archived_code_at_once_bring_it_back_once(caller):
    made = caller.made(sku_code="RACE", name="Jar")
    good(caller.post(f"/skus/{made['id']}/archive", {}))
    answers = []
    writers = [
        threading.Thread(
            target=lambda n=n: answers.append(
                good(caller.post("/skus", {"sku_code": "RACE", "name": "Jar", "weight_grams": n}))
            )
        )
        for n in range(1, 7)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert {answer["data"]["id"] for answer in answers} == {made["id"]}
    assert len(answers) == 6
    actions = [entry["action"] for entry in caller.data("/audit-log") if entry["resource_id"] == made["id"]]
    assert actions.count("sku.returned") == 1
    assert actions.count("sku.updated") == 6


@pytest.mark.promise("IMP-60")
def test_an_import_is_undone_where_nothing_touched_its_skus_since(caller):
    caller.made(sku_code="OLD", name="Jar", material="glass", weight_grams=200)
    caller.made(sku_code="EDITED", name="Jar", weight_grams=100)
    rested = caller.made(sku_code="RESTED", name="Jar", weight_grams=1)
    good(caller.post(f"/skus/{rested['id']}/archive", {}))
    first = caller.imported(b"sku_code,name,weight_grams\nOLD,Jar,250\nEDITED,Jar,150\nNEW,Lid,5\nRESTED,Jar,2\n")
    good(caller.post("/skus", {"sku_code": "EDITED", "name": "Jar", "weight_grams": 175}))
    path = f"/imports/{first['id']}/undo"
    tried = good(caller.post(path, {}, params={"dry_run": "true"}))
    assert tried["counts"] == {"restored": 1, "archived": 2, "unchanged": 0, "kept": 1}
    assert sorted(listed(caller)) == ["EDITED", "NEW", "OLD", "RESTED"]
    done = good(caller.post(path, {"reason": "Wrong file"}))
    assert done == tried | {"dry_run": False}
    assert [(sku["sku_code"], sku["code"]) for sku in done["kept"]] == [("EDITED", "changed_since")]
    weights = {sku["sku_code"]: sku["weight_grams"] for sku in caller.data("/skus")}
    assert weights == {"OLD": 200, "EDITED": 175}
    assert good(caller.post(path, {}))["counts"] == {"restored": 0, "archived": 0, "unchanged": 3, "kept": 1}
    entry = caller.data("/audit-log")[0]
    assert (entry["action"], entry["reason"]) == ("import.undone", "Wrong file")


@pytest.mark.promise("IMP-60")
def test_imports_are_undone_in_the_reverse_of_their_order(caller):
    texts = [f"sku_code,name,weight_grams\nA,Jar,{weight}\n".encode() for weight in (10, 20, 30)]
    sent = [caller.imported(text)["id"] for text in texts]
    for import_id, weight in ((sent[2], 20), (sent[1], 10)):
        good(caller.post(f"/imports/{import_id}/undo", {}))
        assert [sku["weight_grams"] for sku in caller.data("/skus")] == [weight]
    good(caller.post(f"/imports/{sent[0]}/undo", {}))
    assert listed(caller) == []


@pytest.mark.promise("IMP-60")
def test_what_cannot_be_undone_is_refused(caller, other):
    dry = caller.imported(b"sku_code,name\nA,Jar\n", dry_run=True)
    refused(caller.post(f"/imports/{dry['id']}/undo", {}), 400, "invalid_body")
    real = caller.imported(b"sku_code,name\nA,Jar\n")
    refused(other.post(f"/imports/{real['id']}/undo", {}), 404, "not_found")
    refused(caller.post(f"/imports/{UNKNOWN}/undo", {}), 404, "not_found")


@pytest.mark.promise("IMP-60")
def test_undoing_twice_at_once_is_done_once_and_the_other_is_told_to_wait(caller):
    rows = "".join(f"W-{number},Jar,{number}\n" for number in range(1, 4_000))
    import_id = caller.imported(f"sku_code,name,weight_grams\n{rows}".encode())["id"]
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: caller.post(f"/imports/{import_id}/undo", {}), range(4)))
    archived = [good(answer)["counts"]["archived"] for answer in answers if answer.status_code == 200]
    assert max(archived) == 3_999
    assert sum(archived) == 3_999
    for answer in answers:
        if answer.status_code != 200:
            refused(answer, 429, "rate_limited")
            assert int(answer.headers["Retry-After"]) > 0
