"""What a SKU write takes, field by field: types, vocabularies, bounds, and the forms that are normalised."""

from uuid import uuid4

import pytest

from tests.contract.outside import codes, refused
from tests.contract.samples import CONTEXTS, SUBSTANCES, VALUES, VOCABULARIES

LINE = {"component_type": "body", "material_family": "plastic"}


def wrong(caller, field: str, value: object) -> list[str]:
    """The issue codes for one field of an otherwise right body; nothing else may be named."""
    answer = caller.post("/skus", {"sku_code": f"W-{uuid4()}", "name": "W", field: value})
    issues = refused(answer, 400, "invalid_body")
    assert issues
    assert {str(issue["field"]).split(".")[0].split("[")[0] for issue in issues} <= {field}, issues
    assert all(issue["message"] for issue in issues)
    return [issue["code"] for issue in issues]


@pytest.mark.promise("INP-02", "INP-05", "INP-06", "CNV-03")
def test_every_optional_field_is_taken_and_read_back(shop):
    sku = shop.made(**VALUES)
    read = shop.data(f"/skus/{sku['id']}")
    components = read.pop("components")
    assert {name: read[name] for name in VALUES if name != "components"} == {
        name: value for name, value in VALUES.items() if name != "components"
    }
    assert [(line["component_type"], line["weight_g"]) for line in components] == [("body", 26)]


@pytest.mark.promise("INP-02", "WRT-02", "INP-23", "INP-18")
def test_every_optional_field_takes_null_which_clears_it(shop):
    sku = shop.made(**VALUES)
    for field in VALUES:
        cleared = shop.made(sku_code=sku["sku_code"], **{field: None})
        held = 26 if field == "weight_grams" else None  # the weight of the parts, while there are parts
        assert cleared[field] in ([], held), field
    assert shop.made(sku_code=sku["sku_code"], reuse_deposit_system=False)["reuse_deposit_system"] is False


@pytest.mark.promise("WRT-01", "INP-06")
def test_a_field_that_is_left_out_stays(shop):
    sku = shop.made(**VALUES)
    again = shop.made(sku_code=sku["sku_code"], name="Renamed")
    assert again == {**sku, "name": "Renamed", "updated_at": again["updated_at"], "version": 2}


@pytest.mark.promise("INP-01", "ERR-14")
@pytest.mark.parametrize(
    ("body", "issues"),
    [
        ({"name": "N"}, {("sku_code", "required")}),
        ({"sku_code": "S"}, {("name", "required")}),
        ({"sku_code": None, "name": None}, {("sku_code", "not_null"), ("name", "not_null")}),
        ({"sku_code": "", "name": ""}, {("sku_code", "too_short"), ("name", "too_short")}),
        ({"sku_code": "  ", "name": "N"}, {("sku_code", "too_short")}),
        ({"sku_code": "S" * 256, "name": "N" * 501}, {("sku_code", "too_long"), ("name", "too_long")}),
        ({"sku_code": 7, "name": True}, {("sku_code", "invalid_type"), ("name", "invalid_type")}),
    ],
)
def test_code_and_name_are_required_and_bounded(shop, body, issues):
    answer = shop.post("/skus", body)
    assert {(issue["field"], issue["code"]) for issue in refused(answer, 400, "invalid_body")} == issues


@pytest.mark.promise("INP-01", "INP-24")
def test_the_longest_texts_are_taken(shop):
    code = f"{uuid4()}".ljust(255, "x")
    longest = shop.made(sku_code=code, name="N" * 500, description="D" * 32_767, product_category="P" * 2000)
    assert (longest["sku_code"], len(longest["description"])) == (code, 32_767)
    assert wrong(shop, "description", "D" * 32_768) == wrong(shop, "material_subtype", "x" * 2001) == ["too_long"]


@pytest.mark.promise("INP-03", "END-04", "SVC-03")
@pytest.mark.parametrize(
    "field", ["colour_of_sky", "id", "company_id", "recyclability_grade", "created_at", "SKU_CODE"]
)
def test_an_unknown_field_is_refused(shop, field):
    assert wrong(shop, field, "x") == ["unknown_field"]


