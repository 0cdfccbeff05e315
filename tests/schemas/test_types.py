"""The types of `schemas.sku`, `.grading` and `.report` have the fields of the tables and of the published models."""

from typing import Any, get_type_hints

import pytest
from pydantic import BaseModel, ValidationError, create_model

from compliance.grading import GRADED_INPUTS
from schemas import grading, report, sku
from schemas.fields import COMPONENT_FIELDS, SKU_FIELDS, Field
from schemas.models import SkuComponentInput, SkuInput, VolumeRowInput
from schemas.responses import base as base_models
from schemas.responses import grading as grading_models
from schemas.responses import imports as import_models
from schemas.responses import skus as sku_models
from schemas.supplier import SupplierComponentInput, SupplierDataResponse
from schemas.vocabularies import SUBSTANCES
from warehouse.skus import detail

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
    "substances": sku.Substances,
    "components": list[sku.Component],
}


def members(typed: Any) -> dict[str, Any]:
    return get_type_hints(typed)


@pytest.mark.parametrize(
    ("typed", "model"),
    [
        (sku.SkuPatch, SkuInput),
        (sku.VolumeRow, VolumeRowInput),
        (sku.VolumeRow, sku_models.VolumeRow),
        (sku.SupplierResponse, SupplierDataResponse),
        (sku.Component, sku_models.SkuComponent),
        (sku.SkuDetail, sku_models.SkuDetail),
        (grading.SkuCompliance, sku_models.SkuCompliance),
        (grading.AnnexVFlag, sku_models.AnnexVFlag),
        (grading.SchemeRating, sku_models.SchemeRating),
        (grading.OpenFact, sku_models.SchemeOpenFact),
        (grading.OpenFact, grading_models.OpenFact),
        (grading.GradeTrace, grading_models.GradeTrace),
        (grading.GradeUnit, grading_models.GradeUnit),
        (grading.GradeComponent, grading_models.GradeComponent),
        (grading.GradeRule, grading_models.GradeRule),
        (grading.PreviousGrade, grading_models.PreviousGrade),
        (report.ImportAccepted, import_models.ImportAccepted),
        (report.ImportReport, import_models.ImportStatusResponse),
        (report.ImportSource, import_models.ImportSource),
        (report.SourceSheet, import_models.SourceSheet),
        (report.Asked, import_models.Asked),
        (report.SkippedLine, import_models.SkippedLine),
        (report.ImportRowError, import_models.ImportRowError),
        (report.ImportFailure, import_models.ImportFailure),
        (report.Pagination, base_models.Pagination),
    ],
)
def test_a_type_has_the_fields_of_its_model(typed: Any, model: type[BaseModel]) -> None:
    assert set(members(typed)) == set(model.model_fields)


@pytest.mark.parametrize(("typed", "fields"), [(sku.SkuPatch, SKU_FIELDS), (sku.Component, COMPONENT_FIELDS)])
def test_a_field_has_the_type_of_its_kind(typed: Any, fields: tuple[Field, ...]) -> None:
    found = {name: hint for name, hint in members(typed).items() if name != "id"}
    always = {"substances"} if typed is sku.Component else set()  # clearing it leaves no declaration, not null
    for field in fields:
        kind = TYPES[field.kind]
        assert found[field.name] == (kind | None if field.nullable and field.name not in always else kind), field.name


def test_a_component_has_an_id_besides_its_input_fields() -> None:
    assert set(members(sku.Component)) == {*SkuComponentInput.model_fields, "id"}
    assert set(members(sku.SupplierAnswer)) == {*SupplierComponentInput.model_fields, "id", "component_type"}


def test_a_published_substance_entry_has_every_field_but_the_bound_of_an_attestation() -> None:
    assert set(members(sku.SubstanceEntry)) == {*sku_models.SubstanceDeclaration.model_fields, "below"}


def test_a_stored_sku_has_the_columns_of_the_detail_row() -> None:
    assert set(members(detail.StoredSku)) == set(detail.NAMES)


def test_what_compliance_reads_has_the_graded_fields_and_the_substances() -> None:
    assert {*GRADED_INPUTS, *SUBSTANCES} <= set(members(sku.Sku))


@pytest.mark.parametrize("progress", [{"done": "1", "total": 1}, {"done": 1}, {"done": 1, "total": 1, "more": 1}])
def test_a_published_type_is_held_as_strictly_as_a_model(progress: dict[str, Any]) -> None:
    answer = create_model("Answering", __base__=base_models.Answer, progress=(report.ImportProgress, ...))
    assert answer.model_validate({"progress": {"done": 1, "total": 1}}, extra="forbid")
    with pytest.raises(ValidationError):
        answer.model_validate({"progress": progress}, extra="forbid")
