"""Models of the bodies that draft, issue and withdraw declarations of conformity."""

from typing import Annotated, Literal

from pydantic import AfterValidator
from pydantic import Field as PydanticField

from schemas import normalise
from schemas.issuing_form import LONGEST
from schemas.models import Strict, validator

Language = Literal["en", "fr", "de"]


_Point = Annotated[str, PydanticField(json_schema_extra={"maxLength": LONGEST["point"]})]
_Signed = Annotated[str, PydanticField(json_schema_extra={"maxLength": LONGEST["signatory"]})]
"""Texts whose content `schemas.issuing_form` checks."""


def _reference(value: str | None) -> str | None:
    return None if value is None else str(validator(normalise.text, min_length=1, max_length=200)(value))


class DocDraftInput(Strict):
    """A draft of a declaration of conformity: the company's reference and the language."""

    reference: Annotated[
        str | None,
        AfterValidator(_reference),
        PydanticField(
            json_schema_extra={"maxLength": 200},
            description="The company's reference of the document; without it the service makes one from the sku_code.",
        ),
    ] = None
    lang: Annotated[
        Language | None,
        PydanticField(
            description="Language of the first document; without it English, or that of the declaration that it renews."
        ),
    ] = None


class DocIssueInput(Strict):
    """What completes a draft: a text for each open point, the signatory, place and dates."""

    points: Annotated[
        dict[str, _Point],
        PydanticField(description="A text for each open point of the draft, by the point's `key`."),
    ] = PydanticField(default_factory=dict)
    on_behalf_of: Annotated[_Signed, PydanticField(description="The party for whom it is signed.")]
    signatory: Annotated[_Signed, PydanticField(description="Name of the signatory.")]
    function: Annotated[_Signed, PydanticField(description="Function of the signatory.")]
    place: Annotated[_Signed, PydanticField(description="Place of issue.")]
    issued_on: Annotated[
        str,
        PydanticField(
            json_schema_extra={"format": "date"},
            description="First day of the declaration: from the day of the draft to today (UTC).",
        ),
    ]
    expires_on: Annotated[
        str | None,
        PydanticField(
            json_schema_extra={"format": "date"}, description="Last day of the declaration; null for no end."
        ),
    ] = None
    languages: Annotated[
        list[Language],
        PydanticField(description="Languages of further PDFs, beside the draft's own."),
    ] = PydanticField(default_factory=list)


class DocWithdrawInput(Strict):
    """The reason for which a declaration is withdrawn."""

    reason: Annotated[
        str,
        AfterValidator(validator(normalise.text, min_length=1, max_length=2000)),
        PydanticField(
            json_schema_extra={"minLength": 1, "maxLength": 2000},
            description="The reason, which is kept with the declaration.",
        ),
    ]
