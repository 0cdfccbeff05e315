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
