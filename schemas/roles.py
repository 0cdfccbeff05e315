"""Models of the answers that decide a company's roles, and of the roles and duties that follow from them."""

from typing import Annotated, Final, Literal

from pydantic import Field as PydanticField
from typing_extensions import TypedDict

from schemas.answers import Day, Identifier, Instant
from schemas.library import Country
from schemas.pages import OneAnswer, WriteAnswer
from schemas.skus.inputs import Strict, Version

Whose = Literal["own", "other"]
Kind = Literal["products", "transport", "service", "primary_production"]


class RoleAnswers(TypedDict):
    """What decides a role; null is not answered. A packaging's answer stands before the company's."""

    mark: Annotated[
        Literal["own", "other", "none"] | None,
        PydanticField(description="Under whose name or trademark the packaging, or its product, is designed or made."),
    ]
    specified_by: Annotated[Whose | None, PydanticField(description="Who set the specification of the packaging.")]
    made_by: Annotated[Whose | None, PydanticField(description="Who makes the packaging.")]
    packed_by: Annotated[Whose | None, PydanticField(description="Who packs the product in it.")]
    supplier_country: Annotated[
        Country | None,
        PydanticField(description="Where the supplier sits; unanswered, the one country of the parts' suppliers."),
    ]
    kind: Annotated[
        Kind | None, PydanticField(description="What it is; unanswered, as far as the packaging level says it.")
    ]
    modifies: Annotated[bool | None, PydanticField(description="Whether the company changes what is on the market.")]
    sells_directly_abroad: Annotated[
        bool | None,
        PydanticField(description="Whether it is sold to end users in other countries; else as the profile says."),
    ]
    owner_is_micro: Annotated[bool | None, PydanticField(description="Whether the mark's owner is a micro-enterprise.")]
    owner_country: Annotated[Country | None, PydanticField(description="Where the mark's owner sits.")]


class RoleAnswersInput(Strict):
    """The answers of a company or a packaging, which replace those before; what is left out is not answered."""

    mark: Literal["own", "other", "none"] | None = None
    specified_by: Whose | None = None
    made_by: Whose | None = None
    packed_by: Whose | None = None
    supplier_country: Country | None = None
    kind: Kind | None = None
    modifies: bool | None = None
    sells_directly_abroad: bool | None = None
    owner_is_micro: bool | None = None
    owner_country: Country | None = None
    if_version: Annotated[
        Version | None,
        PydanticField(description="Refuse the write where another version is stored; 0 before the first answer."),
    ] = None


NO_ANSWERS: Final = RoleAnswers(**dict.fromkeys(RoleAnswers.__annotations__))  # type: ignore[typeddict-item]


class RoleQuestion(TypedDict):
    """A question that would decide, and the law that asks it."""

    fact: Annotated[str, PydanticField(description="A field of the answers, or `seat` or `size` of the profile.")]
    ask: str
    reference: str


class RoleDecision(TypedDict):
    """One decision with its reason and article; with the questions that would decide it where it is undecided."""

    answer: Annotated[
        Literal["manufacturer", "importer", "distributor", "supplier", "yes", "no", "none", "undecided"],
        PydanticField(description="The operator's role; of the producer yes or no; none outside the Union."),
    ]
    reason: str
    reference: str | None
    supplier_has_article_15: Annotated[
        bool, PydanticField(description="Whether the supplier has the duties of Article 15 in the company's place.")
    ]
    asks: list[RoleQuestion]


class RoleDuty(TypedDict):
    """A duty of a role, from its day on."""

    duty: Annotated[str, PydanticField(description="Key of the duty.")]
    sentence: Annotated[str, PydanticField(description="What is to be done.")]
    reference: str
    applies_from: Annotated[Day | None, PydanticField(description="Null where no day is known.")]
    due_on: Annotated[Day | None, PydanticField(description="The next day of a duty of every year.")]
    state: Annotated[
        Literal["met", "open", "not_recorded", "upcoming"],
        PydanticField(description="By the record; `not_recorded` where the record cannot show it."),
    ]


class MarketRoles(TypedDict):
    """What the company is in one market."""

    market: str
    operator: Annotated[RoleDecision, PydanticField(description="The economic operator.")]
    producer: Annotated[RoleDecision, PydanticField(description="Whether it is the producer there.")]
    duties: list[RoleDuty]


class RolesRecord(TypedDict):
    """The roles of a company, or of one packaging, with the answers that lead to them."""

    sku_id: Annotated[Identifier | None, PydanticField(description="Null of the company's own answers.")]
    sku_code: str | None
    answers: Annotated[RoleAnswers, PydanticField(description="Its own answers.")]
    in_effect: Annotated[
        dict[str, str | None],
        PydanticField(description="By fact what decides: its own answer, its record, the company's, the profile."),
    ]
    version: Annotated[int, PydanticField(description="0 before the first answer.")]
    updated_at: Instant | None
    markets: Annotated[list[MarketRoles], PydanticField(description="One for each market in effect.")]


class RolesResponse(OneAnswer[RolesRecord]):
    """The roles and their answers."""


class RolesWriteResult(WriteAnswer[RolesRecord]):
    """The roles that follow from what was stored; with `dry_run` from what would be."""
