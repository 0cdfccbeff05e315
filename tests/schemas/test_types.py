"""The types of `schemas.skus.types`, `.grading` and `.report` have the fields of tables and published models."""

from typing import Any, get_type_hints

import pytest
from pydantic import BaseModel, ValidationError, create_model

from compliance.grading import GRADED_INPUTS
from schemas import answers as base_models
from schemas import rules
from schemas import rules as grading_models
from schemas.fields import COMPONENT_FIELDS, SKU_FIELDS, Field
from schemas.imports import answers as import_models
from schemas.imports import types
from schemas.skus import answers as sku_models
from schemas.skus import types as types_skus
from schemas.skus.inputs import SkuComponentInput, SkuInput, VolumeRowInput
from schemas.suppliers import SupplierComponentInput, SupplierDataResponse
from schemas.vocabularies import SUBSTANCES
from warehouse.skus import queries

TYPES: dict[str, Any] = {
    "text": str,
    "code": str,
    "gtin": str,
    "uuid": str,
    "number": float,
    "integer": int,
    "truth": bool,
    "codes": list[str],
    "markets": list[str],
    "ppm": float | str,
    "substances": types_skus.Substances,
    "components": list[types_skus.Component],
}


def members(typed: Any) -> dict[str, Any]:
    return get_type_hints(typed)


@pytest.mark.parametrize(
    ("typed", "model"),
    [
        (types_skus.SkuPatch, SkuInput),
        (types_skus.VolumeRow, VolumeRowInput),
        (types_skus.VolumeRow, sku_models.VolumeRow),
        (types_skus.SupplierResponse, SupplierDataResponse),
        (types_skus.Component, sku_models.SkuComponent),
        (types_skus.SkuDetail, sku_models.SkuDetail),
        (rules.SkuCompliance, sku_models.SkuCompliance),
        (rules.AnnexVFlag, sku_models.AnnexVFlag),
        (rules.SchemeRating, sku_models.SchemeRating),
        (rules.OpenFactRecord, sku_models.SchemeOpenFact),
        (rules.OpenFactRecord, grading_models.OpenFact),
        (rules.GradeTraceRecord, grading_models.GradeTrace),
        (rules.GradeUnitRecord, grading_models.GradeUnit),
        (rules.GradeComponentRecord, grading_models.GradeComponent),
        (rules.GradeRuleRecord, grading_models.GradeRule),
        (rules.PreviousGradeRecord, grading_models.PreviousGrade),
        (types.ImportAccepted, import_models.ImportAccepted),
        (types.ImportReport, import_models.ImportStatusResponse),
        (types.ImportSource, import_models.ImportSource),
        (types.SourceSheet, import_models.SourceSheet),
        (types.Asked, import_models.Asked),
        (types.SkippedLine, import_models.SkippedLine),
        (types.ImportRowError, import_models.ImportRowError),
        (types.ImportFailure, import_models.ImportFailure),
    ],
)
def test_a_type_has_the_fields_of_its_model(typed: Any, model: type[BaseModel]) -> None:
    assert set(members(typed)) == set(model.model_fields)


@pytest.mark.parametrize(
    ("typed", "fields"), [(types_skus.SkuPatch, SKU_FIELDS), (types_skus.Component, COMPONENT_FIELDS)]
)
def test_a_field_has_the_type_of_its_kind(typed: Any, fields: tuple[Field, ...]) -> None:
    found = {name: hint for name, hint in members(typed).items() if name != "id"}
    always = {"substances"} if typed is types_skus.Component else set()  # clearing it leaves no declaration, not null
    for field in fields:
        kind = TYPES[field.kind]
        assert found[field.name] == (kind | None if field.nullable and field.name not in always else kind), field.name


def test_a_component_has_an_id_besides_its_input_fields() -> None:
    assert set(members(types_skus.Component)) == {*SkuComponentInput.model_fields, "id"}
    assert set(members(types_skus.SupplierAnswer)) == {*SupplierComponentInput.model_fields, "id", "component_type"}


def test_a_published_substance_entry_has_every_field_but_the_bound_of_an_attestation() -> None:
    assert set(members(types_skus.SubstanceEntry)) == {*sku_models.SubstanceDeclaration.model_fields, "below"}


def test_a_stored_sku_has_the_columns_of_the_detail_row() -> None:
    assert set(members(queries.StoredSku)) == set(queries.NAMES)


def test_what_compliance_reads_has_the_graded_fields_and_the_substances() -> None:
    assert {*GRADED_INPUTS, *SUBSTANCES} <= set(members(types_skus.Sku))


@pytest.mark.parametrize("progress", [{"done": "1", "total": 1}, {"done": 1}, {"done": 1, "total": 1, "more": 1}])
def test_a_published_type_is_held_as_strictly_as_a_model(progress: dict[str, Any]) -> None:
    answer = create_model("Answering", __base__=base_models.Answer, progress=(types.ImportProgress, ...))
    assert answer.model_validate({"progress": {"done": 1, "total": 1}}, extra="forbid")
    with pytest.raises(ValidationError):
        answer.model_validate({"progress": progress}, extra="forbid")
