"""The answers as Pydantic models: what the OpenAPI document publishes and what tests hold real answers against.

No handler serialises through them: answers are made by the database or by the steps, and a test compares. Every
field is always present unless it has a default; v1 is additive, so that clients ignore what they do not know.
"""

from typing import Annotated, Any, Final, Literal, cast

from pydantic import BaseModel, ConfigDict, create_model
from pydantic import Field as PydanticField
from pydantic.json_schema import SkipJsonSchema

from schemas.errors import ERROR_CODES
from schemas.fields import COMPONENT_FIELDS, SKU_FIELDS, Field
from schemas.issues import ISSUE_CODES
from schemas.vocabularies import SUBSTANCES, VOCABULARIES


class Answer(BaseModel):
    """Open, because v1 is additive; tests forbid what is not published when they validate."""

    model_config = ConfigDict(strict=True)


def _code(vocabulary: str) -> Any:
    return Literal[VOCABULARIES[vocabulary]]


Identifier = Annotated[str, PydanticField(json_schema_extra={"format": "uuid"})]
Instant = Annotated[str, PydanticField(json_schema_extra={"format": "date-time"}, pattern=r"Z$")]
Day = Annotated[str, PydanticField(json_schema_extra={"format": "date"})]
Number = int | float
Grade: Any = _code("recyclability_grade")
DocStatus: Any = _code("doc_status")
Outcome: Any = _code("outcome")


class Issue(Answer):
    """One fault or warning."""

    field: Annotated[str | None, PydanticField(description="Dotted path in the body, or null for the whole.")]
    row: Annotated[int | SkipJsonSchema[None], PydanticField(description="Zero-based index in an array body.")] = None
    code: Literal[tuple(ISSUE_CODES)]  # type: ignore[valid-type]
    message: str


class PlanIssue(Answer):
    """What stands against a plan's limit."""

    code: Literal["plan_limit_reached"]
    limit: int
    held: int
    new: Annotated[int, PydanticField(description="Distinct new sku_codes of the whole body or file.")]
    message: str


class Error(Answer):
    """The body of every error."""

    error: Literal[tuple(ERROR_CODES)]  # type: ignore[valid-type]
    correlationId: str  # noqa: N815  (the contract's name)
    message: str
    details: list[Issue | PlanIssue] | SkipJsonSchema[None] = None


class Pagination(Answer):
    """Where a page lies."""

    limit: int
    offset: int
    total: int


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
            return _code(cast(str, field.vocabulary))
        case "codes":
            return list[_code(cast(str, field.vocabulary))]  # type: ignore[misc]
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
    """Published members of input fields: always present, null where nothing is held."""
    return {
        field.name: (_type_of(field) if field.required else _type_of(field) | None,
                     PydanticField(description=field.meaning, deprecated=field.deprecated or None))
        for field in fields
    }  # fmt: skip


class SubstanceDeclaration(Answer):
    """A declaration as it is held."""

    status: _code("substance_status")  # type: ignore[valid-type]
    value: Number | None
    unit: _code("substance_unit") | None  # type: ignore[valid-type]
    basis: _code("substance_basis") | None  # type: ignore[valid-type]
    source: _code("substances_source") | None  # type: ignore[valid-type]
    evidence: str | None


Substances = create_model(
    "Substances", __base__=Answer, __doc__="Declarations by substance; null where none is held.",
    **cast(Any, dict.fromkeys(SUBSTANCES, (SubstanceDeclaration | None, ...))),
)  # fmt: skip
SkuComponent = create_model(
    "SkuComponent", __base__=Answer, __doc__="One line of a component graph.",
    **cast(Any, {"id": (Identifier | None, ...), **_members(COMPONENT_FIELDS)}),
)  # fmt: skip

_LISTED: Final = (
    "sku_code", "name", "description", "material", "material_subtype", "weight_grams", "recycled_content_percent",
    "food_contact", "product_category", "markets", "packaging_level", "packaging_format", "gtin", "ppwr_role",
    "brand_id", "manufacturing_site_id", "packing_site_id",
)  # fmt: skip
_BY_NAME: Final = {field.name: field for field in SKU_FIELDS}
_COMMON: Final[dict[str, Any]] = {
    "recyclability_grade": (Grade | None, ...),
    "recyclability_score": (Number | None, ...),
    "doc_status": (DocStatus | None, ...),
}

SkuListItem = create_model(
    "SkuListItem", __base__=Answer, __doc__="A SKU as the list shows it.",
    **cast(Any, {"id": (Identifier, ...), **_members(tuple(_BY_NAME[name] for name in _LISTED)), **_COMMON,
                 "created_at": (Instant, ...), "updated_at": (Instant, ...)}),
)  # fmt: skip


class AnnexVFlag(Answer):
    """A format ban of Annex V that the SKU meets, or would meet were one fact different."""

    code: str
    format: str
    applies_from: Day
    reason: str
    reference: str
    certainty: Literal["certain", "depends"]
    depends_on: list[str]


class SkuCompliance(Answer):
    """The compliance block of a SKU."""

    recyclability_grade: Grade | None
    recyclability_score: Number | None
    doc_status: DocStatus | None
    annex_v_flags: list[AnnexVFlag]
    grade_trace: Annotated[dict[str, Any], PydanticField(description="Why the grade is what it is (docs/grading.md).")]


class VolumeRow(Answer):
    """Units placed on one market in one period."""

    market: str
    year: int
    half: Literal[0, 1, 2]
    units_placed: int | None


