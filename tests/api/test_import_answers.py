"""An answer to what an import asks: the file first sent gives the right value, and nobody's work is written over."""

from typing import Any

import pytest

from tests.api.portfolios import run

ASKING = "SKU;Name;Weight\nQ-1;Jar;180\nQ-2;Lid;8\n"
WEIGHT = {"columns": {"weight_grams": "C"}}


def imported(caller: Any, text: str | bytes, **query: object) -> str:
    """The id of an import that was written."""
    sent = text.encode() if isinstance(text, str) else text
    answer = caller.request("POST", "/imports", files={"file": ("list.csv", sent)}, params=query)
    assert answer.status_code == 202, answer.text
    run(caller, answer.json()["id"])
    return answer.json()["id"]


def answered(caller: Any, import_id: str, mapping: dict[str, object], **more: object) -> dict[str, Any]:
    """The report of an answer."""
    answer = caller.post(f"/imports/{import_id}/repeat", {"mapping": mapping, **more})
    assert answer.status_code == 202, answer.text
    run(caller, answer.json()["id"])
    return caller.get(f"/imports/{answer.json()['id']}").json()


def stored(caller: Any) -> dict[str, dict[str, Any]]:
    listed = caller.get("/skus").json()["data"]
    return {sku["sku_code"]: caller.get(f"/skus/{sku['id']}").json()["data"] for sku in listed}


@pytest.mark.promise("IMP-72")
def test_an_answer_writes_what_was_held_back(caller):
    first = imported(caller, ASKING)
    [asked] = caller.get(f"/imports/{first}").json()["source"]["asked"]
    assert (asked["kind"], asked["answer"]) == ("column", WEIGHT)
    assert stored(caller)["Q-1"]["weight_grams"] is None
    report = answered(caller, first, asked["answer"])
    assert report["source"]["asked"] == []
    assert report["counts"] == {"total": 2, "created": 0, "updated": 2, "unchanged": 0, "rejected": 0}
    assert {code: sku["weight_grams"] for code, sku in stored(caller).items()} == {"Q-1": 180, "Q-2": 8}


@pytest.mark.promise("IMP-73")
def test_an_answer_writes_nothing_over_what_somebody_changed_since(caller):
    first = imported(caller, ASKING)
    sku = stored(caller)["Q-1"]
    changed = caller.put(f"/skus/{sku['id']}", {"sku_code": "Q-1", "name": "Jar of honey", "weight_grams": 175})
    assert changed.status_code == 200, changed.text
    report = answered(caller, first, WEIGHT)
    [error] = report["errors"]
    assert (error["line"], error["sku_code"], error["code"]) == (2, "Q-1", "version_conflict")
    assert report["counts"] == {"total": 2, "created": 0, "updated": 1, "unchanged": 0, "rejected": 1}
    assert {code: (sku["name"], sku["weight_grams"]) for code, sku in stored(caller).items()} == {
        "Q-1": ("Jar of honey", 175),
        "Q-2": ("Lid", 8),
    }


def test_what_the_import_itself_wrote_is_written_no_second_time(caller):
    """A field that somebody cleared stays so, and the file's other fields bring back nothing."""
    first = imported(caller, "SKU;Name;Weight;Brand note;GTIN\nQ-1;Jar;180;x;4006381333931\n")
    answered(caller, first, WEIGHT)
    report = answered(caller, first, WEIGHT)
    assert report["counts"]["unchanged"] == 1
    assert report["counts"]["rejected"] == 0


def test_an_archived_sku_is_not_brought_back_by_an_answer(caller):
    first = imported(caller, ASKING)
    sku = stored(caller)["Q-2"]
    assert caller.post(f"/skus/{sku['id']}/archive", {"reason": "Sold out"}).status_code == 200
    report = answered(caller, first, WEIGHT)
    assert [(each["sku_code"], each["code"]) for each in report["errors"]] == [("Q-2", "version_conflict")]
    assert list(stored(caller)) == ["Q-1"]


def test_an_answer_is_added_to_the_mapping_of_before(caller):
    mapping = '{"columns": {"name": "B", "sku_code": "A"}, "constants": {"packaging_level": "sales"}}'
    first = imported(caller, ASKING.replace("Name", "Was"), mapping=mapping)
    report = answered(caller, first, WEIGHT)
    assert {"name", "weight_grams"} <= set(report["source"]["mapped"])
    assert stored(caller)["Q-1"]["packaging_level"] == "sales"


def test_an_answer_may_be_tried_first(caller):
    first = imported(caller, ASKING)
    report = answered(caller, first, WEIGHT, dry_run=True)
    assert (report["dry_run"], report["counts"]["updated"]) == (True, 2)
    assert stored(caller)["Q-1"]["weight_grams"] is None


def test_two_answers_one_after_the_other_settle_both_questions(caller):
    text = "SKU;Name;Material;Weight\nQ-1;Jar;glass;180\n"
    first = imported(caller, text)
    asked = {each["column"]: each for each in caller.get(f"/imports/{first}").json()["source"]["asked"]}
    then = answered(caller, first, asked["C"]["answer"])
    [left] = then["source"]["asked"]
    assert left == asked["D"]
    last = answered(caller, then["id"], left["answer"])
    assert last["source"]["asked"] == []
    assert {name: stored(caller)["Q-1"][name] for name in ("material", "weight_grams")} == {
        "material": "glass",
        "weight_grams": 180,
    }


