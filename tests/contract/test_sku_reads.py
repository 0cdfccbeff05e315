"""SKUs as they are read: list items, details, component lines, the compliance block."""

from uuid import uuid4

import pytest

from tests.contract.outside import good, refused
from tests.contract.samples import VALUES
from tests.contract.shapes import faults, vocabulary

PORTION = {"packaging_level": "sales", "packaging_format": "portion_pack", "material": "plastic", "weight_grams": 2}
WRAP = {"packaging_format": "luggage_wrap", "material": "plastic", "weight_grams": 90}


@pytest.fixture(scope="module")
def full(shop):
    """A SKU with every field, and one with none but the required: what is null must be there too."""
    return shop.made(**VALUES), shop.made()


def listed(shop, sku):
    [item] = shop.data("/skus", sku_code=sku["sku_code"])
    return item


@pytest.mark.promise("SVC-01", "LSI-01", "CNV-01", "CNV-02", "LSI-04", "CNV-03")
def test_a_list_item_has_every_field_of_the_table(shop, full):
    for sku in full:
        assert faults("SkuListItem", listed(shop, sku)) == []
    assert {name for name, value in listed(shop, full[1]).items() if value is None} >= {"description", "gtin"}


@pytest.mark.promise("SKU-03", "WRT-07")
def test_the_detail_has_the_list_fields_the_input_fields_the_graph_and_the_block(shop, full):
    for sku in full:
        detail = shop.data(f"/skus/{sku['id']}")
        item = listed(shop, sku)
        assert {name: detail[name] for name in item} == item
        assert {*VALUES, "substances", "substances_source", "volumes", "components", "compliance"} <= set(detail)
        assert [fault for line in detail["components"] for fault in faults("SkuComponent", line)] == []
    refused(shop.get(f"/skus/{uuid4()}"), 404, "not_found")


@pytest.mark.promise("SCO-01", "LSI-05")
def test_the_compliance_block_says_what_the_sku_says(shop, full):
    for sku in full:
        detail = shop.data(f"/skus/{sku['id']}")
        block = detail["compliance"]
        assert faults("SkuCompliance", block) == []
        for name in ("recyclability_grade", "recyclability_score", "doc_status"):
            assert block[name] == detail[name]
    assert 0 <= shop.data(f"/skus/{full[0]['id']}")["recyclability_score"] <= 100


@pytest.mark.promise("CMP-01", "CMP-02", "CMP-03", "CMP-04")
def test_every_type_and_family_of_component_is_taken_in_its_place(shop):
    families = vocabulary("SkuComponent", "material_family")
    types = vocabulary("SkuComponent", "component_type")
    assert (len(types), len(families)) == (16, 9)
    graph = [
        {
            "component_type": part,
            "material_family": families[n % len(families)],
            "position_in_sku": len(types) - n,
            "weight_g": 1,
            "polymer_or_grade": f"Kind {n}",
        }
        for n, part in enumerate(types)
    ]
    lines = shop.data(f"/skus/{shop.made(components=graph)['id']}")["components"]
    assert [{name: line[name] for name in graph[0]} for line in lines] == graph
    assert [fault for line in lines for fault in faults("SkuComponent", line)] == []
    assert len({line["id"] for line in lines}) == len(types)


@pytest.mark.promise("CMP-05", "CMP-06", "LSI-09", "INP-16")
def test_what_a_sku_refers_to_is_read_back_and_found_in_the_lists(caller):
    brand, supplier = caller.added("brand", name="Aqua"), caller.added("supplier", name="Caps Ltd")
    made, packed = (caller.added("site", name=name, roles="manufacturing,packing") for name in ("Lyon", "Ulm"))
    cap = caller.added("component", code="CAP", name="Cap", component_type="cap", material_family="plastic")
    sku = caller.made(
        brand_id=brand["id"],
        manufacturing_site_id=made["id"],
        packing_site_id=packed["id"],
        components=[
            {"component_type": "body", "material_family": "plastic"},
            {"component_type": "cap", "supplier_id": supplier["id"], "component_id": cap["id"]},
        ],
    )
    body, line = sku["components"]
    assert (body["supplier_id"], body["component_id"]) == (None, None)
    assert (line["supplier_id"], line["component_id"]) == (supplier["id"], cap["id"])
    for field, path in (("brand_id", "/brands"), ("manufacturing_site_id", "/sites"), ("packing_site_id", "/sites")):
        assert sku[field] in [record["id"] for record in caller.data(path)]
    assert line["component_id"] in [record["id"] for record in caller.data("/components")]


