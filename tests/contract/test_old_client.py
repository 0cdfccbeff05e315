"""A client written against interface 1.4.1: its requests go through, and what it reads is all still there."""

from uuid import uuid4

import pytest

from tests.contract.outside import good, refused
from tests.contract.samples import PDF
from tests.contract.shapes import FIELDS, faults

OLD = {"since": ("1.4.1",)}
SKU = {
    "name": "Bottle", "description": "Half a litre", "material": "plastic", "material_subtype": "PET",
    "weight_grams": 26.5, "recycled_content_percent": 30, "food_contact": False, "pfas_intentional": False,
    "product_category": "beverages", "markets": ["FR", "DE"], "gtin": "4006381333931", "ppwr_role": "manufacturer",
    "packaging_level": "primary", "packaging_format": "bottle", "empty_space_ratio": 4, "reusable": True,
    "reuse_system_type": "open_pool", "reuse_cycles_target": 5, "minimisation_assessed": True,
    "sorting_label_scheme": "triman_fr", "material_marking_applied": True, "svhc_declared": False,
    "bpa_present": False, "heavy_metals_sum_ppm": 12.5,
    "components": [
        {"component_type": part, "material_family": "plastic", "polymer_or_grade": "HDPE", "weight_g": 1.5,
         "position_in_sku": number}
        for number, part in enumerate(
            ("body", "cap", "closure", "label", "liner", "seal", "sleeve", "ink", "adhesive", "coating", "varnish",
             "tie_layer"), 1)
    ],
}  # fmt: skip
"""Every field that a body of 1.4.1 could hold, in the types that it had then."""


@pytest.fixture(scope="module")
def sku(shop):
    answer = shop.post("/skus", {"sku_code": f"OLD-{uuid4()}", **SKU})
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]


@pytest.mark.promise("VER-05", "VER-02", "INP-06", "INP-20", "INP-21")
def test_a_body_of_1_4_1_is_taken_and_reads_back_in_its_own_types(shop, sku):
    detail = shop.data(f"/skus/{sku['id']}")
    own = {name for name in SKU if name not in ("components", "packaging_level")}
    assert {name: detail[name] for name in own} == {name: SKU[name] for name in own}
    assert detail["packaging_level"] == "sales"
    lines = [{name: line[name] for name in SKU["components"][0]} for line in detail["components"]]
    assert lines == SKU["components"]


@pytest.mark.promise("VER-02")
def test_every_field_that_1_4_1_served_is_served(shop, sku):
    [item] = shop.data("/skus", sku_code=sku["sku_code"])
    detail = shop.data(f"/skus/{sku['id']}")
    assert faults("SkuListItem", item, **OLD) == faults("SkuListItem", detail, **OLD) == []
    assert [fault for line in detail["components"] for fault in faults("SkuComponent", line, **OLD)] == []
    assert faults("SkuCompliance", detail["compliance"], **OLD) == []
    batch = good(shop.post("/skus/batch", {"skus": [{"sku_code": sku["sku_code"], "name": "B"}, {"name": "C"}]}))
    assert [fault for row in batch["results"] for fault in faults("BatchRow", row, **OLD)] == []
    shop.added("doc", sku=sku["sku_code"], reference="R", status="valid")
    assert [fault for doc in shop.data("/docs") for fault in faults("DocListItem", doc, **OLD)] == []
    upload = {"data": {"type": "recyclability_assessment"}, "files": {"file": ("a.pdf", PDF, "application/pdf")}}
    file = good(shop.request("POST", f"/skus/{sku['id']}/files", **upload))["data"]
    assert faults("TechnicalFile", file, **OLD) == []
    assert faults("TechnicalFile", shop.data(f"/skus/{sku['id']}/files")[0], **OLD) == []
    sent = shop.request("POST", "/imports?filename=a.csv", content=b"sku_code;name;gtin\nOLD;Old;123\n")
    accepted = good(sent)
    assert faults("ImportAccepted", accepted, **OLD) == faults("ImportSource", accepted["source"], **OLD) == []
    report = shop.finished(accepted["poll_url"])
    assert faults("ImportStatus", report, **OLD) == faults("ImportRowError", report["errors"][0], **OLD) == []
    assert faults("Token", good(shop.token()), **OLD) == []
    assert faults("Error", shop.get(f"/skus/{uuid4()}").json(), **OLD) == []


@pytest.mark.promise("VER-02")
def test_every_field_of_1_4_1_stands_in_the_document(shop):
    schemas = good(shop.get("/openapi.json"))["components"]["schemas"]
    for record in (
        "SkuListItem",
        "SkuComponent",
        "SkuCompliance",
        "AnnexVFlag",
        "DocListItem",
        "TechnicalFile",
        "ImportAccepted",
        "ImportSource",
        "ImportRowError",
        "BatchRow",
        "Error",
    ):
        asked = {row["field"] for row in FIELDS if (row["record"], row["since"]) == (record, "1.4.1")}
        assert asked - set(schemas[record]["properties"]) == set(), record
    assert set(SKU) <= set(schemas["SkuInput"]["properties"])


@pytest.mark.promise("VER-05")
@pytest.mark.parametrize("value", [True, False, None])
def test_the_plain_booleans_of_1_4_1_declare(shop, value):
    sku = shop.made(pfas_intentional=value, svhc_declared=value, bpa_present=value)
    assert [sku[name] for name in ("pfas_intentional", "svhc_declared", "bpa_present")] == [value] * 3


@pytest.mark.promise("VER-05", "INP-21")
@pytest.mark.parametrize("value", [0, 99.5, 250, None])
def test_the_number_of_1_4_1_for_heavy_metals_is_a_measured_value(shop, value):
    assert shop.made(heavy_metals_sum_ppm=value)["heavy_metals_sum_ppm"] == value


@pytest.mark.promise("VER-05", "LSI-06")
def test_markets_of_1_4_1_are_two_letters_and_stay_so(shop):
    codes = ["FR", "DE", "IT", "ES", "GB", "US"]
    assert shop.made(markets=codes)["markets"] == codes


@pytest.mark.promise("VER-05", "TOK-02", "KEY-01")
def test_the_operations_of_1_4_1_are_where_they_were(shop, sku):
    """Each with the least that a client of then had to send."""
    body = {"sku_code": sku["sku_code"], "name": "Bottle"}
    assert good(shop.post("/skus", body))["outcome"] in ("updated", "unchanged")
    assert good(shop.put(f"/skus/{sku['id']}", body))["data"]["id"] == sku["id"]
    assert good(shop.post("/skus/batch", {"skus": [body]}))["results"][0]["index"] == 0
    bearing = shop.bearing()
    for path in ("/skus", f"/skus/{sku['id']}", f"/skus/{sku['id']}/files", "/docs"):
        assert "data" in good(bearing.get(path))
    refused(shop.put(f"/skus/{sku['id']}", {**body, "sku_code": "OTHER"}), 400, "invalid_body")
