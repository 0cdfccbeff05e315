"""What a SKU write does: upsert, merge, replace, refuse, grade, and say what it did."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from tests.contract.outside import codes, good, refused
from tests.contract.samples import VALUES

BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20}
CAP = {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "HDPE", "weight_g": 2}
PFAS = {"food_contact": True, "substances": {"pfas": {"status": "above_limit"}}, "markets": ["FR"]}


def audited(caller, resource_id: str) -> list[dict]:
    return [entry for entry in caller.data("/audit-log", limit=200) if entry["resource_id"] == resource_id]


@pytest.mark.promise("SKU-01", "WRT-05", "LSI-03", "LSI-02")
def test_an_unknown_code_creates_and_a_known_one_updates(shop):
    code = f"U-{uuid4()}"
    first = shop.post("/skus", {"sku_code": f"  {code} ", "name": "One"})
    second = shop.post("/skus", {"sku_code": code, "name": "Two"})
    lower = shop.post("/skus", {"sku_code": code.lower(), "name": "Three"})
    assert [answer.status_code for answer in (first, second, lower)] == [201, 200, 201]
    created, updated = first.json(), second.json()
    assert (created["outcome"], updated["outcome"]) == ("created", "updated")
    assert (created["dry_run"], created["warnings"]) == (False, [])
    assert created["data"]["sku_code"] == code
    assert updated["data"]["id"] == created["data"]["id"] != lower.json()["data"]["id"]
    assert updated["data"] == shop.data(f"/skus/{created['data']['id']}")


@pytest.mark.promise("WRT-06", "LSI-10")
def test_a_write_that_changes_nothing_leaves_nothing_behind(caller):
    body = {"sku_code": "N-1", "name": "N", **VALUES}
    sku = good(caller.post("/skus", body))["data"]
    again = good(caller.post("/skus", body))
    assert (again["outcome"], again["data"]["updated_at"]) == ("unchanged", sku["updated_at"])
    assert [entry["action"] for entry in audited(caller, sku["id"])] == ["sku.created"]
    changed = good(caller.post("/skus", {**body, "name": "M"}))["data"]
    assert changed["updated_at"] > sku["updated_at"] >= sku["created_at"] == changed["created_at"]


@pytest.mark.promise("SKU-04")
def test_put_updates_the_addressed_sku_and_no_other(shop):
    sku = shop.made(**VALUES)
    answer = shop.put(f"/skus/{sku['id']}", {"sku_code": sku["sku_code"], "name": "Put"})
    assert (answer.status_code, answer.json()["outcome"]) == (200, "updated")
    written = answer.json()["data"]
    assert written == {**sku, "name": "Put", "updated_at": written["updated_at"], "version": 2}
    other = {"sku_code": f"O-{uuid4()}", "name": "Put"}
    assert codes(shop.put(f"/skus/{sku['id']}", other)) == ["sku_code_mismatch"]
    refused(shop.put(f"/skus/{uuid4()}", other), 404, "not_found")


@pytest.mark.promise("INP-22", "CMP-13", "WRT-03", "SVC-10")
def test_components_replace_the_graph_and_the_grade_follows(shop):
    sku = shop.made(components=[BODY, CAP], packaging_format="bottle")
    code, ids = sku["sku_code"], [line["id"] for line in sku["components"]]
    kept = shop.made(sku_code=code, name="Renamed")
    assert kept["components"] == sku["components"]
    changed = shop.made(sku_code=code, components=[CAP, {**BODY, "colour": "carbon_black"}])
    assert [line["id"] for line in changed["components"]] == ids[::-1]
    assert sku["recyclability_grade"] != changed["recyclability_grade"]
    one = shop.made(sku_code=code, components=[BODY])
    assert [line["id"] for line in one["components"]] == ids[:1]
    empty = shop.made(sku_code=code, components=[])
    assert (empty["components"], empty["recyclability_grade"]) == ([], "not_assessed")
    again = shop.made(sku_code=code, components=[BODY, CAP])
    assert again["recyclability_score"] == sku["recyclability_score"]


@pytest.mark.promise("SVC-10", "WRT-03")
@pytest.mark.parametrize("method", ["post", "put", "batch", "import"])
def test_every_door_grades_anew(shop, method):
    sku = shop.made(components=[BODY, CAP], packaging_format="bottle")
    dark = [{**BODY, "colour": "carbon_black"}, CAP]
    body = {"sku_code": sku["sku_code"], "name": "Dark", "components": dark}
    if method == "post":
        good(shop.post("/skus", body))
    elif method == "put":
        good(shop.put(f"/skus/{sku['id']}", body))
    elif method == "batch":
        [row] = good(shop.post("/skus/batch", {"skus": [body]}))["results"]
        assert row["recyclability_grade"] != sku["recyclability_grade"]
    else:
        header = "sku_code;name;component_type;material_family;polymer_or_grade;component_weight_g;colour\n"
        lines = [
            f"{sku['sku_code']};Dark;{p['component_type']};plastic;{p['polymer_or_grade']};{p['weight_g']};"
            f"{p.get('colour', '')}\n"
            for p in dark
        ]
        report = shop.imported((header + "".join(lines)).encode())
        assert report["counts"]["updated"] == 1, report["errors"]
    read = shop.data(f"/skus/{sku['id']}")
    assert read["name"] == "Dark"
    assert read["recyclability_grade"] != sku["recyclability_grade"]


@pytest.mark.promise("CMP-07", "CMP-08", "CMP-09", "CMP-12")
def test_a_component_line_is_validated_and_filled_from_the_library(caller):
    supplier = caller.added("supplier", name="Caps Ltd")
    library = caller.added(
        "component",
        code="CAP-7",
        name="Cap",
        component_type="cap",
        material_family="plastic",
        polymer_or_grade="HDPE",
        weight_g=1.5,
        supplier_id=supplier["id"],
        colour="light",
        recycled_content_percent=25,
    )

    def issues(line):
        answer = caller.post("/skus", {"sku_code": "L", "name": "L", "components": [BODY, line]})
        return {(issue["field"], issue["code"]) for issue in refused(answer, 400, "invalid_body")}

    assert issues({"material_family": "plastic"}) == {("components[1].component_type", "required")}
    assert issues({"component_type": "cap"}) == {("components[1].material_family", "required")}
    assert issues({**CAP, "colours": 1}) == {("components[1].colours", "unknown_field")}
    assert issues({**CAP, "adhesive_type": "honey"}) == {("components[1].adhesive_type", "not_in_vocabulary")}
    assert issues({**CAP, "weight_g": -1}) == {("components[1].weight_g", "out_of_range")}
    assert issues({**CAP, "component_id": str(uuid4())}) == {("components[1].component_id", "unknown_reference")}
    assert issues({**CAP, "supplier_id": str(uuid4())}) == {("components[1].supplier_id", "unknown_reference")}
    sku = caller.made(components=[BODY, {"component_type": "cap", "component_id": library["id"], "weight_g": 3}])
    given = {"weight_g": 3}
    filled = {"material_family", "polymer_or_grade", "supplier_id", "colour", "recycled_content_percent", *given}
    assert {name: sku["components"][1][name] for name in filled} == {name: library[name] for name in filled} | given
    nulls = caller.made(
        components=[{**BODY, "colour": None, "supplier_id": None, "additives": None, "substances": None}]
    )
    assert nulls["components"][0]["colour"] is None


@pytest.mark.promise("CMP-10", "CMP-11")
def test_the_further_component_fields_are_read_back_and_bounded(shop):
    line = {
        **BODY,
        "colour": "dark",
        "coverage_percent": 40,
        "separable": True,
        "attachment": "welded",
        "recycled_content_percent": 30,
        "adhesive_type": "hot_melt",
        "ink_type": "metallic",
        "coating_type": "wax",
        "density_g_cm3": 0.95,
        "thickness_um": 40,
        "metallised": False,
        "direct_print": True,
        "additives": ["uv_stabiliser"],
    }
    [read] = shop.made(components=[line])["components"]
    assert {name: read[name] for name in line} == line
    for field, value in (
        ("coverage_percent", 101),
        ("recycled_content_percent", -1),
        ("density_g_cm3", -1),
        ("thickness_um", -1),
    ):
        body = {"sku_code": "X", "name": "X", "components": [{**BODY, field: value}]}
        assert codes(shop.post("/skus", body)) == ["out_of_range"]
    assert shop.made(components=[BODY])["recyclability_grade"] is not None


@pytest.mark.promise("WRT-09")
def test_the_parts_make_the_weight_or_are_compared_with_it(shop):
    sku = shop.made(components=[BODY, CAP])
    assert sku["weight_grams"] == 22
    assert shop.made(sku_code=sku["sku_code"], components=[BODY])["weight_grams"] == 20
    for total, warned in ((23, False), (24, True), (20, True)):
        answer = shop.post(
            "/skus", {"sku_code": f"M-{total}", "name": "M", "weight_grams": total, "components": [BODY, CAP]}
        )
        warnings = [warning["code"] for warning in good(answer)["warnings"]]
        assert ("weight_mismatch" in warnings) is warned


@pytest.mark.promise("WRT-10")
@pytest.mark.parametrize(
    ("substance", "value", "unit", "basis", "breach"),
    [
        ("pfas", 25, "ppb", None, True), ("pfas", 24.9, "ppb", None, False), ("pfas", 250, "ppb", "sum", True),
        ("pfas", 249, "ppb", "sum", False), ("pfas", 50, "mg_per_kg", "total", True),
        ("pfas", 49, "mg_per_kg", None, False), ("svhc", 0.1001, "percent_w_w", None, True),
        ("svhc", 1001, "mg_per_kg", None, True), ("svhc", 900, "mg_per_kg", None, False),
        ("heavy_metals", 100, "mg_per_kg", None, False), ("heavy_metals", 100.1, "mg_per_kg", None, True),
    ],
)  # fmt: skip
def test_a_value_decides_the_status(shop, substance, value, unit, basis, breach):  # noqa: PLR0917
    right, wrong = ("above_limit", "below_limit") if breach else ("below_limit", "above_limit")
    entry = {"value": value, "unit": unit, "basis": basis}
    assert shop.made(substances={substance: {**entry, "status": right}})["substances"][substance]["status"] == right
    body = {"sku_code": f"C-{uuid4()}", "name": "C", "substances": {substance: {**entry, "status": wrong}}}
    assert codes(shop.post("/skus", body)) == ["substance_status_contradicts_value"]


@pytest.mark.promise("WRT-11")
def test_two_declarations_of_one_substance_must_agree(shop):
    body = {"sku_code": f"C-{uuid4()}", "name": "C", "bpa_present": True, "substances": {"bpa": {"status": "absent"}}}
    assert codes(shop.post("/skus", body)) == ["conflicting_declaration"]
    sku = shop.made(bpa_present=False, substances={"bpa": {"status": "absent"}})
    assert (sku["bpa_present"], sku["substances"]["bpa"]["status"]) == (False, "absent")


@pytest.mark.promise("WRT-12")
def test_a_read_can_be_written_back(shop):
    sku = shop.made(**VALUES, substances={"pfas": {"status": "absent", "source": "test_report"}})
    fields = {"sku_code", "name", *VALUES, "substances", "substances_source"}
    body = {name: value for name, value in shop.data(f"/skus/{sku['id']}").items() if name in fields}
    body["components"] = [{name: v for name, v in line.items() if name != "id"} for line in body["components"]]
    assert good(shop.post("/skus", body))["outcome"] == "unchanged"


@pytest.mark.promise("WRT-13")
def test_pfas_in_food_contact_is_refused_whichever_fact_comes_last(shop):
    def refusal(answer):
        [issue] = refused(answer, 400, "invalid_body")
        assert (issue["code"], issue["field"]) == ("pfas_food_contact_prohibited", "substances.pfas")
        assert "5(5)" in issue["message"]

    refusal(shop.post("/skus", {"sku_code": f"P-{uuid4()}", "name": "P", **PFAS}))
    for last, value in PFAS.items():
        sku = shop.made(**{name: fact for name, fact in PFAS.items() if name != last})
        refusal(shop.post("/skus", {"sku_code": sku["sku_code"], "name": "P", last: value}))
        refusal(shop.put(f"/skus/{sku['id']}", {"sku_code": sku["sku_code"], "name": "P", last: value}))
        assert shop.data(f"/skus/{sku['id']}") == sku
    part = {**BODY, "substances": PFAS["substances"]}
    refusal(
        shop.post("/skus", {"sku_code": f"P-{uuid4()}", "name": "P", **PFAS, "substances": None, "components": [part]})
    )
    assert shop.made(**{**PFAS, "markets": ["US-CA", "GB"]})
    assert shop.made(**{**PFAS, "food_contact": False})
    legacy = {"food_contact": True, "pfas_intentional": True, "markets": ["DE"]}
    refusal(shop.post("/skus", {"sku_code": f"P-{uuid4()}", "name": "P", **legacy}))


@pytest.mark.promise("WRT-13")
def test_in_a_batch_and_an_import_only_the_pfas_row_is_rejected(shop):
    bad, fine = f"P-{uuid4()}", f"P-{uuid4()}"
    answer = good(
        shop.post("/skus/batch", {"skus": [{"sku_code": bad, "name": "P", **PFAS}, {"sku_code": fine, "name": "P"}]})
    )
    assert [row["outcome"] for row in answer["results"]] == ["rejected", "created"]
    assert [issue["code"] for issue in answer["results"][0]["errors"]] == ["pfas_food_contact_prohibited"]
    file = f"sku_code;name;food_contact;pfas_status;markets\n{bad};P;yes;above_limit;FR\n{fine};Q;yes;absent;FR\n"
    report = shop.imported(file.encode())
    assert [error["code"] for error in report["errors"]] == ["pfas_food_contact_prohibited"]
    assert (report["counts"]["updated"], report["counts"]["rejected"]) == (1, 1)


@pytest.mark.promise("WRT-16")
def test_units_make_a_market_in_effect_whichever_way_they_are_written(shop):
    """decisions §13: as if `markets` named it; units of 2025 alone make none, and lower units are never refused."""
    sold = {"market": "DE", "year": 2026, "units_placed": 50_000}
    facts = {name: fact for name, fact in PFAS.items() if name != "markets"}
    sku = shop.made(**facts)
    path = f"/skus/{sku['id']}/volumes"
    assert good(shop.put(path, [{**sold, "year": 2025}]))["warnings"] == []
    for params in ({"dry_run": "true"}, {}):
        assert codes(shop.put(path, [sold], params=params)) == ["pfas_food_contact_prohibited"]
    row = {"sku_code": f"P-{uuid4()}", "name": "P", **facts, "volumes": [sold]}
    for dry_run in (True, False):
        [result] = good(shop.post("/skus/batch", {"skus": [row], "dry_run": dry_run}))["results"]
        assert [issue["code"] for issue in result["errors"]] == ["pfas_food_contact_prohibited"]
    plain = shop.made(food_contact=True)
    good(shop.put(f"/skus/{plain['id']}/volumes", [sold]))
    body = {"sku_code": plain["sku_code"], "name": "P", "substances": PFAS["substances"]}
    [issue] = refused(shop.post("/skus", body), 400, "invalid_body")
    assert (issue["field"], "units of 2026 (50000) make DE a market" in issue["message"]) == ("substances.pfas", True)
    assert shop.data(f"/skus/{plain['id']}")["markets"] is None


@pytest.mark.promise("WRT-17")
def test_pfas_is_refused_for_the_territories_of_the_union(shop):
    for code, state in {"RE": "FR", "GP": "FR", "AX": "FI"}.items():
        assert shop.made(markets=[code])["markets"] == [state]
        body = {"sku_code": f"P-{uuid4()}", "name": "P", **PFAS, "markets": [code]}
        assert codes(shop.post("/skus", body)) == ["pfas_food_contact_prohibited"]


@pytest.mark.promise("WRT-18")
def test_a_file_is_told_part_market_and_column(shop):
    """Without a column of PFAS the refusal still has its name; units of a column make the market."""
    code = f"P-{uuid4()}"
    shop.made(sku_code=code, food_contact=True, substances=PFAS["substances"])
    report = shop.imported(f"sku_code;name;annual_volume_re_2026\n{code};;7\n".encode())
    [error] = report["errors"]
    assert (error["code"], error["field"], error["column"]) == ("pfas_food_contact_prohibited", "pfas_status", None)
    for part in ("the packaging itself", "units of 2026 (7) make FR a market", "archive it"):
        assert part in error["message"]


@pytest.mark.processes
@pytest.mark.promise("WRT-14", "WRT-15")
def test_what_was_written_before_the_law_is_readable_and_no_longer_writable(caller, before_the_law):
    early = caller.at(before_the_law)
    sku = early.made(**PFAS)
    assert (sku["food_contact"], sku["substances"]["pfas"]["status"]) == (True, "above_limit")
    assert caller.data(f"/skus/{sku['id']}")["name"] == sku["name"]
    body = {"sku_code": sku["sku_code"], "name": sku["name"]}
    assert codes(caller.post("/skus", body)) == ["pfas_food_contact_prohibited"]
    assert codes(caller.put(f"/skus/{sku['id']}/volumes", [{"market": "FR", "year": 2026, "units_placed": 1}])) == [
        "pfas_food_contact_prohibited"
    ]
    assert good(caller.post("/skus", {**body, "food_contact": False}))["outcome"] == "updated"


@pytest.mark.promise("WRT-08", "CMP-13")
def test_concurrent_writes_to_one_sku_are_all_kept_in_a_row(caller):
    sku = caller.made()
    with ThreadPoolExecutor(8) as threads:
        names = [f"Name {number}" for number in range(24)]
        answers = list(threads.map(lambda n: caller.post("/skus", {"sku_code": sku["sku_code"], "name": n}), names))
    assert {answer.status_code for answer in answers} == {200}
    entries = audited(caller, sku["id"])[::-1]
    assert sorted(entry["after"]["name"] for entry in entries[1:]) == sorted(names)
    chain = [sku["name"], *(entry["after"]["name"] for entry in entries[1:])]
    assert [entry["before"]["name"] for entry in entries[1:]] == chain[:-1]
    assert caller.data(f"/skus/{sku['id']}")["name"] == chain[-1]


@pytest.mark.promise("WRT-04")
def test_every_door_stores_the_same_record_and_refuses_the_same(shop):
    fields = {
        "material": "paper",
        "weight_grams": 12.5,
        "food_contact": True,
        "markets": ["uk", "de"],
        "packaging_level": "primary",
        "gtin": "96385074",
        "bpa_present": True,
    }
    names = [f"{door}-{uuid4()}" for door in ("post", "put", "batch", "import")]
    put = shop.made(sku_code=names[1], name="Before")
    good(shop.post("/skus", {"sku_code": names[0], "name": "N", **fields}))
    good(shop.put(f"/skus/{put['id']}", {"sku_code": names[1], "name": "N", **fields}))
    good(shop.post("/skus/batch", {"skus": [{"sku_code": names[2], "name": "N", **fields}]}))
    cells = ["paper", "12.5", "true", "uk,de", "primary", "96385074", "true"]
    header = ";".join(["sku_code", "name", *fields])
    report = shop.imported(f"{header}\n{names[3]};N;{';'.join(cells)}\n".encode())
    assert report["counts"]["created"] == 1, report
    own = {"id", "sku_code", "created_at", "updated_at", "version"}
    records = [
        {field: value for field, value in shop.data(f"/skus/{row['id']}").items() if field not in own}
        for row in shop.data("/skus", sku_code=names)
    ]
    assert len(records) == 4
    assert all(record == records[0] for record in records[1:])
    bad = {**fields, "gtin": "96385075"}
    [row] = good(shop.post("/skus/batch", {"skus": [{"sku_code": "Z", "name": "N", **bad}]}))["results"]
    cells[5] = "96385075"
    report = shop.imported(f"{header}\nZ;N;{';'.join(cells)}\n".encode())
    single = codes(shop.post("/skus", {"sku_code": "Z", "name": "N", **bad}))
    assert single == [issue["code"] for issue in row["errors"]] == [e["code"] for e in report["errors"]]
    assert codes(shop.put(f"/skus/{put['id']}", {"sku_code": names[1], "name": "N", **bad})) == single


@pytest.mark.promise("PAR-03", "ERR-16")
def test_a_dry_run_answers_what_would_be_and_writes_nothing(caller):
    body = {"sku_code": "D-1", "name": "D", **VALUES}
    dry = caller.post("/skus?dry_run=true", body)
    assert (dry.status_code, dry.json()["outcome"], dry.json()["dry_run"]) == (200, "created", True)
    assert dry.json()["data"]["id"] is None
    assert good(caller.get("/skus"))["pagination"]["total"] == 0
    sku = good(caller.post("/skus?dry_run=0", body))["data"]
    assert dry.json()["data"]["recyclability_grade"] == sku["recyclability_grade"]
    changed = caller.put(f"/skus/{sku['id']}?dry_run=1", {**body, "name": "E"})
    assert (changed.status_code, changed.json()["data"]["name"], changed.json()["dry_run"]) == (200, "E", True)
    for unclear in ("yes", "", "TRUE", "2"):
        assert codes(caller.post(f"/skus?dry_run={unclear}", {**body, "sku_code": "D-2"}))
    assert caller.data("/skus") == [{name: sku[name] for name in caller.data("/skus")[0]}]
    assert [entry["action"] for entry in audited(caller, sku["id"])] == ["sku.created"]


@pytest.mark.promise("SKU-05")
def test_a_what_if_answers_what_the_write_then_does_and_stores_nothing(caller):
    sku = caller.made(components=[BODY, CAP], packaging_format="bottle")
    address, before = f"/skus/{sku['id']}", len(audited(caller, sku["id"]))
    dark = {"sku_code": sku["sku_code"], "name": "Dark", "components": [{**BODY, "colour": "carbon_black"}, CAP]}
    asked = good(caller.post(f"{address}/what-if", dark))
    assert asked == good(caller.post("/skus/what-if", dark))
    assert (asked["outcome"], asked["id"], asked["sku_code"]) == ("updated", sku["id"], sku["sku_code"])
    assert (caller.data(address), len(audited(caller, sku["id"]))) == (sku, before)
    written = good(caller.put(address, dark))["data"]
    assert written["recyclability_grade"] != sku["recyclability_grade"]
    for name in ("recyclability_grade", "recyclability_score", "annex_v_flags"):
        assert asked["compliance"][name] == written["compliance"][name]
    assert asked["compliance"]["grade_trace"]["reason"] == written["compliance"]["grade_trace"]["reason"]


@pytest.mark.promise("SKU-05")
def test_a_what_if_of_an_unknown_code_makes_no_sku_and_refuses_as_the_write_does(caller):
    sku = caller.made()
    new = {"sku_code": "NEW-1", "name": "New", "components": [BODY]}
    asked = good(caller.post("/skus/what-if", new))
    assert (asked["outcome"], asked["id"]) == ("created", None)
    assert caller.data("/skus", sku_code="NEW-1") == []
    assert codes(caller.post(f"/skus/{sku['id']}/what-if", new)) == ["sku_code_mismatch"]
    assert codes(caller.post("/skus/what-if", {**new, "weight_grams": -1})) == ["out_of_range"]
    refused(caller.post(f"/skus/{uuid4()}/what-if", new), 404, "not_found")