@pytest.mark.promise("LSI-06", "LSI-08")
def test_markets_and_level_read_in_their_canonical_form(shop):
    sku = shop.made(markets=["fr", "us_ca"], packaging_level="tertiary")
    item = listed(shop, sku)
    assert (item["markets"], item["packaging_level"]) == (["FR", "US-CA"], "transport")


@pytest.mark.promise("SCO-02", "SCO-05")
def test_a_format_ban_is_a_flag_with_its_date_and_reason_and_no_refusal(shop):
    none = shop.made(packaging_format="bottle", material="glass", use_contexts=["beverage"])
    assert none["compliance"]["annex_v_flags"] == []
    for sku, certainty in ((PORTION, "depends"), (WRAP, "certain")):
        flags = shop.made(**sku)["compliance"]["annex_v_flags"]
        assert {flag["certainty"] for flag in flags} == {certainty}
        assert [fault for flag in flags for fault in faults("AnnexVFlag", flag)] == []
        assert all((flag["depends_on"] == []) == (certainty == "certain") for flag in flags)
        assert shop.made(**sku, markets=["GB", "FR"])["compliance"]["annex_v_flags"] == flags
        assert shop.made(**sku, markets=["GB", "US-CA"])["compliance"]["annex_v_flags"] == []


@pytest.mark.promise("SCO-03")
def test_a_grade_explains_itself(shop, full):
    trace = shop.data(f"/skus/{full[0]['id']}")["compliance"]["grade_trace"]
    assert trace["indicative"] is True
    assert {
        "ruleset_version",
        "provisional",
        "reason",
        "stream",
        "weight_share_percent",
        "limited_features",
        "cap",
        "units",
        "missing",
        "no_guideline_row",
        "assumptions",
    } <= set(trace)
    assert isinstance(trace["limited_features"], int)
    for unit in trace["units"]:
        assert {"unit", "component_ids", "grade", "score", "components"} <= set(unit)
        for part in unit["components"]:
            assert {"component_id", "component_type", "resolved_material", "share_percent", "effect", "rules"} <= set(
                part
            )
            assert all({"rule_id", "verdict", "text", "source"} <= set(rule) for rule in part["rules"])
    assert "grade_trace" not in listed(shop, full[0])


@pytest.mark.promise("SCO-04")
def test_a_format_keeps_the_callers_word_and_gives_the_known_key_beside_it(shop):
    known, unknown = shop.made(packaging_format="Bouteille"), shop.made(packaging_format="Zzyzx")
    assert (known["packaging_format"], known["packaging_format_key"] is None) == ("Bouteille", False)
    assert shop.made(packaging_format="bottle")["packaging_format_key"] == known["packaging_format_key"]
    assert (unknown["packaging_format"], unknown["packaging_format_key"]) == ("Zzyzx", None)


