"""Pydantic models of the request bodies, made from the field tables: they validate JSON and publish its schema.

A model checks one record by itself: types, vocabularies, bounds, forms. Checks that need the company's records or the
law (references, stored values, refusals) belong to the write path. The columns of a file are typed elsewhere from the
same field tables; a property test checks that JSON and files are treated alike.
"""

from collections.abc import Iterable
from dataclasses import replace
from types import GenericAlias
from typing import (  # Any: pydantic's annotations, made from the table of fields
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    cast,
)
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    create_model,
)
from pydantic import (
    Field as PydanticField,
)
from pydantic_core import PydanticCustomError

from schemas import normalise, words
from schemas.fields import COMPONENT, COMPONENT_FIELDS, LINE_ID, MAX_UNITS, SKU, SKU_FIELDS, Field
from schemas.issues import ISSUE_CODES, MAX_COMPONENTS, MAX_FAULTS, MAX_VALUES, TOO_MANY_COMPONENTS, Issue, more
from schemas.messages import Figure, Message, message_of
from schemas.refusals import Refused
from schemas.skus.types import SkuPatch, VolumeRow
from schemas.vocabularies import SUBSTANCES, VOCABULARIES

MAX_VOLUME_ROWS: Final = 10_000
"""Most rows of one volumes write: more than the years and halves of all markets of the catalogue, so that it always
suffices.
"""


class Strict(BaseModel):
    """A body: unknown fields are refused, and no value is taken for one of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


def validator(function: Any, *arguments: object, **limits: object) -> Any:
    """Return a validator from a `schemas.normalise` function: its `Unfit` becomes Pydantic's error of that code."""

    def check(value: Any) -> Any:
        try:
            return function(value, *arguments, **limits)
        except normalise.Unfit as unfit:
            raise PydanticCustomError(
                cast(Any, unfit.code), cast(Any, "{sentence}"), {"sentence": unfit.message}
            ) from None

    return check


def uuid_text(value: str) -> str:
    """Return the usual form of an id. Raise `Unfit`."""
    try:
        return str(UUID(value))
    except ValueError:
        raise normalise.Unfit("invalid_format", _no_uuid(value)) from None


def _no_uuid(value: object) -> Message:
    return Message("{value} is no UUID.", value=normalise.quote(value))


def _ppm(value: object) -> object:
    """Return a measured number of mg/kg, or `<N` with N up to 100: an attestation without measurement."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise normalise.Unfit("invalid_type", Message('Send a number of mg/kg, a text such as "<100", or null.'))
    if isinstance(value, str):
        return normalise.attested_ppm(value)
    return normalise.measured_ppm(value)


def whole(value: object) -> object:
    """Return 3.0 as the integer 3, as JSON Schema does; a workbook's number cells do not tell the two apart."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Version: TypeAlias = Annotated[int, PydanticField(ge=0, le=2_147_483_647), BeforeValidator(whole)]
"""The version of a record that a write is made for."""


def _each_once(values: list[str]) -> list[str]:
    """Return the codes without repeats, in their order."""
    return list(dict.fromkeys(values))


def one_of(vocabulary: str) -> Any:
    """Return the type of a code: exactly one of the vocabulary's codes."""
    return Literal[VOCABULARIES[vocabulary]]


def _type_of(field: Field) -> Any:  # noqa: PLR0912  (one case per kind)
    """Return the annotation of one field, without null."""
    match field.kind:
        case "text":
            limits = {"min_length": field.min_length, "max_length": field.max_length, "is_code": field.is_code}
            return Annotated[
                str,
                AfterValidator(validator(normalise.text, **limits)),
                PydanticField(json_schema_extra=_lengths(field)),
            ]
        case "number":
            return Annotated[float, PydanticField(ge=field.minimum, le=field.maximum)]
        case "integer":
            return Annotated[int, PydanticField(ge=field.minimum, le=field.maximum), BeforeValidator(whole)]
        case "truth":
            return bool
        case "gtin":
            return Annotated[str, AfterValidator(validator(normalise.gtin))]
        case "uuid":
            return Annotated[
                str, AfterValidator(validator(uuid_text)), PydanticField(json_schema_extra={"format": "uuid"})
            ]
        case "markets":
            return list[Annotated[str, AfterValidator(validator(normalise.market))]]
        case "codes":
            return Annotated[GenericAlias(list, (one_of(str(field.vocabulary)),)), AfterValidator(_each_once)]
        case "code" if field.name == "packaging_level":
            return Annotated[one_of("packaging_level"), BeforeValidator(_level), WithJsonSchema({"type": "string"})]
        case "code":
            return one_of(str(field.vocabulary))
        case "ppm":
            return Annotated[
                Any,
                PlainValidator(validator(_ppm)),
                WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": "^<"}]}),
            ]
        case "substances":
            return SubstancesInput
        case "components":
            return Annotated[GenericAlias(list, (SkuComponentInput,)), BeforeValidator(few_components)]


