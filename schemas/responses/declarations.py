"""Models of declarations that are kept as they were filed."""

from typing import Annotated, Any, Literal  # Any: an annotation made from a vocabulary

from pydantic import Field as PydanticField
from pydantic.json_schema import SkipJsonSchema

from schemas.declarations import FORMATS, RATINGS
from schemas.responses.base import Answer, Identifier, Instant, Number, Pagination, code
from schemas.responses.figures import Half, Halves

ComponentType: Any = code("component_type")


class DeclarationActor(Answer):
    """Who kept a declaration."""

    type: str
    id: str | None
    name: str | None


class DeclarationProducer(Answer):
    """What a producer states of itself in the UK file."""

    organisation_id: str
    organisation_size: Literal["L", "S"]
    activity: Literal["SO", "PF", "IM", "SE", "HL", "OM"]
    household_type: Literal["HH", "NH"]
    subsidiary_id: str


class DeclarationQuestion(Answer):
    """The missing fact that decides most of the undecided tonnes."""

    field: str
    tonnes: Number
    skus: int


class Declaration(Answer):
    """A declaration of one market and period: what it was made from, its size and hash. It never changes.

    What is filed are `in_scope_tonnes`; with what is undecided and out of scope they are `total_tonnes`.
    """

    id: Annotated[Identifier | None, PydanticField(description="Null in the answer to a dry run.")]
    market: str
    year: int
    half: Half
    halves: Halves
    format: Literal[FORMATS]  # type: ignore[valid-type]
    filename: str
    media_type: str
    size_bytes: int
    sha256: str
    as_of: Instant
    snapshot: str
    ruleset_version: str
    catalogue_hash: str
    rows: int
    in_scope_tonnes: Number | None
    undecided_tonnes: Number | None
    out_of_scope_tonnes: Number | None
    question: DeclarationQuestion | None
    total_tonnes: Number | None
    total_kg: int | None
    difference_kg: Number | None
    uncounted: int
    scope_missing: int | None
    producer: DeclarationProducer | None
    corrects: Identifier | None
    corrected_by: list[Identifier]
    kept_by: DeclarationActor
    created_at: Instant


class DeclaredRating(Answer):
    """A rating that the producer stated."""

    sku_code: str
    component_type: ComponentType
    rating: Literal[RATINGS]  # type: ignore[valid-type]


class DeclaredDrinks(Answer):
    """An answer of the producer about a drinks container."""

    sku_code: str
    drinks_container: bool


class DeclarationDetail(Declaration):
    """A declaration with what its producer stated of SKUs."""

    ratings: list[DeclaredRating]
    drinks: list[DeclaredDrinks]


class LeftOutSku(Answer):
    """A SKU that the declaration does not count, or not wholly, and the facts to give."""

    sku_code: str
    units: int | None
    reason: str
    fields: list[str]
    archived: Annotated[
        bool | SkipJsonSchema[None],
        PydanticField(description="Whether the SKU is archived; present only then."),
    ] = None


class DeclarationWriteResult(Answer):
    """A declaration that was kept, or that would be."""

    outcome: Literal["created"]
    dry_run: bool
    newer_writes: int
    data: Declaration
    left_out: list[LeftOutSku]


class DeclarationDetailResponse(Answer):
    """One kept declaration."""

    data: DeclarationDetail


class DeclarationListResponse(Answer):
    """A page of kept declarations, newest first."""

    data: list[Declaration]
    pagination: Pagination
