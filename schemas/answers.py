"""Base model, common types, issues and the error body, shared by all answers."""

from datetime import date, datetime
from typing import Annotated, Any, Literal  # Any: pydantic's annotations, made from vocabularies
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema
from pydantic import Field as PydanticField
from pydantic.json_schema import SkipJsonSchema

from schemas.issues import ISSUE_CODES, QuestionKind
from schemas.refusals import ERROR_CODES
from schemas.vocabularies import VOCABULARIES


class Answer(BaseModel):
    """Open, because v1 is additive; tests forbid what is not published when they validate."""

    model_config = ConfigDict(strict=True)


def code(vocabulary: str) -> Any:
    """Return the type of a field that has one code of a vocabulary."""
    return Literal[VOCABULARIES[vocabulary]]


def _in_utc(value: object) -> object:
    """Refuse a text that is no instant of UTC with its `Z`, which is how every answer writes one."""
    if isinstance(value, str) and not value.endswith("Z"):
        raise ValueError("an instant ends with Z")
    return value


_HALF = "0 is the calendar year; 1 and 2 are semesters, of GB only."
Half = Annotated[Literal[0, 1, 2], PydanticField(description=_HALF)]
Verdict = Literal["above", "near", "below", "undecidable"]
Identifier = Annotated[UUID, PydanticField(strict=False)]
Instant = Annotated[
    datetime,
    PydanticField(strict=False),
    BeforeValidator(_in_utc),
    WithJsonSchema({"type": "string", "format": "date-time", "pattern": r"^.+Z$"}),
]
Day = Annotated[date, PydanticField(strict=False)]
"""Types of records' members: a statement's row has the value, its JSON the text (RFC 4122, RFC 3339)."""
Number = int | float
Version = Annotated[int, PydanticField(description="Version of the SKU; it grows with every change of its fields.")]
WrittenVersion = Annotated[
    int | None,
    PydanticField(
        description="Version of the SKU after the write; in a dry run, and of a rejected row, the stored one. Null "
        "where the SKU is not stored."
    ),
]
Grade: Any = code("recyclability_grade")
DocStatus: Any = code("doc_status")
Outcome: Any = code("outcome")


class Issue(Answer):
    """One fault or warning."""

    field: Annotated[str | None, PydanticField(description="Dotted path in the body, or null for the whole.")]
    row: Annotated[int | SkipJsonSchema[None], PydanticField(description="Zero-based index in an array body.")] = None
    code: Literal[tuple(ISSUE_CODES)]  # type: ignore[valid-type]
    message: str


class AskingIssue(Issue):
    """One fault; that of a file which asks has its kind, what it could be, and the mapping that settles it."""

    kind: Annotated[QuestionKind | SkipJsonSchema[None], PydanticField(description="What the file asks about.")] = None
    could_be: Annotated[
        list[str] | SkipJsonSchema[None], PydanticField(description="What it could be, the likeliest first.")
    ] = None
    answer: Annotated[
        dict[str, Any] | SkipJsonSchema[None],
        PydanticField(description="The piece of mapping that settles it by the first of could_be."),
    ] = None


class RequestIssue(AskingIssue):
    """One fault of a request, with the stored record that it meets where there is one."""

    id: Annotated[
        Identifier | SkipJsonSchema[None], PydanticField(description="The stored record that the request meets.")
    ] = None
    created_at: Annotated[Instant | SkipJsonSchema[None], PydanticField(description="When that record was stored.")] = (
        None
    )


class MoreIssues(Answer):
    """The last entry where not all faults are listed."""

    code: Literal["more"]
    count: Annotated[int, PydanticField(description="Number of faults that are not listed.")]


class PlanIssue(Answer):
    """The plan's limit that refuses a write; without counts where the plan does not include the operation."""

    code: Literal["plan_limit_reached"]
    limit: int | SkipJsonSchema[None] = None
    held: int | SkipJsonSchema[None] = None
    new: Annotated[
        int | SkipJsonSchema[None], PydanticField(description="Distinct new sku_codes of the whole body or file.")
    ] = None
    message: str


class Error(Answer):
    """The body of every error."""

    error: Literal[tuple(ERROR_CODES)]  # type: ignore[valid-type]
    correlationId: str  # noqa: N815  (the contract's name)
    message: str
    details: list[RequestIssue | PlanIssue | MoreIssues] | SkipJsonSchema[None] = None
    error_description: Annotated[
        str | SkipJsonSchema[None],
        PydanticField(description="The message, under the name that clients of the token endpoint expect (RFC 6749)."),
    ] = None