def few_components(value: object) -> object:
    """Return the value unchanged; refuse a list of more components than a SKU may have without looking at any."""
    if isinstance(value, list) and len(value) > MAX_COMPONENTS:
        raise PydanticCustomError("out_of_range", cast(Any, TOO_MANY_COMPONENTS))
    return value


def check_size(body: object) -> None:
    """Raise `Refused` for a parsed body with more values than are validated; counting stops at the limit."""
    waiting, count = [body], 0
    while waiting:
        value = waiting.pop()
        members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        count += len(members)
        if count > MAX_VALUES:
            sentence = Message("At most {most} values are taken in one record.", most=MAX_VALUES)
            raise Refused([Issue("out_of_range", sentence)])
        waiting += [part for part in members if isinstance(part, dict | list)]


def _lengths(field: Field) -> dict[str, Any]:
    lengths = {"minLength": field.min_length, "maxLength": field.max_length}
    return {name: length for name, length in lengths.items() if length is not None}


def _level(value: object) -> object:
    return words.code_of(value, "packaging_level") or value if isinstance(value, str) else value


def model_of(name: str, fields: tuple[Field, ...], doc: str) -> type[Strict]:
    """Make a model of these fields, in their order; a field that is not required may be omitted."""
    members: dict[str, Any] = {}
    for field in fields:
        annotation = _type_of(field)
        about = PydanticField(
            default=... if field.required else None,
            description=field.meaning + (f" Unit: {field.unit}." if field.unit else ""),
            deprecated=field.deprecated or None,
        )
        members[field.name] = (annotation | None if field.nullable else annotation, about)
    return create_model(name, __base__=Strict, __doc__=doc, **members)


FreeText = Annotated[
    str,
    AfterValidator(validator(normalise.text, min_length=None, max_length=2000)),
    PydanticField(json_schema_extra={"maxLength": 2000}),
]
"""A text in the caller's words."""

_ENTRY: Final[dict[str, Any]] = {
    "status": (one_of("substance_status"), ...),
    "value": (Annotated[float, PydanticField(ge=0)] | None, None),
    "unit": (one_of("substance_unit") | None, None),
    "basis": (one_of("substance_basis") | None, None),
    "source": (one_of("substances_source") | None, None),
    "evidence": (FreeText | None, None),
}
SubstanceEntry: type[Strict] = create_model(
    "SubstanceEntry",
    __base__=Strict,
    __doc__="One declaration: a status, and where there is one the measured value behind it.",
    **_ENTRY,
)
SubstancesInput: type[Strict] = create_model(
    "SubstancesInput",
    __base__=Strict,
    __doc__="Declarations by substance: one omitted is left untouched, null clears it.",
    **cast(Any, dict.fromkeys(SUBSTANCES, (SubstanceEntry | None, None))),
)
SubstanceChange: type[Strict] = create_model(
    "SubstanceChange",
    __base__=Strict,
    __doc__="Changes of one declaration: an omitted member stays; a declaration that is not stored needs its status.",
    **_ENTRY | {"status": (one_of("substance_status"), None)},
)
SubstancesPatch: type[Strict] = create_model(
    "SubstancesPatch",
    __base__=Strict,
    __doc__="Changes of declarations by substance: one omitted is left untouched, null clears it.",
    **cast(Any, dict.fromkeys(SUBSTANCES, (SubstanceChange | None, None))),
)
SkuComponentInput: type[Strict] = model_of(
    "SkuComponentInput", (LINE_ID, *COMPONENT_FIELDS), "One line of a component graph."
)
SkuInput: type[Strict] = model_of(
    "SkuInput", SKU_FIELDS, "A SKU as a caller writes it: an omitted field stays, null clears."
)
SkuMergedInput: type[Strict] = model_of(
    "SkuMergedInput",
    tuple(replace(field, required=False) for field in SKU_FIELDS),
    "A merge patch of a SKU whose declarations of substances are merged with the stored ones.",
)
SkuPatchInput: type[Strict] = create_model(
    "SkuPatchInput",
    __base__=SkuMergedInput,
    __doc__="Changes of a SKU as a merge patch (RFC 7396): an omitted field stays, null clears.",
    **cast(Any, {"substances": (SubstancesPatch | None, SkuMergedInput.model_fields["substances"])}),
)
SkuRowInput: type[Strict] = model_of(
    "SkuRowInput",
    tuple(replace(field, required=field.name == "sku_code") for field in SKU_FIELDS),
    "A SKU by its code; one that is held needs no name.",
)


