"""One record at the JSON door: which value is refused with which code at which path, and what is normalised."""

import math
from typing import Any

import pytest

from schemas.issues import ISSUE_CODES
from schemas.refusals import Refused
from schemas.skus.inputs import parse_sku

FAULTS: list[tuple[dict[str, Any], str, str]] = [
    ({"name": None}, "name", "not_null"),
    ({"name": ""}, "name", "too_short"),
    ({"name": "n" * 501}, "name", "too_long"),
    ({"sku_code": "  "}, "sku_code", "too_short"),
    ({"sku_code": "c" * 256}, "sku_code", "too_long"),
    ({"colour": "red"}, "colour", "unknown_field"),
    ({"material": "Kunststoff"}, "material", "not_in_vocabulary"),
    ({"weight_grams": -0.1}, "weight_grams", "out_of_range"),
    ({"weight_grams": math.nan}, "weight_grams", "out_of_range"),
    ({"weight_grams": math.inf}, "weight_grams", "out_of_range"),
    ({"weight_grams": "12"}, "weight_grams", "invalid_type"),
    ({"weight_grams": False}, "weight_grams", "invalid_type"),
    ({"recycled_content_percent": 100.1}, "recycled_content_percent", "out_of_range"),
    ({"empty_space_ratio": 101}, "empty_space_ratio", "out_of_range"),
    ({"food_contact": "yes"}, "food_contact", "invalid_type"),
    ({"reuse_cycles_target": 1.5}, "reuse_cycles_target", "invalid_type"),
    ({"gtin": "3250390017164"}, "gtin", "invalid_gtin"),
    ({"gtin": "123"}, "gtin", "invalid_gtin"),
    ({"markets": ["FR", "ZZ"]}, "markets[1]", "unknown_market"),
    ({"markets": "FR"}, "markets", "invalid_type"),
    ({"use_contexts": ["zoo"]}, "use_contexts[0]", "not_in_vocabulary"),
    ({"brand_id": "b"}, "brand_id", "invalid_format"),
    ({"description": "a\x00b"}, "description", "invalid_format"),
    ({"description": "d" * 32_768}, "description", "too_long"),
    ({"heavy_metals_sum_ppm": "<101"}, "heavy_metals_sum_ppm", "out_of_range"),
    ({"heavy_metals_sum_ppm": "100"}, "heavy_metals_sum_ppm", "invalid_format"),
    ({"substances": {"pfas": {"value": 3}}}, "substances.pfas.status", "required"),
    ({"substances": {"lead": None}}, "substances.lead", "unknown_field"),
    ({"substances": {"pfas": {"status": "absent", "basis": "x"}}}, "substances.pfas.basis", "not_in_vocabulary"),
    ({"components": [{}]}, "components[0].component_type", "required"),
    ({"components": [{"component_type": "lid"}]}, "components[0].component_type", "not_in_vocabulary"),
    ({"components": [{"component_type": "cap", "weight_g": -1}]}, "components[0].weight_g", "out_of_range"),
    ({"components": [{"component_type": "cap", "size": 1}]}, "components[0].size", "unknown_field"),
]


@pytest.mark.parametrize(("fields", "path", "code"), FAULTS, ids=lambda value: str(value)[:40])
def test_a_fault_is_named_by_code_and_path(fields: dict[str, Any], path: str, code: str):
    with pytest.raises(Refused) as refused:
        parse_sku({"sku_code": "A", "name": "n", **fields})
    assert (path, code) in [(issue.field, issue.code) for issue in refused.value.issues]
    assert all(issue.code in ISSUE_CODES and issue.message.endswith(".") for issue in refused.value.issues)


@pytest.mark.parametrize(
    ("sent", "held"),
    [
        ({"packaging_level": "Primary"}, {"packaging_level": "sales"}),
        ({"packaging_level": "grouping"}, {"packaging_level": "grouped"}),
        ({"packaging_level": "tertiaire"}, {"packaging_level": "transport"}),
        ({"markets": ["uk", "us_ca", "Fr "]}, {"markets": ["GB", "US-CA", "FR"]}),
        ({"gtin": "40170725"}, {"gtin": "40170725"}),
        ({"heavy_metals_sum_ppm": " < 50 "}, {"heavy_metals_sum_ppm": "<50"}),
        ({"components": None}, {"components": None}),
        ({"weight_grams": 3}, {"weight_grams": 3}),
        ({"reuse_cycles_target": 3.0}, {"reuse_cycles_target": 3}),
    ],
)
def test_what_is_accepted_is_normalised(sent: dict[str, Any], held: dict[str, Any]):
    assert parse_sku({"sku_code": " A ", "name": "n", **sent}) == {"sku_code": "A", "name": "n", **held}
