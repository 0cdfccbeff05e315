"""A company's profile, what follows from it, and the models of the reset of a sandbox."""

from datetime import datetime
from typing import Annotated, Final, Literal, cast, get_args

from pydantic import AfterValidator, ConfigDict, TypeAdapter, ValidationError, with_config
from pydantic import Field as PydanticField
from typing_extensions import TypedDict

from schemas.answers import Answer, Identifier, Instant, Number, code
from schemas.conformity import LONGEST
from schemas.json_values import JsonMapping
from schemas.library import Country
from schemas.normalise import text
from schemas.pages import OneAnswer, WriteAnswer
from schemas.refusals import Refused
from schemas.skus.inputs import issues_of, validator

Required = Literal["yes", "no", "depends"]
CompanySize = Literal["micro", "small", "medium", "large"]
"""By staff and turnover or balance sheet (Recommendation 2003/361/EC, Annex, Article 2)."""
SIZES: Final[tuple[CompanySize, ...]] = get_args(CompanySize)


@with_config(ConfigDict(extra="forbid", strict=True))
class ProfileFields(TypedDict):
    """What a company says of itself; null is not answered, and no field has a default.

    `seat` is an ISO 3166-1 alpha-2 code; `sells_directly_abroad` whether the company sells to end users in countries
    other than that of its seat; the others fill declarations of conformity in. A field more is a column of
    `company_profiles` and a row of `profile_questions.csv`.
    """

    seat: Country | None
    size: CompanySize | None
    sells_directly_abroad: bool | None
    address: Annotated[str, AfterValidator(validator(text, min_length=1, max_length=LONGEST["point"]))] | None
    standards: Annotated[str, AfterValidator(validator(text, min_length=1, max_length=LONGEST["point"]))] | None
    signatory: Annotated[str, AfterValidator(validator(text, min_length=1, max_length=LONGEST["signatory"]))] | None
    function: Annotated[str, AfterValidator(validator(text, min_length=1, max_length=LONGEST["signatory"]))] | None
    place: Annotated[str, AfterValidator(validator(text, min_length=1, max_length=LONGEST["signatory"]))] | None


NO_ANSWERS: Final = cast(ProfileFields, dict.fromkeys(ProfileFields.__annotations__))
_FIELDS: Final = TypeAdapter(ProfileFields)


def parse_profile(body: JsonMapping) -> ProfileFields:
    """Return what was sent as the fields of a profile. Raise `Refused` with every fault."""
    try:
        return _FIELDS.validate_python(body)
    except ValidationError as error:
        raise Refused(issues_of(error)) from None


class CompanyProfile(ProfileFields):
    """The stored profile: `version` is 0, and `updated_at` null, before the first answer."""

    version: int
    updated_at: datetime | None


class ProfileQuestion(TypedDict):
    """The question that one field of the profile answers, and the law that asks it."""

    field: str
    ask: str
    reference: str


class Representative(TypedDict):
    """Whether a company appoints an authorised representative for producer responsibility in one jurisdiction.

    `required` depends where the profile does not decide, and `asks` are then the questions that do; or where nobody
    found what the law there says, and then `asks` is empty. `applies_from`, `reference`, `confidence`, `source_url` and
    `note` are of the rule that decides.
    """

    required: Required
    reason: str
    asks: list[ProfileQuestion]
    applies_from: str | None
    reference: str | None
    confidence: str
    source_url: str | None
    note: str | None


class SandboxReset(Answer):
    """A reset of the sandbox."""

    reset_at: Instant
    skus_removed: Number


class SandboxResetResult(WriteAnswer[SandboxReset]):
    """What a reset of the sandbox did; with `dry_run` what it would do."""


class MyCompany(Answer):
    """The company of a credential; a sandbox is one, too."""

    id: Identifier
    name: str
    plan: str
    is_sandbox: bool


class MyCredential(Answer):
    """The key that asked, or whose token did; the scopes are those of what was sent."""

    client_id: Identifier
    name: str
    scopes: list[code("scope")]  # type: ignore[valid-type]


class Allowance(Answer):
    """A limit of the plan or of the key, and how much of it is used; a null limit is none."""

    limit: int | None
    used: int


class Allowances(Answer):
    """What the company and the key may have and do, and what of it is used."""

    requests_per_minute: Annotated[
        Allowance, PydanticField(description="Of the key and its tokens, this one included.")
    ]
    skus: Annotated[Allowance, PydanticField(description="SKUs that are not archived.")]
    storage_bytes: Annotated[Allowance, PydanticField(description="Technical files, uploads and exports.")]
    open_exports: Annotated[Allowance, PydanticField(description="Exports that wait or are being written.")]
    webhooks: Allowance
    audit_log: Annotated[bool, PydanticField(description="Whether the plan has the audit log.")]


class Me(Answer):
    """Who asks, for whom, and what they may."""

    company: MyCompany
    credential: MyCredential
    limits: Allowances
    interface_version: Annotated[str, PydanticField(description="Version of this interface within v1.")]
    build: Annotated[str, PydanticField(description="Version of the running service.")]


class MeResponse(OneAnswer[Me]):
    """The caller."""
