"""Bounds of numbers, by every door (decisions §13): weights at most 1e9 g, units at most 1e12, shares 0 to 100."""

from collections.abc import Iterator
from datetime import date
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from pipelines.reading.rows import type_rows
from pipelines.reading.upload import read_upload
from schemas.fields import COMPONENT_FIELDS, SKU_FIELDS
from schemas.library import LibraryComponentInput
from schemas.messages import translate
from schemas.refusals import Refused
from schemas.skus.inputs import Strict, issues_of, parse_sku, parse_volumes
from schemas.suppliers import parse_submission
from tests.openapi import document

PART = {"component_type": "body", "material_family": "plastic"}
WEIGHT, UNITS, SHARE = 1e9, 10**12, 100
BOUND_OF = {"g": WEIGHT, "percent": SHARE}


def bounded(fields: tuple[Any, ...]) -> list[tuple[str, float]]:
    return [(field.name, BOUND_OF[field.unit]) for field in fields if field.kind == "number" and field.unit in BOUND_OF]


def faults(parse: Any, body: object) -> list[str]:
    try:
        parse(body)
    except Refused as invalid:
        return [issue.code for issue in invalid.issues]
    return []


@pytest.mark.parametrize(("name", "bound"), bounded(SKU_FIELDS))
def test_a_number_of_a_sku_has_its_bound(name, bound):
    assert faults(parse_sku, {"sku_code": "A", "name": "n", name: bound}) == []
    for beyond in (bound * 1.000001, 1e300):
        assert faults(parse_sku, {"sku_code": "A", "name": "n", name: beyond}) == ["out_of_range"]


@pytest.mark.parametrize(("name", "bound"), bounded(COMPONENT_FIELDS))
def test_a_number_of_a_part_has_the_same_bound_by_json_and_from_a_supplier(name, bound):
    def sku(value: float) -> dict[str, Any]:
        return {"sku_code": "A", "name": "n", "components": [{**PART, name: value}]}

    def answer(value: float) -> dict[str, Any]:
        return {"consent": True, "response": {"components": [{name: value}]}}

    for parse, body in ((parse_sku, sku), (parse_submission, answer)):
        assert faults(parse, body(bound)) == []
        assert faults(parse, body(1e300)) == ["out_of_range"]


def test_a_shared_component_has_the_bounds_of_a_part():
    whole = {"code": "C", "name": "n", "component_type": "body", "material_family": "glass"}
    assert LibraryComponentInput.model_validate({**whole, "weight_g": WEIGHT}).model_dump()["weight_g"] == WEIGHT
    with pytest.raises(ValidationError):
        LibraryComponentInput.model_validate({**whole, "weight_g": 1e300})


def test_units_have_their_bound():
    row = {"market": "FR", "year": 2026}
    assert faults(parse_volumes, [{**row, "units_placed": UNITS}]) == []
    assert faults(parse_volumes, [{**row, "units_placed": UNITS + 1}]) == ["out_of_range"]


def test_the_document_publishes_the_bounds():
    schemas = document()["components"]["schemas"]
    assert schemas["SkuInput"]["properties"]["weight_grams"]["maximum"] == WEIGHT
    assert schemas["SkuComponentInput"]["properties"]["weight_g"]["maximum"] == WEIGHT
    assert schemas["VolumeRowInput"]["properties"]["units_placed"]["maximum"] == UNITS


def models(base: type[Strict] = Strict) -> Iterator[type[Strict]]:
    for model in base.__subclasses__():
        yield from (model, *models(model))


def integers(model: type[Strict]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The fields of whole numbers, and of lists of them, with what their schema allows."""
    properties = model.model_json_schema()["properties"]
    kinds = [(name, [field, field.get("items", {}), *field.get("anyOf", ())]) for name, field in properties.items()]
    return [(name, of) for name, of in kinds if any(kind.get("type") == "integer" for kind in of)]


MODELS = {model.__name__: model for model in models()}
ODD: tuple[Any, ...] = (
    None,
    True,
    1.5,
    -1,
    1e300,
    "",
    "5",
    "x" * 40_000,
    "\x00",
    [],
    [None],
    ["x"] * 101,
    {},
    {"x": 1},
)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_no_fault_is_told_in_the_words_of_a_library(name):
    """They have no translation, and say what a program expects."""
    for field in MODELS[name].model_fields:
        for value in ODD:
            try:
                MODELS[name].model_validate({field: value})
            except ValidationError as fault:
                for issue in issues_of(fault):
                    assert translate(issue.message, "de") != issue.message, (field, issue)


WITH_INTEGERS = {model.__name__: model for model in models() if integers(model)}


@pytest.mark.parametrize("name", sorted(WITH_INTEGERS))
def test_every_whole_number_may_be_written_with_a_point_and_is_told_its_bound(name):
    """JSON has one kind of number: 24.0 is 24, and what is beyond a bound was told to be no whole number."""
    model = WITH_INTEGERS[name]
    for field, kinds in integers(model):
        is_list = any(kind.get("type") == "array" for kind in kinds)
        for number, code in ((1.0, None), (1e300, "out_of_range"), (1.5, "invalid_type"), ("1", "invalid_type")):
            with pytest.raises(ValidationError) as fault:
                model.model_validate({field: [number] if is_list else number, "not_a_field": 1})
            found = [issue.code for issue in issues_of(fault.value) if (issue.field or "").startswith(field)]
            bounded = code != "out_of_range" or any("maximum" in kind for kind in kinds)
            year = field == "year" and number == 1  # is none of this century
            assert found == ([code] if code and bounded else ["out_of_range"] if year else []), (field, number)


@pytest.mark.parametrize(
    ("header", "cell", "refused"),
    [
        ("weight_grams", "1000000000", False),
        ("weight_grams", "1000000001", True),
        ("weight_grams", "1000 t", False),
        ("weight_grams", "1001 t", True),
        ("weight_grams", "1e300", True),
        ("weight_kg", "1000001", True),
        ("empty_space_ratio", "100.1", True),
        ("annual_volume_fr", "1000000000000", False),
        ("annual_volume_fr", "1000000000001", True),
    ],
)
def test_a_cell_has_the_bound_of_its_field(header, cell, refused):
    assert (codes_of({"sku_code": "A", "name": "n", header: cell}) == ["out_of_range"]) is refused


def test_what_stands_beside_a_weight_does_not_lift_it_over_its_bound():
    row = {"sku_code": "A", "name": "n", "component_type": "body", "material_family": "glass", "weight_g": "900000000"}
    assert codes_of(row) == []
    assert codes_of({**row, "unit_count": "2"}) == ["out_of_range"]
    of_sku = {"sku_code": "A", "name": "n", "weight": "900000000"}
    assert codes_of({**of_sku, "weight_unit": "g"}) == []
    assert codes_of({**of_sku, "weight_unit": "kg"}) == ["out_of_range"]


def codes_of(row: dict[str, str]) -> list[str]:
    upload = read_upload(pl.DataFrame([row]).write_csv().encode(), "p.csv", today=date(2026, 11, 26))
    return type_rows(upload, default_year=2026, served_markets=frozenset({"FR"})).errors["code"].to_list()
