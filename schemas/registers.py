"""Models of what a company holds in registers: registrations, a representative's mandate, its self-certification."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator
from pydantic import Field as PydanticField
from typing_extensions import TypedDict

from schemas import normalise
from schemas.answers import Identifier, Instant
from schemas.files import day
from schemas.library import Code, Id, Name
from schemas.pages import OneAnswer, WriteAnswer
from schemas.roles import RoleQuestion
from schemas.skus.inputs import Strict, Version, validator

MOST: Final = 20
"""The most registrations in one market."""
COLUMNS: Final = (
    *("member_state", "register", "registration_number", "valid_from", "valid_to", "self_certification"),
    *("certified_by", "certified_on", "authorised_representative", "representative_address", "as_of"),
)
"""The columns of the file for marketplaces."""


def _day(value: str) -> str:
    return day(value).isoformat()


_OF_DAY = {"format": "date"}
DayText = Annotated[str, AfterValidator(validator(_day)), PydanticField(json_schema_extra=_OF_DAY)]
_Market = Annotated[str, AfterValidator(validator(normalise.market))]
_ISO = Annotated[str, PydanticField(json_schema_extra=_OF_DAY)]


class RegistrationInput(Strict):
    """A registration; `proof_id` is the id of a technical file that the company holds."""

    register_name: Annotated[Name, PydanticField(description="The register, as the company calls it.")]
    number: Annotated[Code, PydanticField(description="The number that the register gave.")]
    valid_from: Annotated[DayText, PydanticField(description="Its first day.")]
    valid_to: Annotated[DayText | None, PydanticField(description="Its last day; null for no end.")] = None
    proof_id: Annotated[Id | None, PydanticField(description="The technical file that proves it.")] = None


class MandateInput(Strict):
    """An authorised representative for the extended producer responsibility, and its written mandate."""

    name: Annotated[Name, PydanticField(description="Who represents the company.")]
    address: Annotated[Name | None, PydanticField(description="Postal or mail address.")] = None
    mandate_from: Annotated[DayText, PydanticField(description="First day of the mandate.")]
    mandate_to: Annotated[DayText | None, PydanticField(description="Its last day; null for no end.")] = None
    proof_id: Annotated[Id | None, PydanticField(description="The technical file that has the mandate.")] = None


class CertificationInput(Strict):
    """The self-certification of Article 45(4)(b), by a named person."""

    name: Annotated[Name, PydanticField(description="The person who certifies.")]
    signed_on: Annotated[DayText, PydanticField(description="The day on which the person did; not in the future.")]


class RegistersInput(Strict):
    """What the company holds in one market, which replaces what was recorded there; what is left out is not held."""

    market: Annotated[_Market, PydanticField(description="In the Union the Member State, also for its parts.")]
    registrations: Annotated[
        list[RegistrationInput], PydanticField(max_length=MOST, description="Its registrations there.")
    ] = PydanticField(default_factory=list)
    representative: Annotated[MandateInput | None, PydanticField(description="Who represents it there.")] = None
    certification: Annotated[
        CertificationInput | None, PydanticField(description="Null where nobody has certified.")
    ] = None
    if_version: Annotated[
        Version | None,
        PydanticField(description="Refuse the write where another version is stored; 0 before the first entry."),
    ] = None


class Registration(TypedDict):
    """A registration as it is recorded."""

    register_name: str
    number: Annotated[str, PydanticField(description="The number that the register gave.")]
    valid_from: _ISO
    valid_to: Annotated[_ISO | None, PydanticField(description="Its last day; null for no end.")]
    proof_id: Annotated[Identifier | None, PydanticField(description="The technical file that proves it.")]


class Mandate(TypedDict):
    """An authorised representative and the mandate, as they are recorded."""

    name: str
    address: str | None
    mandate_from: _ISO
    mandate_to: Annotated[_ISO | None, PydanticField(description="Its last day; null for no end.")]
    proof_id: Annotated[Identifier | None, PydanticField(description="The technical file that has the mandate.")]


class Certification(TypedDict):
    """Who has certified, and when."""

    name: Annotated[str, PydanticField(description="The person who certified.")]
    signed_on: _ISO


class RegisterNeed(TypedDict):
    """What is needed before selling in a market, whether it is met, and the article."""

    need: Literal["registration", "representative"]
    state: Literal["met", "missing", "open"]
    sentence: Annotated[str, PydanticField(description="In the language of the request.")]
    reference: str


class MarketRegisters(TypedDict):
    """How the company stands in one market today, and what it holds there."""

    market: str
    state: Annotated[
        Literal["ready", "missing", "undecided", "not_needed", "outside"],
        PydanticField(description="`outside` the Union the market's own law decides."),
    ]
    register_name: Annotated[str | None, PydanticField(description="By the catalogue; null where it is not known.")]
    register_url: str | None
    needs: Annotated[list[RegisterNeed], PydanticField(description="Empty where the company is no producer there.")]
    asks: Annotated[list[RoleQuestion], PydanticField(description="The questions that would decide.")]
    registrations: list[Registration]
    representative: Mandate | None
    certification: Certification | None
    certified: Annotated[
        bool, PydanticField(description="Whether the file states the certification: only while the state is ready.")
    ]
    version: Annotated[int, PydanticField(description="0 before the first entry.")]
    updated_at: Instant | None


class RegistersResponse(OneAnswer[list[MarketRegisters]]):
    """The markets of the company, and those in which it holds something."""


class RegistersWriteResult(WriteAnswer[MarketRegisters]):
    """The market as it was stored; with `dry_run` as it would be."""
