"""Models of the body that makes a declaration: market, period and form, and what a UK producer states besides.

A model checks the body by itself. Whether the market has such a declaration, and whether the regulator's rules take
the file, is decided where it is made (`services.filings.filing`).
"""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, NotRequired  # Any: pydantic's annotations; a body not yet parsed

from pydantic import AfterValidator, BeforeValidator
from pydantic import Field as PydanticField
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from schemas import normalise
from schemas.answers import Answer, Half, Identifier, Instant, Number, code
from schemas.figures import Halves
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import Unfit
from schemas.pages import ListAnswer, OneAnswer
from schemas.refusals import Refused
from schemas.skus.inputs import Strict, check_size, one_of, parse_body, uuid_text, validator, whole

FORMATS: Final = ("json", "csv", "rpd", "annex_ix")
"""The forms of a declaration; `rpd` is the packaging data file of the United Kingdom, `annex_ix` the yearly report of
Article 44 of Regulation (EU) 2025/40."""
UK_FORMAT: Final = "rpd"
UNION_FORMAT: Final = "annex_ix"
RATINGS: Final = ("R", "A", "G", "R-M", "A-M", "G-M")
"""The ratings that the UK file may have."""
MAX_STATEMENTS: Final = 20_000
"""Most ratings, and most answers about drinks containers, of one declaration."""
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_CONTRADICTS: Final = Message("This contradicts an entry before it; send one of the two.")


def _sha256(value: str) -> str:
    if not _SHA256.fullmatch(value):
        raise Unfit("invalid_format", Message("Send the 64 hexadecimal digits of a SHA-256, in small letters."))
    return value


def _text(most: int, *, least: int | None = None, is_code: bool = False) -> Any:
    """Return the type of a text of at most so many characters."""
    lengths: dict[str, Any] = {"maxLength": most} | ({} if least is None else {"minLength": least})
    limits = {"min_length": least, "max_length": most, "is_code": is_code}
    return Annotated[str, AfterValidator(validator(normalise.text, **limits)), PydanticField(json_schema_extra=lengths)]


class StatedRating(Strict):
    """The producer's own assessment of the parts of one kind of a SKU."""

    sku_code: _text(255, least=1, is_code=True)  # type: ignore[valid-type]
    component_type: one_of("component_type")  # type: ignore[valid-type]
    rating: Literal[RATINGS]  # type: ignore[valid-type]


class StatedDrinks(Strict):
    """Whether a SKU's bottle or can is a drinks container."""

    sku_code: _text(255, least=1, is_code=True)  # type: ignore[valid-type]
    drinks_container: bool


class UkProducer(Strict):
    """What a producer states for the UK file, because no record contains it."""

    organisation_id: _text(32)  # type: ignore[valid-type]
    organisation_size: Literal["L", "S"] = "L"
    activity: Literal["SO", "PF", "IM", "SE", "HL", "OM"] = "SO"
    household_type: Literal["HH", "NH"] = "HH"
    subsidiary_id: _text(64) = ""  # type: ignore[valid-type]
    ratings: Annotated[list[StatedRating], PydanticField(max_length=MAX_STATEMENTS, default_factory=list)]
    drinks: Annotated[list[StatedDrinks], PydanticField(max_length=MAX_STATEMENTS, default_factory=list)]


class DeclarationInput(Strict):
    """A declaration of one market and period, to be made from the newest snapshot and kept as filed."""

    market: Annotated[str, AfterValidator(validator(normalise.market))]
    year: Annotated[int, PydanticField(ge=2000, le=2100), BeforeValidator(whole)]
    half: Annotated[int, PydanticField(ge=0, le=2), BeforeValidator(whole)] = 0
    format: Literal[FORMATS]  # type: ignore[valid-type]
    uk: UkProducer | None = None
    corrects: (
        Annotated[str, AfterValidator(validator(uuid_text)), PydanticField(json_schema_extra={"format": "uuid"})] | None
    ) = None
    sha256: Annotated[str, AfterValidator(validator(_sha256))] | None = None


def parse_declaration(body: Any) -> DeclarationInput:
    """Return the declaration that a parsed JSON body asks for. Raise `Refused` with every fault."""
    check_size(body)
    wanted = parse_body(DeclarationInput, body)
    if issues := [*_of_format(wanted), *_contradictions(wanted)]:
        raise Refused(issues)
    return wanted


def _of_format(wanted: DeclarationInput) -> Iterator[Issue]:
    if wanted.format == UK_FORMAT and wanted.uk is None:
        yield Issue("required", Message("The UK file names the organisation: send uk.organisation_id."), "uk")
    if wanted.format != UK_FORMAT and wanted.uk is not None:
        yield Issue("unknown_field", Message("uk belongs to the UK file, the format rpd; leave it out."), "uk")


def _contradictions(wanted: DeclarationInput) -> Iterator[Issue]:
    """Yield each entry that says something else about the same than an entry before it."""
    rated: dict[tuple[str, str], str] = {}
    answered: dict[str, bool] = {}
    for place, rating in enumerate(wanted.uk.ratings if wanted.uk else ()):
        if rated.setdefault((rating.sku_code, rating.component_type), rating.rating) != rating.rating:
            yield Issue("invalid_format", _CONTRADICTS, f"uk.ratings[{place}]")
    for place, answer in enumerate(wanted.uk.drinks if wanted.uk else ()):
        if answered.setdefault(answer.sku_code, answer.drinks_container) != answer.drinks_container:
            yield Issue("invalid_format", _CONTRADICTS, f"uk.drinks[{place}]")


ComponentType: Any = code("component_type")


class DeclarationActor(TypedDict):
    """Who kept a declaration."""

    type: str
    id: str | None
    name: str | None


class DeclarationProducer(TypedDict):
    """What a producer states of itself in the UK file."""

    organisation_id: str
    organisation_size: Literal["L", "S"]
    activity: Literal["SO", "PF", "IM", "SE", "HL", "OM"]
    household_type: Literal["HH", "NH"]
    subsidiary_id: str


class DeclarationQuestion(TypedDict):
    """The missing fact that decides most of the undecided tonnes."""

    field: str
    tonnes: Number
    skus: int


class Declaration(TypedDict):
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


class DeclaredRating(TypedDict):
    """A rating that the producer stated."""

    sku_code: str
    component_type: ComponentType
    rating: Literal[RATINGS]  # type: ignore[valid-type]


class DeclaredDrinks(TypedDict):
    """An answer of the producer about a drinks container."""

    sku_code: str
    drinks_container: bool


class DeclarationDetail(Declaration):
    """A declaration with what its producer stated of SKUs."""

    ratings: list[DeclaredRating]
    drinks: list[DeclaredDrinks]


class LeftOutSku(TypedDict):
    """A SKU that the declaration does not count, or not wholly, and the facts to give."""

    sku_code: str
    units: int | None
    reason: str
    fields: list[str]
    archived: NotRequired[
        Annotated[
            bool | SkipJsonSchema[None],
            PydanticField(description="Whether the SKU is archived; present only then."),
        ]
    ]


class DeclarationWriteResult(Answer):
    """A declaration that was kept, or that would be."""

    outcome: Literal["created"]
    dry_run: bool
    newer_writes: int
    data: Declaration
    left_out: list[LeftOutSku]


class DeclarationDetailResponse(OneAnswer[DeclarationDetail]):
    """One kept declaration."""


class DeclarationListResponse(ListAnswer[Declaration]):
    """A page of kept declarations, newest first."""