@pytest.mark.promise("INP-04", "LSI-04")
@pytest.mark.parametrize("field", VOCABULARIES)
def test_a_vocabulary_takes_its_codes_and_no_other(shop, field):
    code = f"V-{uuid4()}"
    for word in VOCABULARIES[field]:
        read = shop.made(sku_code=code, **{field: word})
        assert field == "substances_source" or read[field] == word
    assert set(wrong(shop, field, "no such word")) == {"not_in_vocabulary"}
    assert set(wrong(shop, field, 7)) <= {"invalid_type", "not_in_vocabulary"}


@pytest.mark.promise("INP-04", "INP-19", "INP-23")
def test_use_contexts_hold_what_was_sent(shop):
    sku = shop.made(use_contexts=CONTEXTS)
    assert sku["use_contexts"] == CONTEXTS
    assert shop.made(sku_code=sku["sku_code"], use_contexts=[])["use_contexts"] == []
    assert wrong(shop, "use_contexts", ["garden"]) == ["not_in_vocabulary"]


@pytest.mark.promise("INP-05", "ERR-14")
@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("weight_grams", -1, "out_of_range"), ("weight_grams", "26.5", "invalid_type"),
        ("weight_grams", True, "invalid_type"), ("recycled_content_percent", 100.5, "out_of_range"),
        ("empty_space_ratio", -0.1, "out_of_range"), ("empty_space_ratio", 101, "out_of_range"),
        ("food_contact", "yes", "invalid_type"), ("food_contact", 1, "invalid_type"),
        ("reusable", "no", "invalid_type"), ("material_marking_applied", 0, "invalid_type"),
        ("reuse_cycles_target", 2.5, "invalid_type"), ("markets", "FR", "invalid_type"),
        ("brand_id", "no uuid", "invalid_format"), ("components", {}, "invalid_type"),
        ("substances", [], "invalid_type"), ("use_contexts", {}, "invalid_type"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_or_beyond_its_bounds_is_refused(shop, field, value, code):
    assert wrong(shop, field, value) == [code]


@pytest.mark.promise("INP-05")
@pytest.mark.parametrize("field", ["empty_space_ratio", "recycled_content_percent"])
def test_a_percentage_takes_both_its_ends(shop, field):
    assert [shop.made(**{field: end})[field] for end in (0, 100)] == [0, 100]


@pytest.mark.promise("INP-11", "INP-12", "INP-13", "LSI-06")
def test_markets_are_stored_in_one_form(shop):
    assert shop.made(markets=["fr", "De", "us_ca", "us ca", "US-ME", "UK", "uk"])["markets"] in (
        ["FR", "DE", "US-CA", "US-ME", "GB"],
        ["FR", "DE", "US-CA", "US-CA", "US-ME", "GB", "GB"],
    )
    assert shop.made(markets=["FR-IDF", "de-by"])["markets"] == ["FR", "DE"]
    assert shop.made(markets=["JP"])["markets"] == ["JP"]
    assert shop.made(markets=[])["markets"] == []
    for nowhere in ("ZZ", "Europe", "F", "ZZ-AA", ""):
        assert wrong(shop, "markets", [nowhere]) == ["unknown_market"], nowhere


@pytest.mark.promise("INP-14")
def test_a_gtin_is_held_to_its_check_digit(shop):
    for right in ("96385074", "036000291452", "4006381333931", "00012345600012"):
        assert shop.made(gtin=right)["gtin"] == right
    for bad in ("4006381333930", "123", "40063813339311", "400638133393X"):
        assert wrong(shop, "gtin", bad) == ["invalid_gtin"]


@pytest.mark.promise("INP-15", "LSI-08")
@pytest.mark.parametrize(
    ("word", "level"),
    [
        ("primary", "sales"), ("secondary", "grouped"), ("grouping", "grouped"), ("tertiary", "transport"),
        ("Primary", "sales"), ("primaire", "sales"), ("secondaire", "grouped"), ("tertiaire", "transport"),
        ("e_commerce", "e_commerce"),
    ],
)  # fmt: skip
def test_words_for_a_level_are_normalised(shop, word, level):
    assert shop.made(packaging_level=word)["packaging_level"] == level


@pytest.mark.promise("INP-07", "INP-08")
def test_substances_declare_and_what_is_left_out_stays(shop):
    entry = {"status": "below_limit", "value": 3, "unit": "mg_per_kg", "source": "test_report", "evidence": "Lab 7"}
    sent = {
        "pfas": entry,
        "svhc": {"status": "absent"},
        "bpa": {"status": "unknown"},
        "heavy_metals": {**entry, "status": "above_limit", "value": 120},
    }
    sku = shop.made(substances=sent)
    for name in SUBSTANCES:
        assert {key: sku["substances"][name][key] for key in sent[name]} == sent[name]
    changed = shop.made(sku_code=sku["sku_code"], substances={"pfas": None, "bpa": {"status": "absent"}})
    expected = {**sku["substances"], "pfas": None, "bpa": {**sku["substances"]["bpa"], "status": "absent"}}
    assert changed["substances"] == expected
    assert wrong(shop, "substances", {"lead": {"status": "absent"}}) == ["unknown_field"]
    assert wrong(shop, "substances", {"pfas": {"status": "maybe"}}) == ["not_in_vocabulary"]


@pytest.mark.promise("INP-09")
def test_a_component_declares_substances_of_its_own(shop):
    sku = shop.made(components=[{**LINE, "substances": {"bpa": {"status": "above_limit"}}}])
    assert sku["components"][0]["substances"]["bpa"]["status"] == "above_limit"
    assert sku["substances"] is None or sku["substances"]["bpa"] is None


@pytest.mark.promise("INP-10", "INP-20", "INP-06")
def test_legacy_fields_become_declarations_and_are_still_read(shop):
    assert shop.made(bpa_present=True)["substances"]["bpa"]["source"] == "imported"
    sku = shop.made(pfas_intentional=True, svhc_declared=False, bpa_present=None, substances_source="own_assessment")
    held = sku["substances"]
    assert [(held[name]["status"], held[name]["source"]) for name in ("pfas", "svhc")] == [
        ("above_limit", "own_assessment"),
        ("absent", "own_assessment"),
    ]
    assert (sku["pfas_intentional"], sku["svhc_declared"], sku["bpa_present"]) == (True, False, None)
    states = {"above_limit": True, "absent": False, "below_limit": False, "unknown": None}
    for status, truth in states.items():
        assert shop.made(substances={"svhc": {"status": status}})["svhc_declared"] is truth


@pytest.mark.promise("INP-21")
def test_heavy_metals_are_measured_or_attested(shop):
    def held(value):
        sku = shop.made(heavy_metals_sum_ppm=value)
        entry = sku["substances"]["heavy_metals"]
        return entry["status"], entry["value"], sku["heavy_metals_sum_ppm"]

    assert held(12.5) == ("below_limit", 12.5, 12.5)
    assert held(100.5) == ("above_limit", 100.5, 100.5)
    assert held("<100") == ("below_limit", None, "<100")
    assert held("<50")[2] == "<50"
    for bad in ("<200", "100", "less", -1):
        assert wrong(shop, "heavy_metals_sum_ppm", bad)


@pytest.mark.promise("INP-17", "INP-16")
def test_references_are_of_the_own_company(caller, other):
    brand = caller.added("brand", name="Aqua", owner_name="Aqua Holding")
    foreign = other.added("brand", name="Aqua")
    assert caller.made(brand_id=brand["id"])["brand_id"] == brand["id"]
    assert caller.data("/brands") == [brand]
    for unknown in (foreign["id"], str(uuid4())):
        for field in ("brand_id", "manufacturing_site_id", "packing_site_id"):
            assert wrong(caller, field, unknown) == ["unknown_reference"]
    assert codes(caller.post("/skus", {"sku_code": "B", "name": "B", "brand_owner_name": "Aqua"})) == ["unknown_field"]
