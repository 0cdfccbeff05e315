"""Models of answers about SKUs: list items, details, results of writes. The SKU's fields come from the field tables."""

from collections.abc import Iterable
from typing import (  # Any: pydantic's annotations, made from the table of fields
    Annotated,
    Any,
    Literal,
    NotRequired,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import Field as PydanticField
from pydantic import create_model

from schemas.answers import (
    Answer,
    Grade,
    Identifier,
    Instant,
    Issue,
    MoreIssues,
    Number,
    Outcome,
    WrittenVersion,
    code,
)
from schemas.fields import COMPONENT_FIELDS, SKU, Field
from schemas.pages import ListAnswer, OneAnswer, Pagination
from schemas.rules import SkuCompliance
from schemas.skus import types
from schemas.vocabularies import SUBSTANCES


def _type_of(field: Field) -> Any:
    match field.kind:
        case "number":
            return Number
        case "integer":
            return int
        case "truth":
            return bool
        case "uuid":
            return Identifier
        case "code":
            return code(cast(str, field.vocabulary))
        case "codes":
            return list[code(cast(str, field.vocabulary))]  # type: ignore[misc]
        case "markets":
            return list[str]
        case "ppm":
            return Number | str
        case "substances":
            return Substances
        case "components":
            return list[SkuComponent]  # type: ignore[valid-type]
        case _:
            return str


def _members(fields: Iterable[Field]) -> dict[str, Any]:
    """Return the published members of input fields: always present, null where nothing is stored."""
    return {
        field.name: (
            _type_of(field) if field.required else _type_of(field) | None,
            PydanticField(description=field.meaning, deprecated=field.deprecated or None),
        )
        for field in fields
    }


def _model(typed: Any, names: Iterable[str], **published: Any) -> Any:
    """Return the model of these members of a type: `published` ones, those of the field table, and its own others."""
    hints = get_type_hints(typed, include_extras=True)
    members = {name: published.get(name) or _own(hints[name]) for name in names if name not in SKU or name in published}
    members |= _members(SKU[name] for name in names if name not in members)
    return create_model(
        typed.__name__, __base__=Answer, __doc__=typed.__doc__, **cast(Any, {name: members[name] for name in names})
    )


def _own(hint: Any) -> tuple[Any, Any]:
    return (get_args(hint)[0], None) if get_origin(hint) is NotRequired else (hint, ...)


class SubstanceDeclaration(Answer):
    """A stored declaration about one substance."""

    status: code("substance_status")  # type: ignore[valid-type]
    value: Number | None
    unit: code("substance_unit") | None  # type: ignore[valid-type]
    basis: code("substance_basis") | None  # type: ignore[valid-type]
    source: code("substances_source") | None  # type: ignore[valid-type]
    evidence: str | None


Substances = create_model(
    "Substances",
    __base__=Answer,
    __doc__="Declarations by substance; null where none is held.",
    **cast(Any, dict.fromkeys(SUBSTANCES, (SubstanceDeclaration | None, ...))),
)
SkuComponent = create_model(
    "SkuComponent",
    __base__=Answer,
    __doc__="One line of a component graph.",
    **cast(Any, {"id": (Identifier | None, ...), **_members(COMPONENT_FIELDS)}),
)


def _included(kind: Any) -> Any:
    """Return a part of the detail, which an item has only where `include` names it."""
    field = PydanticField(description="Only where `include` names it.")
    return Annotated[kind | None, field]


SkuListItem = _model(
    types.SkuListItem,
    types.SkuListItem.__annotations__,
    components=(_included(list[SkuComponent]), None),  # type: ignore[valid-type]
    volumes=(_included(list[types.VolumeRow]), None),
    compliance=(_included(SkuCompliance), None),
)
SkuDetail = _model(
    types.SkuDetail,
    dict.fromkeys(("id", *SKU, *types.SkuDetail.__annotations__)),
    id=(Identifier | None, ...),
    packaging_format_key=(code("packaging_format_key") | None, ...),
    volumes=(list[types.VolumeRow], ...),
    compliance=(SkuCompliance, ...),
)
READ_ONLY = frozenset(SkuDetail.model_fields) - SKU.keys()
"""The members of a detail that no write takes; a body that holds one was read before (`api.skus.writing`)."""


class SkuListResponse(Answer):
    """A page of SKUs, newest first."""

    data: list[SkuListItem]  # type: ignore[valid-type]
    pagination: Pagination
    as_of: Annotated[
        Instant,
        PydanticField(description="Time of this list. Send it as `updated_since` next time, and you miss no change."),
    ]
    findings_as_of: Annotated[
        Instant | None,
        PydanticField(
            description="Time of the findings; present only where `gap`, `flag` or `rule` was sent. Null before the "
            "first snapshot: no SKU is found then.",
            json_schema_extra={"x-stability": "preview"},
        ),
    ] = None
    next_cursor: Annotated[
        str | None,
        PydanticField(
            description="Cursor of the next page, null after the last one. Present only where `cursor` was sent.",
        ),
    ] = None


class SkuDetailResponse(OneAnswer[SkuDetail]):  # type: ignore[valid-type]
    """One SKU."""


class SkuWriteResult(Answer):
    """What a write did, or with `dry_run` would do."""

    outcome: Literal["created", "updated", "unchanged"]
    dry_run: bool
    version: WrittenVersion
    data: SkuDetail  # type: ignore[valid-type]
    warnings: list[Issue]


class SkuCodes(Answer):
    """The codes of a SKU: that of today, and those that name it no more and are still kept from new SKUs."""

    id: Identifier
    sku_code: str
    former_codes: list[str]


class FreedCodeResult(Answer):
    """What freeing a former code did; unchanged where the SKU has no such former code."""

    outcome: Literal["updated", "unchanged"]
    dry_run: bool
    data: SkuCodes


class SkuWhatIf(Answer):
    """What a write of one SKU would lead to; nothing is stored."""

    outcome: Literal["created", "updated", "unchanged"]
    id: Annotated[Identifier | None, PydanticField(description="The record's id; null for a SKU that is not stored.")]
    sku_code: str
    compliance: SkuCompliance
    warnings: list[Issue]


class BatchSummary(Answer):
    """Rows by outcome."""

    total: int
    created: int
    updated: int
    unchanged: int
    rejected: int


class BatchRow(Answer):
    """The outcome of one row of a batch."""

    index: int
    sku_code: str | None
    outcome: Outcome
    id: Identifier | None
    version: WrittenVersion
    recyclability_grade: Grade | None
    recyclability_score: Number | None
    errors: list[Issue | MoreIssues]
    warnings: list[Issue]


class SkuBatchResponse(Answer):
    """One result per row, in the order of the rows."""

    dry_run: bool
    summary: BatchSummary
    results: list[BatchRow]


class VolumesWriteResult(Answer):
    """The rows of the request as written, or with `dry_run` as they would be; a cleared row has null units."""

    dry_run: bool
    version: WrittenVersion
    data: list[types.VolumeRow]
    warnings: list[Issue]


class ArchivedSkuListResponse(ListAnswer[types.ArchivedSku]):
    """A page of archived SKUs, the last archived first."""