@pytest.mark.processes
@pytest.mark.promise("LSI-07", "DLI-01", "DLI-02", "DLI-04")
def test_doc_status_follows_the_declarations(caller, tomorrow):
    today = caller.made()["created_at"][:10]

    def after(*statuses, **dates):
        sku = caller.made()
        for status in statuses:
            caller.added("doc", sku=sku["sku_code"], reference=f"R-{status}", status=status, **dates)
        return [near.data(f"/skus/{sku['id']}")["doc_status"] for near in (caller, caller.at(tomorrow))]

    assert after() == ["missing"] * 2
    assert after("draft") == after("pending") == ["draft"] * 2
    assert after("rejected") == ["missing"] * 2
    assert after("draft", "valid") == ["valid"] * 2
    assert after("valid", expires_on=today) == ["valid", "expired"]
    items = caller.data("/docs")
    assert [fault for item in items for fault in faults("DocListItem", item)] == []
    states = {item["id"]: item["status"] for item in caller.at(tomorrow).data("/docs")}
    [last] = [item for item in items if item["expires_on"] == today]
    assert (last["status"], states[last["id"]]) == ("valid", "expired")


@pytest.mark.promise("LST-01", "LST-04", "CNV-11", "PAR-01", "PAR-02")
def test_the_sku_list_is_newest_first_in_pages_that_join(caller):
    made = [caller.made()["id"] for _ in range(5)]
    pages = [good(caller.get("/skus", params={"limit": 2, "offset": offset})) for offset in (0, 2, 4, 6)]
    assert [item["id"] for page in pages for item in page["data"]] == made[::-1]
    assert [page["pagination"] for page in pages] == [
        {"limit": 2, "offset": offset, "total": 5} for offset in (0, 2, 4, 6)
    ]


@pytest.mark.promise("LST-05")
def test_the_sku_list_is_filtered_by_code_and_by_instant(caller):
    first, second, third = (caller.made() for _ in range(3))
    page = good(caller.get("/skus", params={"sku_code": [first["sku_code"], third["sku_code"], "none"]}))
    assert [item["id"] for item in page["data"]] == [third["id"], first["id"]]
    assert page["pagination"]["total"] == 2
    since = good(caller.get("/skus", params={"updated_since": second["updated_at"]}))
    assert [item["id"] for item in since["data"]] == [third["id"], second["id"]]
    assert since["pagination"]["total"] == 2
    assert [i["code"] for i in refused(caller.get("/skus?updated_since=soon"), 400, "invalid_body")] == [
        "invalid_format"
    ]


@pytest.mark.promise("LST-21")
def test_as_of_is_the_instant_to_ask_from_next_time(caller):
    caller.made()
    as_of = good(caller.get("/skus"))["as_of"]
    assert good(caller.get("/skus", params={"updated_since": as_of}))["data"] == []
    second = caller.made()
    page = good(caller.get("/skus", params={"updated_since": as_of}))
    assert [item["id"] for item in page["data"]] == [second["id"]]
    assert good(caller.get("/skus", params={"updated_since": page["as_of"]}))["pagination"]["total"] == 0


@pytest.mark.promise("LST-22")
def test_a_body_is_bounded_and_its_texts_have_one_form(caller):
    wrong = {f"field_{number}": 1 for number in range(150)}
    details = caller.post("/skus", {"sku_code": "A", "name": "n", **wrong}).json()["details"]
    assert (len(details), details[-1]) == (101, {"code": "more", "count": 50})
    graph = [{"component_type": "body", "material_family": "glass"}] * 501
    issues = refused(caller.post("/skus", {"sku_code": "A", "name": "n", "components": graph}), 400, "invalid_body")
    assert [(issue["code"], issue["field"]) for issue in issues] == [("out_of_range", "components")]
    issues = refused(caller.post("/skus", {"sku_code": "A", "name": "n\x1b"}), 400, "invalid_body")
    assert [(issue["code"], issue["field"]) for issue in issues] == [("invalid_format", "name")]
    assert caller.made(sku_code="Cafe\u0301\u200b")["sku_code"] == "Café"


@pytest.mark.promise("PAR-04")
def test_a_code_is_no_id(shop):
    sku = shop.made(sku_code=f"CODE-{uuid4()}")
    refused(shop.get(f"/skus/{sku['sku_code']}"), 404, "not_found")
    assert shop.get(f"/skus/{sku['id']}").status_code == 200
