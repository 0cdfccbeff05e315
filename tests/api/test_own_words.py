"""The company's own words: written once, read by every import, and never another company's."""

import pytest

from schemas.imports.types import ImportAccepted, OwnWordListResponse, OwnWordsWriteResult
from tests.api.portfolios import run
from tests.api.published import published

FILE = b"sku_code,name,material,weight_grams\nA-1,Bottle,Kunststoff X,12.5\nA-2,Lid,KUNSTSTOFF  x,2\n"
WORDS = {
    "words": [
        {"field": "colour", "text": "schwarz", "value": "dark"},
        {"field": "material", "text": "Kunststoff X", "value": "plastic"},
    ]
}


def imported(caller, data=FILE, **query):
    answer = caller.post("/imports", content=data, params={"filename": "a.csv", **query})
    assert answer.status_code == 202, answer.text
    run(caller, answer.json()["id"])
    return answer.json(), caller.get(f"/imports/{answer.json()['id']}").json()


def put(caller, body, **query):
    return caller.put("/words", body, params=query)


def test_an_import_reads_the_companys_words(caller):
    _, before = imported(caller)
    assert before["counts"]["rejected"] > 0
    answer = put(caller, WORDS)
    assert answer.status_code == 200, answer.text
    published(OwnWordsWriteResult, answer.json())
    accepted, after = imported(caller)
    published(ImportAccepted, accepted)
    assert after["counts"]["rejected"] == 0, after["errors"]
    assert accepted["source"]["words"]["material"] == {"Kunststoff X": "plastic"}


def test_they_are_listed_changed_and_removed(caller):
    put(caller, WORDS)
    put(caller, {"words": [{"field": "material", "text": "kunststoff x", "value": "glass"}]})
    listed = caller.get("/words").json()
    published(OwnWordListResponse, listed)
    assert [(word["field"], word["text"], word["value"]) for word in listed["data"]] == [
        ("colour", "schwarz", "dark"),
        ("material", "kunststoff x", "glass"),
    ]
    gone = put(caller, {"remove": [{"field": "material", "text": "Kunststoff X"}, {"field": "name", "text": "x"}]})
    assert gone.json()["data"] == {"stored": 0, "removed": 2}
    assert [word["field"] for word in caller.get("/words").json()["data"]] == ["colour"]


def test_a_mapping_counts_before_them_and_is_not_replaced_twice(caller):
    put(caller, {"words": [{"field": "material", "text": "Kunststoff X", "value": "glass"},
                           {"field": "material", "text": "plastic", "value": "metal"}]})  # fmt: skip
    accepted, report = imported(caller, mapping='{"values": {"material": {"Kunststoff X": "plastic"}}}')
    assert report["counts"]["rejected"] == 0, report["errors"]
    assert accepted["source"]["words"] == {}
    assert {
        sku["sku_code"]: caller.get(f"/skus/{sku['id']}").json()["data"]["material"]
        for sku in caller.get("/skus").json()["data"]
    } == {"A-1": "plastic", "A-2": "plastic"}


def test_a_dry_run_and_another_company_see_nothing(caller, join):
    other = join()
    assert put(caller, WORDS, dry_run=True).json()["dry_run"] is True
    assert caller.get("/words").json()["pagination"]["total"] == 0
    put(caller, WORDS)
    assert other.get("/words").json()["pagination"]["total"] == 0
    _, report = imported(other)
    assert report["counts"]["rejected"] == 2


@pytest.mark.parametrize(
    ("word", "code", "field"),
    [
        ({"field": "materials", "text": "x", "value": "glass"}, "not_in_vocabulary", "words[0].field"),
        ({"field": "material", "text": "x", "value": "wodka"}, "invalid_format", "words[0].value"),
        ({"field": "material", "text": " ", "value": "glass"}, "too_short", "words[0].text"),
        ({"field": "material", "text": "", "value": "glass"}, "too_short", "words[0].text"),
        ({"field": "material", "text": "x"}, "required", "words[0].value"),
        ({"field": "weight_grams", "text": "x", "value": {"a": 1}}, "invalid_format", "words[0].value"),
    ],
)
def test_what_cannot_be_a_word_is_refused_at_its_place(caller, word, code, field):
    answer = put(caller, {"words": [word]})
    assert answer.status_code == 400, answer.text
    assert {(each["code"], each["field"]) for each in answer.json()["details"]} >= {(code, field)}, answer.text
    assert caller.get("/words").json()["pagination"]["total"] == 0


def test_the_audit_names_what_changed(caller):
    put(caller, WORDS)
    [entry] = [e for e in caller.get("/audit-log").json()["data"] if e["action"] == "own_words.updated"]
    assert entry["after"] == {"colour: schwarz": "dark", "material: Kunststoff X": "plastic"}


def test_a_file_names_brands_sites_suppliers_and_shared_components(caller):
    """Decisions §13: wherever a person types one; REST keeps ids."""
    made = {
        "brand_id": caller.post("/brands", {"name": "Alpenquell"}).json()["data"]["id"],
        "packing_site_id": caller.post("/sites", {"name": "Werk Süd", "roles": ["packing"]}).json()["data"]["id"],
    }
    cap = {"code": "CAP-28", "name": "Cap 28 mm", "component_type": "cap", "material_family": "plastic"}
    component_id = caller.post("/components", cap).json()["data"]["id"]
    rows = [
        "sku_code,name,brand_id,packing_site_id,component_type,material_family,component_id",
        "N-1,Bottle,alpenquell,WERK SÜD,cap,plastic,Cap 28 mm",
        f"N-2,Bottle,{made['brand_id']},,cap,plastic,CAP-28",
        "N-3,Bottle,Alpenqell,,cap,plastic,",
    ]
    accepted, report = imported(caller, "\n".join(rows).encode())
    assert report["counts"]["created"] == 2, report["errors"]
    [fault] = report["errors"]
    assert (fault["sku_code"], fault["code"], "Alpenquell" in fault["message"]) == ("N-3", "unknown_reference", True)
    first = caller.get("/skus", params={"sku_code": "N-1", "include": "components"}).json()["data"][0]
    assert {name: first[name] for name in made} == made
    assert first["components"][0]["component_id"] == component_id
    assert accepted["source"]["words"]["brand_id"] == {"Alpenquell": made["brand_id"]}
    refused = caller.post("/skus", {"sku_code": "N-4", "name": "x", "brand_id": "Alpenquell"})
    assert refused.status_code == 400
