"""Marks on packs by every door: what must go by 12 February 2027, what is asked, the labels that come, and claims."""

import csv
import io

import pytest

from tests.api.people import hidden, signed_in
from tests.api.test_company_roles import told

PART = {"component_type": "body", "material_family": "glass", "weight_g": 20}
SKU = {"name": "Jar", "weight_grams": 25, "components": [PART], "packaging_level": "sales", "packaging_format": "jar",
       "use_contexts": ["food"]}  # fmt: skip
GREEN, TRIMAN, PINE = {"mark": "Grüner Punkt"}, {"mark": "Triman"}, {"mark": "Sun over a pine"}
CLAIM = {"text": "30 % recycled", "property": "recycled_content", "about": "unit", "exceeds": True}
PDF = b"%PDF-1.7\n%%EOF\n"


@pytest.fixture
def brand(caller):
    return caller.post("/brands", {"name": "Sun"}).json()["data"]["id"]


@pytest.fixture
def skus(caller, brand):
    """Two of a brand in the Union, one of it in Great Britain alone, one of no market, one of no brand."""
    rows = (
        ("A", ["FR", "GB"], brand),
        ("B", ["DE"], brand),
        ("C", ["GB"], brand),
        ("D", None, brand),
        ("E", ["FR"], None),
    )
    made = {
        code: caller.post("/skus", SKU | {"sku_code": code, "markets": markets, "brand_id": of}).json()["data"]["id"]
        for code, markets, of in rows
    }
    volumes = [("FR", 2024, 9_000_000), ("FR", 2025, 1_000_000), ("DE", 2025, 500_000), ("GB", 2025, 7_000_000)]
    rows = [{"market": market, "year": year, "units_placed": units} for market, year, units in volumes]
    assert caller.put(f"/skus/{made['A']}/volumes", rows).status_code == 200
    return made


def listed(caller, **query):
    answer = caller.get("/marks?" + "&".join(f"{name}={value}" for name, value in query.items()))
    assert answer.status_code == 200, answer.text
    return answer.json()


def states(caller):
    return {row["state"]: row["skus"] for row in listed(caller)["summary"]["states"]}


def test_a_brand_says_it_once_and_a_sku_where_it_differs(caller, brand, skus):
    assert states(caller) == {"not_recorded": 4, "outside": 1}
    asked = told(caller.get(f"/marks/{skus['A']}"))
    assert (asked["state"], asked["marks"], asked["recorded_for"]) == ("not_recorded", None, None)
    assert "Which marks" in asked["asks"][0]["sentence"]
    foreseen = told(caller.put(f"/marks/{brand}?dry_run=true", {"marks": [GREEN, TRIMAN]}))
    assert (foreseen["state"], foreseen["version"]) == ("change", 0)
    assert states(caller) == {"not_recorded": 4, "outside": 1}
    assert told(caller.put(f"/marks/{brand}", {"marks": [GREEN, TRIMAN]}))["version"] == 1
    assert states(caller) == {"change": 2, "depends": 1, "not_recorded": 1, "outside": 1}
    of_brand = told(caller.get(f"/marks/{skus['A']}"))
    assert (of_brand["state"], of_brand["timing"], of_brand["version"]) == ("change", "open", 0)
    assert of_brand["recorded_for"] == brand
    assert [(mark["mark"], mark["name"], mark["answer"]) for mark in of_brand["marks"]] == [
        ("Grüner Punkt", "Green Dot", "change"), ("Triman", "Triman", "clear")]  # fmt: skip
    assert of_brand["marks"][0]["reference"] == "Regulation (EU) 2025/40, Article 12(9)"
    assert of_brand["marks"][0]["applies_from"] == "2027-02-12"
    no_market = told(caller.get(f"/marks/{skus['D']}"))
    assert (no_market["state"], "markets" in no_market["asks"][0]["sentence"]) == ("depends", True)
    assert told(caller.get(f"/marks/{skus['C']}"))["state"] == "outside"
    own = told(caller.put(f"/marks/{skus['B']}", {"marks": []}))  # somebody looked: nothing is printed
    assert (own["state"], own["recorded_for"], own["marks"]) == ("clear", skus["B"], [])
    assert states(caller) == {"change": 1, "depends": 1, "clear": 1, "not_recorded": 1, "outside": 1}
    assert told(caller.put(f"/marks/{skus['B']}", {}))["recorded_for"] == brand  # it says nothing any more
    assert states(caller)["change"] == 2
    actions = [entry["action"] for entry in caller.get("/audit-log?limit=20").json()["data"]]
    assert actions.count("marks.updated") == 3


