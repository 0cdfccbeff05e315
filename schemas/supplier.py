"""Model and JSON Schema of a supplier's answer about components: the `response` object of a submission.

Its fields come from the field table, so that an accepted answer fits the write path; all are optional here. Who may
answer, and for which components, is not checked here.
"""

import csv
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, cast  # Any: pydantic asks for literal texts

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema
from pydantic import Field as PydanticField
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticCustomError

from schemas.bounds import MAX_COMPONENTS
from schemas.fields import COMPONENT_FIELDS, Field
from schemas.json_schemas import Published
from schemas.messages import Message
from schemas.models import FreeText, Strict, check_size, few_components, model_of, parse_body
from schemas.sku import SupplierResponse

VERSIONS: Final = Path(__file__).with_name("supplier_response_versions.csv")
"""Each published version with its day, the digest of what it accepts, and what changed."""
_MEANINGS: Final = {
    "component_id": "The component that is answered for, by the id that the request names it with.",
    "material_family": "Material family.",
}
"""Meanings of fields that differ from those of a component that a company writes."""


def _answered(field: Field) -> Field:
    return replace(field, required=False, nullable=True, meaning=_MEANINGS.get(field.name, field.meaning))


SupplierComponentInput: type[Strict] = model_of(
    "SupplierComponentInput",
    tuple(_answered(field) for field in COMPONENT_FIELDS if field.name != "component_type"),
    "What a supplier says of one component; a field omitted or null is not answered.",
)


class SupplierDataResponse(Strict):
    """A supplier's answer to a request about one packaging item; every field is optional."""

    components: Annotated[
        list[SupplierComponentInput] | None,  # type: ignore[valid-type]
        BeforeValidator(few_components),
        PydanticField(
            description="One entry for each component that is answered for.",
            json_schema_extra={"maxItems": MAX_COMPONENTS},
        ),
    ] = None
    contact: Annotated[FreeText | None, PydanticField(description="A person whom the company may ask.")] = None
    comment: Annotated[FreeText | None, PydanticField(description="Anything else that the supplier says.")] = None


def _agreed(consent: bool) -> bool:
    if not consent:
        raise PydanticCustomError(
            "not_in_vocabulary",
            cast(Any, "{sentence}"),
            {"sentence": Message("Without consent the answer is not taken; send true.")},
        )
    return consent


class SupplierSubmission(Strict):
    """A supplier's answer with the consent to hand it to the company that asked."""

    consent: Annotated[
        bool,
        AfterValidator(_agreed),
        WithJsonSchema({"type": "boolean", "const": True}),
        PydanticField(description="The supplier agrees that the company uses the answer; always true."),
    ]
    response: Annotated[SupplierDataResponse, PydanticField(description="The answer, for the components asked about.")]


def parse_submission(body: object) -> SupplierResponse:
    """Return the given fields of the response, normalised; `body` is parsed JSON. Raise `Refused` with every fault."""
    check_size(body)
    return cast(SupplierResponse, parse_body(SupplierSubmission, body).response.model_dump(exclude_unset=True))


class _Untitled(Published):
    """Leaves out titles that only repeat a field's name."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002  (the library's signature)
        return False


@cache
def published(address: str) -> dict[str, object]:
    """Return the JSON Schema (2020-12) of `SupplierDataResponse`, with its newest version and day; `address` is its id.

    The versions are a table; a test checks its last row against the model, so that the accepted values cannot change
    under a published version.
    """
    with VERSIONS.open(encoding="utf-8", newline="") as file:
        *_, newest = csv.DictReader(file)
    schema = SupplierDataResponse.model_json_schema(schema_generator=_Untitled)
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "$id": address,
        "version": newest["version"],
        "date": newest["date"],
        **schema,
    }
