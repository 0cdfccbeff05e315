"""The write path through its JSON entrance, on a real database: semantics of the contract, one by one."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from schemas.actors import Actor, Origin
from schemas.skus.inputs import SkuInput, parse_sku
from services.skus.write import WriteOutcome, write_records
from warehouse import library
from warehouse.rules import Rulesets

ORIGIN = Origin("api_key", "k", "tests", "c-1")
BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 25}
CAP = {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "HDPE", "weight_g": 2}


@pytest.fixture
def write(pool, company, clock):
    def write(*bodies: dict[str, Any], dry_run: bool = False) -> list[WriteOutcome]:
        records = {row: parse_sku({"name": "n", **body}) for row, body in enumerate(bodies)}
        results = pool.run(
            company,
            lambda conn: write_records(
                conn, Actor(company, ORIGIN, clock.now()), records, rulesets=Rulesets(), dry_run=dry_run
            ),
        )
        return list(results.values())

    return write


def detail(result: WriteOutcome) -> dict[str, Any]:
    assert result.detail is not None, result.errors
    return result.detail()


def test_omitted_stays_null_clears_and_nothing_changed_is_unchanged(write):
    first = write({"sku_code": "A", "material": "plastic", "weight_grams": 12.5, "markets": ["fr", "uk"]})[0]
    assert (first.outcome, detail(first)["markets"]) == ("created", ["FR", "GB"])
    second = write({"sku_code": "A", "material": None})[0]
    assert (second.outcome, second.id) == ("updated", first.id)
    assert (detail(second)["material"], detail(second)["weight_grams"]) == (None, 12.5)
    assert write({"sku_code": "A", "weight_grams": 12.5})[0].outcome == "unchanged"


def test_components_replace_the_graph_and_keep_their_ids(write):
    first = detail(write({"sku_code": "A", "components": [BODY, CAP]})[0])
    again = write({"sku_code": "A", "components": [BODY, CAP]})[0]
    assert again.outcome == "unchanged"
    lighter = detail(write({"sku_code": "A", "components": [{**BODY, "weight_g": 20}, CAP]})[0])
    assert [c["id"] for c in lighter["components"]] == [c["id"] for c in first["components"]]
    assert lighter["weight_grams"] == 22
    assert detail(write({"sku_code": "A", "components": []})[0])["components"] == []


def test_a_reference_is_taken_only_when_it_is_the_companys_own(write, pool, company, new_company, clock):
    def brand_of(owner: UUID) -> str:
        with pool.company(owner) as conn:
            values = {"name": "b", "owner_name": None}
            return str(library.add(conn, "brand", owner, uuid4(), values=values, at=clock.now())["id"])

    own, foreign, nobodys = brand_of(company), brand_of(new_company("enterprise")), str(uuid4())
    results = write(*({"sku_code": brand, "brand_id": brand} for brand in (own, foreign, nobodys)))
    assert [(r.outcome, [(i.code, i.field) for i in r.errors]) for r in results] == [
        ("created", []),
        ("rejected", [("unknown_reference", "brand_id")]),
        ("rejected", [("unknown_reference", "brand_id")]),
    ]
    line = {**BODY, "supplier_id": foreign}
    assert write({"sku_code": "L", "components": [line]})[0].errors[0].field == "components[0].supplier_id"


def test_a_library_component_fills_what_a_line_omits_and_is_copied(write, pool, company, clock):
    shared = {
        "code": "C1",
        "name": "cap",
        "component_type": "cap",
        "material_family": "plastic",
        "polymer_or_grade": "PP",
        "weight_g": 2.5,
        "supplier_id": None,
        "colour": None,
        "recycled_content_percent": None,
    }
    with pool.company(company) as conn:
        made = library.add(conn, "library_component", company, uuid4(), values=shared, at=clock.now())
    line = {"component_type": "cap", "component_id": str(made["id"]), "weight_g": 3}
    shown = detail(write({"sku_code": "A", "components": [BODY, line]})[0])["components"][1]
    assert (shown["material_family"], shown["polymer_or_grade"], shown["weight_g"]) == ("plastic", "PP", 3)


def test_the_same_code_twice_the_first_stands(write):
    first, later = write({"sku_code": "A", "name": "one"}, {"sku_code": " A ", "name": "two"})
    assert (first.outcome, later.outcome) == ("created", "rejected")
    assert later.errors[0].code == "duplicate_sku_code"


def test_pfas_is_refused_whichever_of_the_three_facts_the_write_changes(write, clock):
    facts = [{"food_contact": True}, {"substances": {"pfas": {"status": "above_limit"}}}, {"markets": ["DE"]}]
    for last in facts:
        code = f"S{facts.index(last)}"
        earlier: dict[str, Any] = {}
        for fact in facts:
            earlier |= fact if fact is not last else {}
        assert write({"sku_code": code, **earlier})[0].outcome == "created"
        refused = write({"sku_code": code, **last})[0]
        assert [(i.code, i.field) for i in refused.errors] == [("pfas_food_contact_prohibited", "substances.pfas")]
        assert "5(5)" in refused.errors[0].message


def test_a_dry_run_reports_and_writes_nothing(write):
    tried = write({"sku_code": "A", "components": [BODY]}, dry_run=True)[0]
    assert (tried.outcome, tried.id, detail(tried)["created_at"]) == ("created", None, None)
    assert detail(tried)["updated_at"] is None
    assert write({"sku_code": "A"}, dry_run=True)[0].outcome == "created"


def test_legacy_fields_and_substances_are_one_declaration(write):
    shown = detail(write({"sku_code": "A", "pfas_intentional": False, "heavy_metals_sum_ppm": "<50"})[0])
    assert shown["substances"]["pfas"]["status"] == "absent"
    assert shown["substances"]["heavy_metals"]["status"] == "below_limit"
    assert (shown["pfas_intentional"], shown["heavy_metals_sum_ppm"], shown["bpa_present"]) == (False, "<50", None)
    conflicting = {"pfas_intentional": True, "substances": {"pfas": {"status": "absent"}}}
    assert write({"sku_code": "B", **conflicting})[0].errors[0].code == "conflicting_declaration"
    measured = {"substances": {"pfas": {"status": "absent", "value": 25, "unit": "ppb"}}}
    assert write({"sku_code": "B", **measured})[0].errors[0].code == "substance_status_contradicts_value"


def test_what_a_read_returns_can_be_written_back(write):
    body = {
        "sku_code": "A",
        "components": [{**BODY, "substances": {"svhc": {"status": "absent"}}}, CAP],
        "substances": {"heavy_metals": {"status": "above_limit", "value": 120, "unit": "mg_per_kg"}},
        "markets": ["FR"],
        "use_contexts": ["food"],
        "packaging_level": "primary",
        "reuse_deposit_system": False,
    }
    shown = detail(write(body)[0])
    sendable = {k: v for k, v in shown.items() if k in SkuInput.model_fields}
    sendable["components"] = [{k: v for k, v in line.items() if k != "id"} for line in shown["components"]]
    sendable["weight_grams"] = None
    assert write(sendable)[0].outcome == "unchanged"


@pytest.mark.parametrize(
    "sent",
    [
        {"substances": {"heavy_metals": {"status": "below_limit"}}},
        {"heavy_metals_sum_ppm": "<100"},
        {"heavy_metals_sum_ppm": "<50"},
    ],
)
def test_an_attestation_can_be_written_back_in_both_its_forms(write, sent):
    shown = detail(write({"sku_code": "A", **sent})[0])
    both = {name: shown[name] for name in ("sku_code", "substances", "heavy_metals_sum_ppm")}
    assert write(both)[0].outcome == "unchanged"


def test_weight_mismatch_and_unknown_material_warn(write):
    warned = write({"sku_code": "A", "weight_grams": 50, "components": [{**BODY, "polymer_or_grade": "unobtanium"}]})[0]
    assert {w.code for w in warned.warnings} >= {"weight_mismatch", "polymer_unresolved"}


def test_each_change_leaves_its_version_and_one_audit_entry(write, pool, company):
    for weight in (1, 2, 2, 3):
        write({"sku_code": "A", "weight_grams": weight})
    with pool.company(company) as conn:
        versions = conn.execute("SELECT version, weight_grams FROM sku_versions ORDER BY version").fetchall()
        entries = conn.execute("SELECT action, version FROM audit_entries ORDER BY id").fetchall()
        held = conn.execute("SELECT version, weight_grams FROM skus").fetchall()
    assert versions == [(1, 1.0), (2, 2.0)]
    assert held == [(3, 3.0)]
    assert entries == [("sku.created", 1), ("sku.updated", 2), ("sku.updated", 3)]


def test_a_weight_that_only_repeats_the_sum_of_the_parts_is_no_statement(write):
    new = detail(write({"sku_code": "A", "weight_grams": 27, "components": [BODY, CAP]})[0])
    assert (new["weight_grams"], new["weight_source"]) == (27, "components")
    assert write({"sku_code": "A", "weight_grams": 27})[0].outcome == "unchanged"  # read, and written back
    lighter = {"weight_grams": new["weight_grams"], "components": [{**BODY, "weight_g": 20}, CAP]}
    followed = detail(write({"sku_code": "A", **lighter})[0])
    assert (followed["weight_grams"], followed["weight_source"]) == (22, "components")
    stated = write({"sku_code": "A", "weight_grams": 30})[0]
    assert (detail(stated)["weight_source"], [w.code for w in stated.warnings]) == ("declared", ["weight_mismatch"])
    kept = detail(write({"sku_code": "A", "weight_grams": 22})[0])
    assert (kept["weight_grams"], kept["weight_source"]) == (22, "declared")  # stated before, and so stated now
    cleared = detail(write({"sku_code": "A", "weight_grams": None})[0])
    assert (cleared["weight_grams"], cleared["weight_source"]) == (22, "components")
    assert detail(write({"sku_code": "B"})[0])["weight_source"] is None