class VolumeRowInput(Strict):
    """Units placed on one market in one period; null units clear the row."""

    market: Annotated[
        str,
        AfterValidator(validator(normalise.place)),
        PydanticField(description="Any jurisdiction code that the catalogue serves; normalised as in `markets`."),
    ]
    year: Annotated[
        int, PydanticField(ge=2000, le=2100, description="Calendar year of the row."), BeforeValidator(whole)
    ]
    half: Annotated[
        int,
        PydanticField(ge=0, le=2, description="0 is the calendar year; 1 and 2 are semesters, for GB only."),
        BeforeValidator(whole),
    ] = 0
    units_placed: Annotated[
        Annotated[int, PydanticField(ge=0, le=MAX_UNITS)] | None,
        PydanticField(description="Units placed on the market; null clears the row."),
        BeforeValidator(whole),
    ]


Body = TypeVar("Body", bound=BaseModel)
_VolumeRows: Final = TypeAdapter(Annotated[list[VolumeRowInput], PydanticField(max_length=MAX_VOLUME_ROWS)])


def parse_body(model: type[Body], body: object) -> Body:
    """Return a body, parsed JSON, as its model. Raise `Refused` with every fault."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise Refused(issues_of(error)) from None


def parse_volumes(body: object) -> list[VolumeRow]:
    """Return the rows of a volumes write, each normalised by itself. Raise `Refused` with every fault and its row."""
    check_size(body)
    try:
        return [cast(VolumeRow, row.model_dump()) for row in _VolumeRows.validate_python(body)]
    except ValidationError as error:
        raise Refused(issues_of(error, rows=True)) from None


def parse_sku(body: object, model: type[BaseModel] = SkuInput) -> SkuPatch:
    """Return the given fields of one SKU, normalised; `body` is parsed JSON. Raise `Refused` with every fault."""
    if isinstance(body, dict) and isinstance(graph := body.get("components"), list) and len(graph) > MAX_COMPONENTS:
        raise Refused([Issue("out_of_range", TOO_MANY_COMPONENTS, "components")])
    check_size(body)
    return cast(SkuPatch, parse_body(model, body).model_dump(exclude_unset=True))


_CODES: Final = {
    "missing": "required",
    "extra_forbidden": "unknown_field",
    "literal_error": "not_in_vocabulary",
    "greater_than_equal": "out_of_range",
    "less_than_equal": "out_of_range",
    "finite_number": "out_of_range",
    "too_long": "too_long",
    "too_short": "too_short",
    "string_too_long": "too_long",
    "string_too_short": "too_short",
    "string_pattern_mismatch": "invalid_format",
    "uuid_parsing": "invalid_format",
}
"""Pydantic's error types that are neither a code of this service nor about a type."""


_WANTED: Final = {
    "model": Message("Send a JSON object."),
    "dict": Message("Send a JSON object."),
    "list": Message("Send a JSON array."),
    "string": Message("Send a text."),
    "bool": Message("Send true or false."),
    "float": Message("Send a number."),
    "int": Message("Send a whole number."),
    "date": Message("Send a day as YYYY-MM-DD."),
}
"""What a value of the wrong type should have been, in the words of JSON instead of the library's, by what the library's
kinds of faults begin with: int_type, int_parsing, int_from_float."""


def issues_of(error: ValidationError, *, rows: bool = False) -> list[Issue]:
    """Return the first faults as issues, and how many more there are: code, dotted path, sentence; never a whole value.

    With `rows` the body is an array, and each issue names its row and the path inside it.
    """
    listed = error.errors(include_url=False)[:MAX_FAULTS]
    hidden = error.error_count() - len(listed)
    return [*(issue_of(detail, rows=rows) for detail in listed), *([more(hidden)] if hidden else [])]