def test_a_mark_of_no_table_is_kept_as_text_and_asked_until_it_is_answered(caller, skus):
    asked = told(caller.put(f"/marks/{skus['E']}", {"marks": [PINE, {"mark": "Interseroh"}]}))
    assert asked["state"] == "depends"
    assert [(mark["mark"], mark["kind"], mark["answer"]) for mark in asked["marks"]] == [
        ("Sun over a pine", "unknown", "depends"), ("Interseroh", "depends", "depends")]  # fmt: skip
    row = next(row for row in listed(caller)["data"] if row["sku_code"] == "E")
    assert row["marks"] == ["Sun over a pine", "Interseroh"]
    no = told(caller.put(f"/marks/{skus['E']}", {"marks": [PINE | {"of_epr": False}]}))
    assert (no["state"], no["marks"][0]["mark"]) == ("clear", "Sun over a pine")
    assert told(caller.put(f"/marks/{skus['E']}", {"marks": [PINE | {"of_epr": True}]}))["state"] == "change"
    digital = PINE | {"of_epr": True, "carrier": "digital"}
    assert told(caller.put(f"/marks/{skus['E']}", {"marks": [digital]}))["state"] == "clear"


def test_the_list_has_tonnes_of_the_union_artwork_and_labels_and_the_file_says_the_same(caller, brand, skus):
    artwork = {"artwork_reference": "=AW7", "artwork_state": "in_design", "changes_on": "2027-03-01"}
    told(caller.put(f"/marks/{brand}", {"marks": [GREEN, TRIMAN], **artwork}))
    answer = listed(caller, state="change", limit=1)
    assert answer["pagination"] == {"limit": 1, "offset": 0, "total": 2}
    [row] = answer["data"]
    assert (row["sku_code"], row["tonnes"], row["timing"]) == ("A", 30.0, "late")  # 1.5 million of 20 g, without GB
    summary = answer["summary"]
    assert (summary["change_by"], summary["year"]) == ("2027-02-12", 2025)
    assert {row["state"]: (row["skus"], row["tonnes"], row["without_tonnes"]) for row in summary["states"]} == {
        "change": (2, 30, 1), "depends": (1, 0, 1),
        "not_recorded": (1, None, None), "outside": (1, None, None)}  # fmt: skip
    assert [(row["label"], row["skus"]) for row in summary["labels"]] == [("material", 4), ("replaced", 3)]
    assert [row["sku_code"] for row in listed(caller, offset=1)["data"]] == ["B", "C", "D", "E"]
    assert caller.get("/marks?state=gone").status_code == 400
    answer = caller.get("/marks.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    lines = {line["sku_code"]: line for line in csv.DictReader(io.StringIO(answer.text))}
    assert set(lines) == {"A", "B", "D", "E"}  # none for Great Britain alone
    assert (lines["A"]["state"], lines["A"]["marks"], float(lines["A"]["tonnes"])) == ("change", "Grüner Punkt", 30)
    assert (lines["A"]["artwork_reference"], lines["A"]["changes_on"]) == ("'=AW7", "2027-03-01")
    assert (lines["E"]["state"], lines["E"]["labels"]) == ("not_recorded", "material: needed")


def test_a_claim_says_what_it_lacks_and_its_proof_is_a_file_of_the_same_company(caller, brand, skus, join):
    told(caller.put(f"/marks/{brand}", {"claims": [CLAIM, {"text": "Green"}]}))
    [open_, missing] = reversed(listed(caller)["summary"]["claims"])
    assert (missing["text"], missing["state"], missing["record_name"]) == ("30 % recycled", "missing", "Sun")
    assert [need["reference"] for need in missing["needs"]] == ["Regulation (EU) 2025/40, Article 14"]
    assert (open_["text"], open_["state"], len(open_["needs"])) == ("Green", "missing", 4)
    sent = {"data": {"type": "test_report"}, "files": {"file": ("report.pdf", PDF, "application/pdf")}}
    proof = caller.request("POST", f"/skus/{skus['A']}/files", **sent).json()["data"]["id"]
    body = {"marks": [], "claims": [CLAIM | {"proof_id": proof}]}
    met = told(caller.put(f"/marks/{brand}", body))
    assert [(claim["state"], claim["proof_id"]) for claim in met["claims"]] == [("met", proof)]
    labels = told(caller.get(f"/marks/{skus['A']}"))["labels"]
    assert [(label["label"], label["applies_from"]) for label in labels] == [
        ("material", "2028-08-12"), ("recycled", "2028-08-12")]  # fmt: skip
    stranger = join()
    theirs = stranger.post("/brands", {"name": "Sun"}).json()["data"]["id"]
    refused = stranger.put(f"/marks/{theirs}", body)
    assert refused.status_code == 400
    [detail] = refused.json()["details"]
    assert (detail["field"], detail["code"]) == ("claims[0].proof_id", "unknown_reference")


def test_a_write_is_refused_for_what_it_cannot_mean_for_a_passed_version_and_for_another_company(caller, skus, join):
    for body, field in (
        ({"marks": [{"mark": ""}]}, "marks[0].mark"),
        ({"marks": [GREEN | {"carrier": "stone"}]}, "marks[0].carrier"),
        ({"marks": [GREEN] * 51}, "marks"),
        ({"claims": [{"property": "other"}]}, "claims[0].text"),
        ({"changes_on": "2027-02-30"}, "changes_on"),
        ({"state": "clear"}, "state"),
    ):
        refused = caller.put(f"/marks/{skus['A']}", body)
        assert (refused.status_code, refused.json()["details"][0]["field"]) == (400, field), refused.text
    assert caller.put(f"/marks/{skus['A']}", {"marks": [GREEN], "if_version": 0}).status_code == 200
    conflict = caller.put(f"/marks/{skus['A']}", {"marks": [], "if_version": 0})
    assert (conflict.status_code, conflict.json()["error"]) == (412, "version_conflict")
    stranger = join()
    assert stranger.get(f"/marks/{skus['A']}").status_code == 404
    assert stranger.put(f"/marks/{skus['A']}", {"marks": []}).status_code == 404
    assert listed(stranger)["data"] == []
    first, again = (
        caller.put(f"/marks/{skus['B']}", {"marks": [GREEN]}, headers={"Idempotency-Key": "marks-1"}) for _ in range(2)
    )
    assert first.json() == again.json()


def test_what_a_merged_brand_said_counts_no_more(caller, brand, skus):
    told(caller.put(f"/marks/{brand}", {"marks": [GREEN]}))
    other = caller.post("/brands", {"name": "Moon"}).json()["data"]["id"]
    told(caller.put(f"/marks/{other}", {"marks": [TRIMAN]}))
    assert caller.post(f"/brands/{brand}/merge", {"into": other}).status_code == 200
    assert told(caller.get(f"/marks/{brand}"))["id"] == other
    assert told(caller.get(f"/marks/{skus['A']}"))["recorded_for"] == other
    assert "change" not in states(caller)


def test_people_record_it_on_pages(caller, browser, brand, skus, pool):
    assert "Nobody has said what is printed." in browser.get("/marks").text
    form = hidden(browser.get(f"/marks/{brand}").text)
    filled = {
        "marks[0].mark": "Green Dot",
        "marks[0].carrier": "printed",
        "marks[2].mark": "no",
        "claims[0].text": "Less plastic",
        "claims[0].exceeds": "no",
        "artwork_state": "approved",
    }
    wrong = browser.post(f"/marks/{brand}", form | filled | {"changes_on": "never"})
    assert wrong.status_code == 400
    assert "Less plastic" in wrong.text
    assert browser.post(f"/marks/{brand}", form | filled | {"changes_on": "2027-01-04"}).status_code == 303
    stored = told(caller.get(f"/marks/{brand}"))
    assert [mark["mark"] for mark in stored["marks"]] == ["Green Dot", "no"]
    assert (stored["claims"][0]["state"], stored["timing"]) == ("breach", "in_time")
    assert "Muss sich ändern." in browser.get(f"/marks/{skus['A']}?lang=de").text
    assert "Doit changer." in browser.get(f"/items/{skus['A']}?lang=fr").text
    shown = browser.get("/marks").text
    assert "The change is in time." in shown
    assert "May not be made." in shown
    assert "Less plastic" in shown
    assert "Jar" in browser.get("/marks?state=outside").text
    assert browser.get("/marks/file.csv").text.splitlines()[0].startswith("sku_code,name,")
    assert browser.post(f"/marks/{brand}", form | filled).status_code == 400  # a version that has passed
    form = hidden(browser.get(f"/marks/{skus['A']}").text)
    assert browser.post(f"/marks/{skus['A']}", form | {"nothing": "yes"}).status_code == 303
    assert told(caller.get(f"/marks/{skus['A']}"))["state"] == "clear"
    viewer = signed_in(caller, pool, "viewer")
    assert viewer.get(f"/marks/{brand}").status_code == 200
    assert viewer.post(f"/marks/{brand}", hidden(viewer.get(f"/marks/{brand}").text)).status_code == 403