SkuDetail = create_model(
    "SkuDetail", __base__=Answer, __doc__="A SKU with its graph, its volumes and its compliance.",
    **cast(Any, {"id": (Identifier | None, ...), **_members(tuple(_BY_NAME.values())), **_COMMON,
                 "packaging_format_key": (str | None, ...), "volumes": (list[VolumeRow], ...),
                 "compliance": (SkuCompliance, ...), "created_at": (Instant | None, ...),
                 "updated_at": (Instant | None, ...)}),
)  # fmt: skip


class SkuListResponse(Answer):
    """A page of SKUs, newest first."""

    data: list[SkuListItem]  # type: ignore[valid-type]
    pagination: Pagination


class SkuDetailResponse(Answer):
    """One SKU."""

    data: SkuDetail  # type: ignore[valid-type]


class SkuWriteResult(Answer):
    """What a write did, or with `dry_run` would do."""

    outcome: Literal["created", "updated", "unchanged"]
    dry_run: bool
    data: SkuDetail  # type: ignore[valid-type]
    warnings: list[Issue]


class BatchSummary(Answer):
    """Rows by outcome."""

    total: int
    created: int
    updated: int
    unchanged: int
    rejected: int


class BatchRow(Answer):
    """What became of one row of a batch."""

    index: int
    sku_code: str | None
    outcome: Outcome
    id: Identifier | None
    recyclability_grade: Grade | None
    recyclability_score: Number | None
    errors: list[Issue]
    warnings: list[Issue]


class SkuBatchResponse(Answer):
    """One result per row, in the order of the rows."""

    dry_run: bool
    summary: BatchSummary
    results: list[BatchRow]


class Jurisdiction(Answer):
    """One entry of the catalogue; never an amount of a fee or a legal opinion."""

    code: str
    name: str
    parent_code: str | None
    region: str
    system: str
    system_key: str
    depth: Literal[1, 2, 3]
    verified_on: Day | None
    reviewed_on: Day | None
    register_name: str | None
    register_url: str | None
    law_title: str | None
    law_reference: str | None
    law_date: Day | None
    scope: str
    reporting_period: list[str]
    authorised_representative_required: str
    local_labelling_rule: str | None
    source_url: str | None
    source_note: str | None


class Breakdown(Answer):
    """Each served entry once in each."""

    by_system: dict[str, int]
    by_region: dict[str, int]


class Coverage(Answer):
    """How deep the catalogue goes."""

    guided: int
    sourced: int
    signalled: int
    newest_verified_on: Day | None
    breakdown: Breakdown


class JurisdictionListResponse(Answer):
    """A page of the catalogue, by code."""

    data: list[Jurisdiction]
    coverage: Coverage
    pagination: Pagination


class SourceColumn(Answer):
    """One column of the caller's file; `column` is its spreadsheet letter."""

    field: str
    column: str
    header: str


class IgnoredColumn(Answer):
    """A column that fits no field."""

    column: str
    header: str


class SourceSheet(Answer):
    """Where the components sheet was read from."""

    sheet: str
    header_row: int
    columns: list[SourceColumn]
    ignored: list[IgnoredColumn]
    decimal_marks: dict[str, str]


class SkippedLine(Answer):
    """A line that is no data, and why."""

    line: int
    reason: str


class ImportSource(Answer):
    """Which sheet, header row and column each field was read from; `header_row` counts from 1."""

    format: Literal["csv", "xlsx"]
    encoding: str | None
    delimiter: str | None
    sheet: str | None
    header_row: int
    columns: list[SourceColumn]
    ignored: list[IgnoredColumn]
    components: SourceSheet | None
    layout: Literal["rows", "long", "wide", "materials"]
    decimal_marks: dict[str, str]
    volume_year: Annotated[int | None, PydanticField(description="Year of volume columns that name none.")]
    skipped: list[SkippedLine]
    mapping_name: str | None


class ImportAccepted(Answer):
    """The file is queued; poll `poll_url` until its status is completed or failed."""

    id: Identifier
    status: Literal["queued"]
    poll_url: str
    dry_run: bool
    filename: str
    rows: int
    source: ImportSource


class ImportProgress(Answer):
    """Data lines that have an outcome."""

    done: int
    total: int


class ImportCounts(Answer):
    """SKUs decided so far, by outcome."""

    total: int
    created: int
    updated: int
    unchanged: int
    rejected: int


class ImportRowError(Answer):
    """One fault; `line` is the line of the caller's file as their editor or spreadsheet shows it."""

    sheet: str | None
    line: int
    sku_code: str | None
    field: str | None
    column: str | None
    value: str | None
    code: Literal[tuple(ISSUE_CODES)]  # type: ignore[valid-type]
    message: str


class ImportStatusResponse(Answer):
    """How far an import is, with one page of its error report."""

    id: Identifier
    status: _code("import_status")  # type: ignore[valid-type]
    dry_run: bool
    filename: str
    created_at: Instant
    started_at: Instant | None
    finished_at: Instant | None
    progress: ImportProgress
    counts: ImportCounts
    source: ImportSource
    failure: Issue | None
    errors: list[ImportRowError]
    pagination: Pagination


class Health(Answer):
    """Whether the service answers, or is ready; `clock_offset_seconds` only where a test clock is set."""

    status: Literal["ok", "starting"]
    clock_offset_seconds: int | SkipJsonSchema[None] = None


class OpenApiDocument(BaseModel):
    """A document of OpenAPI 3.1; what may stand in it is that specification's to say."""

    model_config = ConfigDict(extra="allow")

    openapi: str
