"""A company's profile, what follows from it, and the models of the reset of a sandbox."""

from datetime import datetime
from typing import Annotated, Final, Literal, cast, get_args

from pydantic import AfterValidator, ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from schemas.answers import Answer, Instant, Number
from schemas.conformity import LONGEST
from schemas.json_values import JsonMapping
from schemas.library import Country
from schemas.normalise import text
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


class SandboxResetResult(Answer):
    """What a reset of the sandbox did; with `dry_run` what it would do."""

    dry_run: bool
    data: SandboxReset
