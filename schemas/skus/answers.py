"""Models of answers about SKUs: list items, details, results of writes. The SKU's fields come from the field tables."""

from typing import Annotated, Any, Final, Literal, cast  # Any: pydantic's annotations, made from the table of fields

from pydantic import Field as PydanticField
from pydantic import create_model

from schemas.answers import (
    Answer,
    Day,
    DocStatus,
    Grade,
    Identifier,
    Instant,
    Issue,
    MoreIssues,
    Number,
    Outcome,
    Version,
    WrittenVersion,
    code,
)
from schemas.fields import COMPONENT_FIELDS, SKU_FIELDS, Field
from schemas.pages import Pagination
from schemas.rules import GradeTrace
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


def _members(fields: tuple[Field, ...]) -> dict[str, Any]:
    """Return the published members of input fields: always present, null where nothing is stored."""
    return {
        field.name: (
            _type_of(field) if field.required else _type_of(field) | None,
            PydanticField(description=field.meaning, deprecated=field.deprecated or None),
        )
        for field in fields
    }


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

_LISTED: Final = (
    "sku_code",
    "name",
    "description",
    "material",
    "material_subtype",
    "weight_grams",
    "recycled_content_percent",
    "food_contact",
    "product_category",
    "markets",
    "packaging_level",
    "packaging_format",
    "gtin",
    "ppwr_role",
    "brand_id",
    "manufacturing_site_id",
    "packing_site_id",
)
_BY_NAME: Final = {field.name: field for field in SKU_FIELDS}
_COMMON: Final[dict[str, Any]] = {
    "weight_source": (
        Annotated[
            Literal["declared", "components"] | None,
            PydanticField(
                description="Which weight weight_grams is: the one that was stated for the SKU, or the sum of its "
                "components, which follows them; null where there is none.",
                json_schema_extra={"x-stability": "preview"},
            ),
        ],
        ...,
    ),
    "recyclability_grade": (Grade | None, ...),
    "recyclability_score": (Number | None, ...),
    "doc_status": (DocStatus | None, ...),
}


class AnnexVFlag(Answer):
    """A format ban of Annex V that the SKU meets, or would meet were one fact different."""

    code: str
    format: str
    applies_from: Day
    reason: str
    reference: str
    certainty: Literal["certain", "depends"]
    depends_on: list[str]


class SchemeOpenFact(Answer):
    """A fact that nobody gave and that could change a scheme's rating, or without which there is none."""

    field: Annotated[str, PydanticField(description="Name of the fact in the component or the SKU.")]
    component_id: Annotated[
        Identifier | None,
        PydanticField(description="The component; null for a fact of the SKU, and for a SKU without components."),
    ]
    ask: Annotated[str, PydanticField(description="What to ask for it.")]
    could_become: Annotated[
        list[str], PydanticField(description="The ratings that one of its values gives, the best first.")
    ]


class SchemeRating(Answer):
    """A rating by a national scheme: a proposal, which no declaration uses before a person has stated it."""

    scheme: Annotated[str, PydanticField(description="The scheme: uk_ram, the United Kingdom's RAM.")]
    version: Annotated[str, PydanticField(description="Version of the scheme's methodology for this year.")]
    rating: Annotated[
        str | None,
        PydanticField(
            description="Rating of the worst part: red, amber or green in uk_ram; null if a fact is missing."
        ),
    ]
    open: list[SchemeOpenFact]
    source_url: Annotated[str, PydanticField(description="Address of the methodology.")]


class SkuCompliance(Answer):
    """The compliance block of a SKU."""

    recyclability_grade: Grade | None
    recyclability_score: Number | None
    doc_status: DocStatus | None
    annex_v_flags: list[AnnexVFlag]
    grade_trace: GradeTrace
    schemes: list[SchemeRating]


class VolumeRow(Answer):
    """Units placed on one market in one period."""

    market: str
    year: int
    half: Literal[0, 1, 2]
    units_placed: int | None


def _included(kind: Any) -> Any:
    """Return a part of the detail, which an item has only where `include` names it."""
    field = PydanticField(description="Only where `include` names it.", json_schema_extra={"x-stability": "preview"})
    return Annotated[kind | None, field]


SkuListItem = create_model(
    "SkuListItem",
    __base__=Answer,
    __doc__="A SKU as the list shows it.",
    **cast(
        Any,
        {
            "id": (Identifier, ...),
            **_members(tuple(_BY_NAME[name] for name in _LISTED)),
            **_COMMON,
            "created_at": (Instant, ...),
            "updated_at": (Instant, ...),
            "version": (Version, ...),
            "components": (_included(list[SkuComponent]), None),  # type: ignore[valid-type]
            "volumes": (_included(list[VolumeRow]), None),
            "compliance": (_included(SkuCompliance), None),
        },
    ),
)

SkuDetail = create_model(
    "SkuDetail",
    __base__=Answer,
    __doc__="A SKU with its graph, its volumes and its compliance.",
    **cast(
        Any,
        {
            "id": (Identifier | None, ...),
            **_members(tuple(_BY_NAME.values())),
            **_COMMON,
            "packaging_format_key": (code("packaging_format_key") | None, ...),
            "volumes": (list[VolumeRow], ...),
            "compliance": (SkuCompliance, ...),
            "created_at": (Instant | None, ...),
            "updated_at": (Instant | None, ...),
            "version": (WrittenVersion, ...),
            "archived_at": (
                Annotated[
                    Instant | None,
                    PydanticField(
                        description="When the SKU was archived; present only then.",
                        json_schema_extra={"x-stability": "preview"},
                    ),
                ],
                None,
            ),
        },
    ),
)


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
            json_schema_extra={"x-stability": "preview"},
        ),
    ] = None


class SkuDetailResponse(Answer):
    """One SKU."""

    data: SkuDetail  # type: ignore[valid-type]


class SkuWriteResult(Answer):
    """What a write did, or with `dry_run` would do."""

    outcome: Literal["created", "updated", "unchanged"]
    dry_run: bool
    version: WrittenVersion
    data: SkuDetail  # type: ignore[valid-type]
    warnings: list[Issue]


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
    data: list[VolumeRow]
    warnings: list[Issue]


class ArchivedSku(Answer):
    """An archived SKU, as it was last."""

    id: Identifier
    sku_code: str
    name: str
    recyclability_grade: Grade
    archived_at: Instant


class ArchivedSkuListResponse(Answer):
    """A page of archived SKUs, the last archived first."""

    data: list[ArchivedSku]
    pagination: Pagination