def issue_of(detail: Any, *, rows: bool = False) -> Issue:
    """Return one fault of Pydantic's as an issue; `rows` as for `issues_of`."""
    kind, location = detail["type"], detail["loc"]
    row = location[0] if rows and location else None
    field = path(location[1:] if rows else location)
    if detail["input"] is None and kind.endswith("_type") and field is not None:
        return Issue("not_null", Message("This field cannot be cleared; send a value or leave it out."), field, row)
    sentence = detail.get("ctx", {}).get("sentence")
    if sentence or (kind in ISSUE_CODES and kind not in _CODES):  # too_short is one of the library's kinds, too
        return Issue(kind, sentence or message_of(detail["msg"]), field, row)
    code = _CODES.get(kind, "invalid_type")
    return Issue(code, _sentence(code, detail), field, row)


def _sentence(code: str, detail: Any) -> Message:
    match code:
        case "required":
            return Message("This field must be there.")
        case "unknown_field":
            return Message("This field is not part of the contract; leave it out.")
        case "invalid_type" if (wanted := detail["type"].partition("_")[0]) in _WANTED:
            return _WANTED[wanted]
        case "not_in_vocabulary":
            text = normalise.quote(detail["input"])
            return Message("{value} is not allowed: {reason}.", value=text, reason=_expected(detail["msg"]))
        case _:
            return _of_library(detail)


def _expected(text: str) -> str:
    """Return what to send in place of a value that is none of several codes, from Pydantic's sentence about it."""
    codes = text.removeprefix("Input should be ")
    if codes == text:
        return text
    others, _, last = codes.rpartition(" or ")
    return Message("send {codes}", codes=Message("{others} or {last}", others=others, last=last) if others else codes)


def _of_library(detail: Any) -> Message:
    """Return what a bound of the library's would take; a kind that is not known here has the library's own words."""
    about, bound = detail.get("ctx", {}), detail["msg"].rpartition(" ")[2]
    match detail["type"]:
        case "string_too_long":
            return normalise.too_long(detail["input"], about["max_length"])
        case "string_too_short" if about["min_length"] == 1:
            return normalise.too_short(about["min_length"])
        case "uuid_parsing":
            return _no_uuid(detail["input"])
        case "string_pattern_mismatch":
            return Message("Send a text of the form {pattern}.", pattern=about["pattern"])
        case "greater_than_equal":
            return Message("Send a number of at least {bound}.", bound=Figure(bound))
        case "less_than_equal":
            return Message("Send a number of at most {bound}.", bound=Figure(bound))
        case "finite_number":
            return Message("Send a finite number.")
        case "too_long":
            return Message(
                "Send at most {most} items; these are {given}.",
                most=about["max_length"],
                given=about["actual_length"],
            )
        case "too_short":
            return Message(
                "At least {least} item is needed; these are {given}.",
                least=about["min_length"],
                given=about["actual_length"],
            )
        case _:
            return message_of(f"{detail['msg']}.")


def path(location: tuple[int | str, ...]) -> str | None:
    """Return the dotted path of a location: ("components", 0, "weight_g") is components[0].weight_g."""
    dotted = ""
    for part in location:
        dotted += f"[{part}]" if isinstance(part, int) else f".{part}" if dotted else part
    return dotted or None


MAX_CHANGED: Final = 20_000
"""Most SKUs of one change of chosen SKUs."""
_CHANGED: Final = (
    *(SKU[name] for name in ("packaging_level", "use_contexts", "markets", "brand_id")),
    Field("pfas", "code", "The status of the packaging's PFAS.", vocabulary="substance_status"),
    Field("heavy_metals", "code", "The status of the packaging's heavy metals.", vocabulary="substance_status"),
    replace(COMPONENT["supplier_id"], meaning="The supplier of each part that names none."),
    replace(
        COMPONENT["polymer_or_grade"],
        meaning="Polymer, paper grade, alloy … of each part of that material that names none.",
        min_length=1,
    ),
)
CHANGED_FIELDS: Final = tuple(replace(field, nullable=False) for field in _CHANGED)
"""What is set of many SKUs at once."""
ChangedFieldsInput: type[Strict] = model_of(
    "ChangedFieldsInput", CHANGED_FIELDS, "Fields to set of many SKUs; an omitted one stays as it is."
)


class SkuChangesInput(Strict):
    """A change of many SKUs: what is set, and of which: of `ids`, of those that the filters leave, or of `all`."""

    fields: Annotated[
        ChangedFieldsInput,  # type: ignore[valid-type]  # made of the field table
        PydanticField(description="What is set, at least one field."),
    ]
    ids: Annotated[
        list[Annotated[str, AfterValidator(validator(uuid_text)), PydanticField(json_schema_extra={"format": "uuid"})]]
        | None,
        PydanticField(description=f"The SKUs to change, 1 to {MAX_CHANGED}. Not beside a filter."),
    ] = None
    all: Annotated[
        bool, PydanticField(description="True for every SKU of the company; not beside ids or a filter.")
    ] = False
    dry_run: bool = False