@pytest.mark.parametrize("value", ["body", "cap"])
def test_an_open_word_holds_its_graph_back_until_it_is_answered(caller, value):
    text = (
        "sku_code;name;Component;material_family;component_weight_g\n"
        "P-1;Tray;Film;plastic;4\nP-1;Tray;Tray;plastic;20\nP-2;Jar;Jar;glass;180\n"
    )
    first = imported(caller, text)
    [asked] = [each for each in caller.get(f"/imports/{first}").json()["source"]["asked"] if each["kind"] == "value"]
    assert stored(caller)["P-1"]["components"] == []
    answer = {"values": {"component_type": {asked["text"]: value}}}
    report = answered(caller, first, answer)
    assert report["counts"] == {"total": 1, "created": 0, "updated": 1, "unchanged": 0, "rejected": 0}
    assert sorted(part["component_type"] for part in stored(caller)["P-1"]["components"]) == sorted([value, "body"])


NAMED = (
    "SKU;Name;brand_id;component_type;material_family;supplier_id\n"
    "C-1;Jar;Waldhonig;body;glass;Glas Nord\nC-2;Lid;;body;metal;GLAS NORD\n"
)


def made(caller: Any, *kinds: str) -> list[dict[str, Any]]:
    """The entries of the ledger about records of these kinds, or of any, that were made."""
    entries = caller.get("/audit-log").json()["data"]
    actions = {f"{kind}.created" for kind in kinds or ("brand", "supplier", "site")}
    return [entry for entry in entries if entry["action"] in actions]


def test_records_that_a_file_names_are_made_when_the_answer_says_so(caller):
    first = imported(caller, NAMED)
    report = caller.get(f"/imports/{first}").json()
    assert [(each["kind"], each["answer"]) for each in report["source"]["asked"]] == [("value", {"create": True})] * 2
    assert report["counts"]["rejected"] == 2
    tried = answered(caller, first, {"create": True}, dry_run=True)
    assert (tried["counts"]["created"], made(caller)) == (2, [])
    report = answered(caller, first, {"create": True})
    assert (report["counts"]["created"], report["errors"], report["source"]["asked"]) == (2, [], [])
    [brand], [supplier] = made(caller, "brand"), made(caller, "supplier")
    assert (supplier["after"]["name"], brand["after"]["name"]) == ("Glas Nord", "Waldhonig")
    skus = stored(caller)
    assert skus["C-1"]["brand_id"] == brand["resource_id"]
    parts = [skus[code]["components"][0] for code in ("C-1", "C-2")]
    assert [part["supplier_id"] for part in parts] == [supplier["resource_id"]] * 2


def test_records_are_made_once_and_in_the_own_company(caller, join):
    for _ in range(2):
        imported(caller, NAMED, mapping='{"create": true}')
    assert (len(made(caller, "supplier")), made(join())) == (1, [])


def test_a_file_makes_a_bounded_number_of_records(caller):
    lines = "".join(f"C-{n};Jar;Brand {n}\n" for n in range(501))
    answer = caller.request(
        "POST",
        "/imports",
        files={"file": ("list.csv", f"SKU;Name;brand_id\n{lines}".encode())},
        params={"mapping": '{"create": true}'},
    )
    assert (answer.status_code, answer.json()["details"][0]["code"]) == (400, "invalid_mapping")


def test_an_own_word_settles_the_material_of_parts_where_the_report_says_the_fault_is(caller):
    text = "SKU;Name;Component;Material;Weight_g\nM-1;Mug box;Gift box;Karta K;47,5\nM-1;Mug box;Label;Karta K;5,25\n"
    first = imported(caller, text)
    faults = caller.get(f"/imports/{first}").json()["errors"]
    assert {(each["field"], each["value"]) for each in faults} == {("material_family", "Karta K")}
    words = [{"field": "material_family", "text": "Karta K", "value": "paper"}]
    assert caller.put("/words", {"words": words}).status_code == 200
    again = caller.post(f"/imports/{first}/corrections", {"cells": []})
    assert again.status_code == 202, again.text
    run(caller, again.json()["id"])
    sku = stored(caller)["M-1"]
    assert (sku["weight_grams"], {part["material_family"] for part in sku["components"]}) == (52.75, {"paper"})


@pytest.mark.parametrize("first_runs_first", [True, False])
def test_an_answer_before_the_import_has_run_is_written_whatever_runs_first(caller, first_runs_first):
    sent = caller.request("POST", "/imports", files={"file": ("list.csv", ASKING.encode())})
    answer = caller.post(f"/imports/{sent.json()['id']}/repeat", {"mapping": WEIGHT})
    assert answer.status_code == 202, answer.text
    both = [sent.json()["id"], answer.json()["id"]]
    for each in both if first_runs_first else reversed(both):
        run(caller, each)
    assert {code: sku["weight_grams"] for code, sku in stored(caller).items()} == {"Q-1": 180, "Q-2": 8}


def test_an_answer_to_what_was_not_asked_writes_only_what_it_changes(caller):
    """A question that is not open is a mapping like any other; what the import wrote stays."""
    first = imported(caller, ASKING)
    report = answered(caller, first, {"lists": {"B": "iso"}, "quantity": {"C": "multiply"}})
    assert report["counts"]["updated"] == 0
    assert [each["kind"] for each in report["source"]["asked"]] == ["column"]
    assert {code: (sku["name"], sku["weight_grams"]) for code, sku in stored(caller).items()} == {
        "Q-1": ("Jar", None),
        "Q-2": ("Lid", None),
    }


def test_another_company_answers_nothing(caller, join):
    first = imported(caller, ASKING)
    assert join().post(f"/imports/{first}/repeat", {"mapping": WEIGHT}).status_code == 404
    assert stored(caller)["Q-1"]["weight_grams"] is None
