"""The write path through its JSON entrance, on a real database: semantics of the contract, one by one."""

from typing import Any

import pytest

from pipelines.steps.origin import Origin
from pipelines.steps.records import RowResult, write_records
from schemas.models import parse_sku

ORIGIN = Origin("api_key", "k", "tests", "c-1")
BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 25}
CAP = {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "HDPE", "weight_g": 2}


@pytest.fixture
def write(pool, company, clock):
    def write(*bodies: dict[str, Any], dry_run: bool = False) -> list[RowResult]:
        records = [parse_sku({"name": "n", **body}) for body in bodies]
        return write_records(pool, company, records, origin=ORIGIN, clock=clock, dry_run=dry_run).rows

    return write


def detail(result: RowResult) -> dict[str, Any]:
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


def test_a_foreign_or_unknown_reference_is_refused(write, pool, clock, other_company):
    brand = "00000000-0000-7000-8000-000000000001"
    refused = write({"sku_code": "A", "brand_id": brand}, {"sku_code": "B"})
    assert [(r.outcome, [i.code for i in r.errors]) for r in refused] == [
        ("rejected", ["unknown_reference"]),
        ("created", []),
    ]


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
        "sku_code": "A", "components": [{**BODY, "substances": {"svhc": {"status": "absent"}}}, CAP],
        "substances": {"heavy_metals": {"status": "above_limit", "value": 120, "unit": "mg_per_kg"}},
        "markets": ["FR"], "use_contexts": ["food"], "packaging_level": "primary", "reuse_deposit_system": False,
    }  # fmt: skip
    shown = detail(write(body)[0])
    sendable = {k: v for k, v in shown.items() if k in parse_sku.__globals__["SkuInput"].model_fields}
    sendable["components"] = [{k: v for k, v in line.items() if k != "id"} for line in shown["components"]]
    sendable["weight_grams"] = None
    assert write(sendable)[0].outcome == "unchanged"


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