MAX_BATCH: Final = 1000
"""Most SKUs of one batch (interface v1, Limits)."""


Archived: TypeAlias = Literal["return", "keep"]
"""What happens to an archived SKU that a batch or an import names: it comes back, or its row is rejected."""
_IF_VERSION: Final = "if_version"
_Version: TypeAlias = Annotated[int, PydanticField(strict=True, ge=0), BeforeValidator(whole)]
_VERSION: Final = TypeAdapter[int](_Version)


class SkuBatchRow(SkuRowInput):  # type: ignore[valid-type, misc]  # made of the field table
    """A SKU of a batch, with its units placed. A code that is held needs no `name`; a new one without is `required`."""

    volumes: Annotated[
        list[VolumeRowInput],
        PydanticField(
            default_factory=list,
            max_length=MAX_VOLUME_ROWS,
            description="Upserted by market, year and half, as PUT /skus/{id}/volumes does; an omitted row stays.",
            json_schema_extra={"x-stability": "preview"},
        ),
    ]
    if_version: Annotated[
        _Version | None,
        PydanticField(
            description="The version of the SKU that the row is made for; 0 where it must not exist yet. The row alone"
            " is rejected with `version_conflict` where another one is stored.",
            json_schema_extra={"x-stability": "preview"},
        ),
    ] = None


class SkuBatchInput(Strict):
    """Up to 1 000 SKUs, each accepted or rejected by itself."""

    skus: Annotated[list[SkuBatchRow], PydanticField(max_length=MAX_BATCH)]
    dry_run: bool = False
    archived: Annotated[
        Archived,
        PydanticField(
            description="Whether an archived SKU that a row names comes back, or the row is rejected with"
            " `sku_archived`.",
            json_schema_extra={"x-stability": "preview"},
        ),
    ] = "return"


class BatchRecord(NamedTuple):
    """One row of a batch: the given fields, its volumes and the version it is made for; None where it has none."""

    record: SkuPatch
    volumes: list[VolumeRow] | None
    if_version: int | None


def parse_batch_row(row: object) -> BatchRecord:
    """Return one row of a batch. Raise `Refused`."""
    if not isinstance(row, dict) or not row.keys() & {"volumes", _IF_VERSION}:
        return BatchRecord(parse_sku(row, SkuRowInput), None, None)
    issues: list[Issue] = []
    volumes, if_version = None, None
    try:
        fields = {name: value for name, value in row.items() if name not in ("volumes", _IF_VERSION)}
        record = parse_sku(fields, SkuRowInput)
    except Refused as invalid:
        issues += invalid.issues
    try:
        volumes = parse_volumes(row["volumes"]) if "volumes" in row else None
    except Refused as invalid:
        issues += inside_volumes(invalid.issues)
    try:
        if_version = None if row.get(_IF_VERSION) is None else _VERSION.validate_python(row[_IF_VERSION])
    except ValidationError as error:
        issues += [replace(issue_of(fault), field=_IF_VERSION) for fault in error.errors(include_url=False)]
    if issues:
        raise Refused(issues)
    return BatchRecord(record, volumes, if_version)


def inside_volumes(issues: Iterable[Issue]) -> list[Issue]:
    """Return faults of rows of volumes as those of the field `volumes` that holds the rows."""
    return [replace(issue, row=None, field=_at_row(issue)) if issue.count is None else issue for issue in issues]


def _at_row(issue: Issue) -> str:
    place = "volumes" if issue.row is None else f"volumes[{issue.row}]"
    return f"{place}.{issue.field}" if issue.field else place


def _reason(value: str | None) -> str | None:
    return None if value is None else str(validator(normalise.text, min_length=1, max_length=2000)(value))


_SkuCode: TypeAlias = Annotated[
    str, AfterValidator(validator(normalise.text, min_length=1, max_length=255, is_code=True))
]


class ReasonInput(Strict):
    """The reason for an action."""

    reason: Annotated[
        str | None,
        AfterValidator(_reason),
        PydanticField(json_schema_extra={"maxLength": 2000}, description="The reason, which the audit log keeps."),
    ] = None


class FreeCodeInput(ReasonInput):
    """A former code of a SKU that a new SKU may have."""

    sku_code: Annotated[
        _SkuCode, PydanticField(min_length=1, description="The code that the SKU had before it was renamed.")
    ]
