"""Our own filters and orders of the SKU list: by words, by fields, by what was found, marked preview."""

import pytest

from tests.contract.outside import good, refused


@pytest.mark.promise("LST-23")
def test_items_are_found_by_words_filters_and_order(caller, other):
    caller.made(sku_code="F-1", name="Große Flasche", material="glass", weight_grams=400, markets=["FR"])
    caller.made(sku_code="F-2", name="Bouteille d’été", material="glass", weight_grams=300)
    caller.made(sku_code="F-3", name="Box", material="paper")
    other.made(sku_code="F-9", name="Große Flasche", material="glass")
    for sent, codes in (
        ({"q": "FLASCHE grosse"}, ["F-1"]),
        ({"q": "ete"}, ["F-2"]),
        ({"material": "glass", "sort": "weight_grams"}, ["F-2", "F-1"]),
        ({"material": "glass", "sort": "-name"}, ["F-1", "F-2"]),
        ({"market": "FR", "q": "f-"}, ["F-1"]),
        ({"grade": "not_recyclable", "doc_status": "valid"}, []),
    ):
        page = good(caller.get("/skus", params=sent))
        assert [item["sku_code"] for item in page["data"]] == codes, sent
        assert page["pagination"]["total"] == len(codes)
        assert "findings_as_of" not in page
    for name, accepted in (("grade", "not_assessed"), ("gap", "weight_missing"), ("sort", "-updated_at")):
        [issue] = refused(caller.get("/skus", params={name: "?"}), 400, "invalid_body")
        assert (issue["field"], issue["code"]) == (name, "not_in_vocabulary")
        assert accepted in issue["message"]
    assert "findings_as_of" in good(caller.get("/skus", params={"gap": "weight_missing"}))


@pytest.mark.promise("LST-23")
def test_the_filters_are_published_as_preview(caller):
    document = good(caller.get("/openapi.json"))
    parameters = {parameter["name"]: parameter for parameter in document["paths"]["/api/v1/skus"]["get"]["parameters"]}
    ours = {name for name, parameter in parameters.items() if parameter["schema"].get("x-stability") == "preview"}
    assert ours == {"q", "market", "grade", "doc_status", "material", "brand_id", "supplier_id", "gap", "flag", "rule",
                    "sort"}  # fmt: skip
    assert not [name for name in ours if parameters[name]["required"]]


@pytest.mark.promise("LST-24")
def test_what_the_list_shows_is_exported_as_a_file(caller):
    caller.made(sku_code="X-1", name="=1+1", material="glass", weight_grams=400.5, markets=["FR", "DE"])
    caller.made(sku_code="X-2", name="Jar", material="glass")
    caller.made(sku_code="X-3", name="Box", material="paper")
    query = {"material": "glass", "sort": "-sku_code", "columns": ["weight_grams", "markets"]}
    answer = caller.get("/skus/export", params=query)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/csv; charset=utf-8")
    assert answer.content.decode("utf-8-sig").splitlines() == [
        "sku_code,name,markets,weight_grams",
        "X-2,Jar,,",
        "X-1,'=1+1,FR;DE,400.5",
    ]
    book = caller.get("/skus/export", params={"format": "xlsx"})
    assert (book.status_code, book.content[:2]) == (200, b"PK")
    for name, accepted in (("format", "xlsx"), ("columns", "weight_grams"), ("sort", "-name")):
        [issue] = refused(caller.get("/skus/export", params={name: "?"}), 400, "invalid_body")
        assert accepted in issue["message"]
    document = good(caller.get("/openapi.json"))
    assert document["paths"]["/api/v1/skus/export"]["get"]["x-stability"] == "preview"
