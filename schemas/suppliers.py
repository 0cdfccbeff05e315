"""Models of what suppliers are asked, what they answer, and how the company sees both: requests and enquiries."""

import csv
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, cast  # Any: pydantic asks for literal texts

from email_validator import EmailNotValidError, validate_email
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema
from pydantic import Field as PydanticField
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from schemas import normalise
from schemas.answers import Answer, Day, Identifier, Instant
from schemas.fields import COMPONENT, COMPONENT_FIELDS, Field
from schemas.issues import MAX_COMPONENTS
from schemas.json_values import Published
from schemas.messages import Message, supplier_languages
from schemas.pages import ListAnswer, OneAnswer
from schemas.skus.inputs import (
    FreeText,
    Strict,
    check_size,
    few_components,
    model_of,
    parse_body,
    uuid_text,
    validator,
    whole,
)
from schemas.skus.types import PartFacts, SupplierAnswer, SupplierResponse
from schemas.vocabularies import SUBSTANCES


class SupplierSubmissionAccepted(Answer):
    """The answer was taken and waits for a person at the company that asked."""

    status: Literal["awaiting_review"]
    submission_id: Annotated[
        Identifier, PydanticField(description="Id of the answer, by which the company's audit log names it.")
    ]


VERSIONS: Final = Path(__file__).parent / "supplier_response_versions.csv"
"""Each published version with its day, the digest of what it accepts, and what changed."""
_MEANINGS: Final = {
    "component_id": "The component that is answered for, by the id that the request names it with.",
    "material_family": "Material family.",
}
"""Meanings of fields that differ from those of a component that a company writes."""


def _answered(field: Field) -> Field:
    return replace(field, required=False, nullable=True, meaning=_MEANINGS.get(field.name, field.meaning))


SupplierComponentInput: type[Strict] = model_of(
    "SupplierComponentInput",
    tuple(_answered(field) for field in COMPONENT_FIELDS if field.name != "component_type"),
    "What a supplier says of one component; a field omitted or null is not answered.",
)


class SupplierDataResponse(Strict):
    """A supplier's answer to a request about one packaging item; every field is optional."""

    components: Annotated[
        list[SupplierComponentInput] | None,  # type: ignore[valid-type]
        BeforeValidator(few_components),
        PydanticField(
            description="One entry for each component that is answered for.",
            json_schema_extra={"maxItems": MAX_COMPONENTS},
        ),
    ] = None
    contact: Annotated[FreeText | None, PydanticField(description="A person whom the company may ask.")] = None
    comment: Annotated[FreeText | None, PydanticField(description="Anything else that the supplier says.")] = None


def _agreed(consent: bool) -> bool:
    if not consent:
        raise PydanticCustomError(
            "not_in_vocabulary",
            cast(Any, "{sentence}"),
            {"sentence": Message("Without consent the answer is not taken; send true.")},
        )
    return consent


class SupplierSubmission(Strict):
    """A supplier's answer with the consent to hand it to the company that asked."""

    consent: Annotated[
        bool,
        AfterValidator(_agreed),
        WithJsonSchema({"type": "boolean", "const": True}),
        PydanticField(description="The supplier agrees that the company uses the answer; always true."),
    ]
    response: Annotated[SupplierDataResponse, PydanticField(description="The answer, for the components asked about.")]


def parse_submission(body: object) -> SupplierResponse:
    """Return the given fields of the response, normalised; `body` is parsed JSON. Raise `Refused` with every fault."""
    check_size(body)
    return cast(SupplierResponse, parse_body(SupplierSubmission, body).response.model_dump(exclude_unset=True))


class _Untitled(Published):
    """Leaves out titles that only repeat a field's name."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002  (the library's signature)
        return False


@cache
def published(address: str) -> dict[str, object]:
    """Return the JSON Schema (2020-12) of `SupplierDataResponse`, with its newest version and day; `address` is its id.

    The versions are a table; a test checks its last row against the model, so that the accepted values cannot change
    under a published version.
    """
    with VERSIONS.open(encoding="utf-8", newline="") as file:
        *_, newest = csv.DictReader(file)
    schema = SupplierDataResponse.model_json_schema(schema_generator=_Untitled)
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "$id": address,
        "version": newest["version"],
        "date": newest["date"],
        **schema,
    }


FIRST: Final = ("material_family", "polymer_or_grade", "weight_g", "colour", "recycled_content_percent")
"""The fields that every part is asked for; `DESIGN` are those of the design rules."""
DESIGN: Final = (
    "attachment",
    "separable",
    "coverage_percent",
    "adhesive_type",
    "ink_type",
    "coating_type",
    "density_g_cm3",
    "thickness_um",
    "metallised",
    "direct_print",
    "additives",
)
SUBSTANCE_PARTS: Final[Mapping[str, Field]] = {
    "status": Field("status", "code", "", vocabulary="substance_status"),
    "value": Field("value", "number", ""),
    "unit": Field("unit", "code", "", vocabulary="substance_unit"),
    "evidence": Field("evidence", "text", ""),
}
"""What is asked of each substance."""


class AnswerCell(NamedTuple):
    """A cell of the table of an enquiry: its path in an answer, the name of its header, and its field."""

    path: str
    name: str
    field: Field


CELLS: Final[tuple[AnswerCell, ...]] = (
    *(AnswerCell(name, name, COMPONENT[name]) for name in FIRST),
    *(
        AnswerCell(f"substances.{substance}.{part}", f"{substance}_{part}", field)
        for substance in SUBSTANCES
        for part, field in SUBSTANCE_PARTS.items()
    ),
    *(AnswerCell(name, name, COMPONENT[name]) for name in DESIGN),
)
"""The cells of a row in the order of the workbook."""


def answer_of(part: Mapping[str, Any]) -> SupplierAnswer:
    """Return what a record has of a part as its supplier would say it, to be confirmed."""
    said: dict[str, object] = {name: part[name] for name in (*FIRST, *DESIGN) if part.get(name) is not None}
    declared = {
        substance: {name: entry[name] for name in SUBSTANCE_PARTS if entry.get(name) is not None}
        for substance, entry in (part.get("substances") or {}).items()
        if entry
    }
    return cast(SupplierAnswer, said | ({"substances": declared} if declared else {}))


MAX_ITEMS: Final = 20_000
"""Most SKUs of one enquiry."""


def _day(value: str) -> str:
    try:
        return datetime.strptime(value, "%Y-%m-%d").date().isoformat()  # noqa: DTZ007  (a day has no zone)
    except ValueError:
        sentence = Message("{value} is no date as YYYY-MM-DD.", value=normalise.quote(value))
        raise normalise.Unfit("invalid_format", sentence) from None


def email_address(value: str) -> str:
    """Return the address as it is written in a mail: its domain in ASCII (RFC 5890)."""
    try:
        address = validate_email(value.strip(), check_deliverability=False, allow_smtputf8=False).ascii_email
    except EmailNotValidError:
        address = None
    if address is None:
        sentence = Message("{value} is no email address.", value=normalise.quote(value))
        raise normalise.Unfit("invalid_format", sentence)
    return address


def _optional(check: Any) -> Any:
    return lambda value: None if value is None else check(value)


_Code = Annotated[
    str,
    AfterValidator(validator(normalise.text, min_length=1, max_length=255, is_code=True)),
    PydanticField(json_schema_extra={"minLength": 1, "maxLength": 255}),
]
_Day = Annotated[
    str | None,
    AfterValidator(_optional(validator(_day))),
]


def _language(value: str) -> str:
    if value not in supplier_languages():
        sentence = Message(
            "{value} is not one of: {codes}.", value=normalise.quote(value), codes=", ".join(supplier_languages())
        )
        raise normalise.Unfit("not_in_vocabulary", sentence)
    return value


_LANGUAGE: Final = WithJsonSchema({"type": "string", "enum": list(supplier_languages())})


class SupplierEnquiryInput(Strict):
    """What a supplier is asked about, and until when."""

    supplier_name: Annotated[
        str,
        AfterValidator(validator(normalise.text, min_length=1, max_length=500)),
        PydanticField(json_schema_extra={"minLength": 1, "maxLength": 500}, description="Whom the link is sent to."),
    ]
    supplier_email: Annotated[
        str | None,
        AfterValidator(_optional(validator(email_address))),
        PydanticField(
            json_schema_extra={"format": "email", "maxLength": 254},
            description="Whom the link, reminders and rejections are mailed to, where the service mails "
            "(`PCDS_SMTP_URL`): at once, three days before `due_on`, and the day after it while items are open.",
        ),
    ] = None
    language: Annotated[
        str, AfterValidator(validator(_language)), _LANGUAGE, PydanticField(description="Of its mails and workbook.")
    ] = "en"
    sku_codes: Annotated[
        list[_Code],
        PydanticField(
            min_length=1,
            max_length=MAX_ITEMS,
            description="The SKUs; each is asked about with its components, but those that name another supplier of "
            "the library. Components that are alike are one row of the table behind the link.",
        ),
    ]
    message: Annotated[
        str | None,
        AfterValidator(_optional(validator(normalise.text, min_length=None, max_length=2000))),
        PydanticField(json_schema_extra={"maxLength": 2000}, description="The supplier reads it above the items."),
    ] = None
    due_on: Annotated[
        _Day,
        PydanticField(
            json_schema_extra={"format": "date"},
            description="The day by which answers are asked for (UTC); the links stay until `expires_on`.",
        ),
    ] = None
    expires_on: Annotated[
        _Day,
        PydanticField(
            json_schema_extra={"format": "date"},
            description="The last day of the links (UTC), within 366 days; else 30 days after `due_on`, or 90 days.",
        ),
    ] = None

    reminder_days: Annotated[
        list[Annotated[int, PydanticField(ge=-180, le=180), BeforeValidator(whole)]],
        PydanticField(
            default_factory=lambda: [-3, 1],
            max_length=10,
            description="The days on which a reminder is mailed, counted from `due_on`: -3 is three days before it; "
            "-3 and 1 where there are none.",
        ),
    ]
    valid_months: Annotated[
        int,
        PydanticField(
            ge=1, le=60, description="How many months an accepted answer holds; after that it is worth asking again."
        ),
        BeforeValidator(whole),
    ] = 12

    @property
    def due(self) -> date | None:
        """The deadline as a date."""
        return None if self.due_on is None else date.fromisoformat(self.due_on)

    @property
    def last_day(self) -> date | None:
        """The last day of the links as a date."""
        return None if self.expires_on is None else date.fromisoformat(self.expires_on)


class SupplierEnquiryCounts(TypedDict):
    """Number of items by state."""

    total: int
    open: Annotated[int, PydanticField(description="Items without an answer, whose link works.")]
    answered: Annotated[int, PydanticField(description="Items with an answer that waits for review.")]
    accepted: int
    rejected: Annotated[
        int, PydanticField(description="Items whose last answer was rejected; the supplier can send another.")
    ]
    ended: Annotated[
        int, PydanticField(description="Items whose link expired or was withdrawn before an answer was accepted.")
    ]
    closed: Annotated[int, PydanticField(description="Items that ended when a backup was restored.")]


class GonePart(TypedDict):
    """A part that the supplier was asked about and that the SKU has no longer."""

    component_id: Annotated[Identifier, PydanticField(description="The id that it had as a component.")]
    was: Annotated[PartFacts | None, PydanticField(description="What it was when it was asked about.")]


RequestState = Annotated[
    Literal["open", "answered", "accepted", "rejected", "ended", "closed"],
    PydanticField(
        description="`answered` waits for review, `rejected` waits for another answer; `ended` waited for the supplier"
        " when its link expired or was withdrawn, `closed` ended when a backup was restored."
    ),
]
Archived = Annotated[bool, PydanticField(description="Whether the SKU is archived.")]
GoneParts = Annotated[
    list[GonePart], PydanticField(description="Parts that were asked about and that the SKU has no longer.")
]


class SupplierEnquiryItem(TypedDict):
    """One SKU of an enquiry."""

    id: Annotated[Identifier, PydanticField(description="Id of the request, by which the audit log names it.")]
    sku_id: Identifier
    sku_code: str
    name: str
    archived: Archived
    gone_parts: GoneParts
    state: RequestState
    note: Annotated[str | None, PydanticField(description="What the supplier was told when the answer was rejected.")]
    answered_at: Instant | None


class SupplierMail(TypedDict):
    """One mail of an enquiry, as it is sent or was sent."""

    kind: Annotated[
        Literal["asked", "reminder", "rejected"],
        PydanticField(description="Kind of mail; `rejected` names the answers that were not accepted, and why."),
    ]
    state: Annotated[
        Literal["waiting", "sent", "not_needed", "failed"],
        PydanticField(description="State of the mail; `not_needed` where nothing was open any more when it was due."),
    ]
    due_at: Annotated[Instant, PydanticField(description="When the mail is due, or tried again.")]
    ended_at: Annotated[Instant | None, PydanticField(description="When the mail was sent or given up.")]
    fault: Annotated[
        Literal[
            "server_unreachable",
            "not_encrypted",
            "sign_in_refused",
            "recipient_refused",
            "mail_refused",
        ]
        | None,
        PydanticField(description="Why the mail server refused it at the last attempt."),
    ]


class MailText(TypedDict):
    """A mail as text, to be sent by a person."""

    subject: str
    text: str


class SupplierEnquiry(TypedDict):
    """One enquiry, never with its link."""

    id: Identifier
    supplier_name: str
    supplier_email: str | None
    language: Annotated[str, _LANGUAGE, PydanticField(description="Language of its mails.")]
    message: str | None
    due_on: Day | None
    expires_at: Instant
    created_at: Instant
    withdrawn_at: Instant | None
    state: Annotated[
        Literal["open", "answered", "expired", "withdrawn"],
        PydanticField(description="State of the enquiry; `answered` when no item waits for the supplier."),
    ]
    overdue: Annotated[
        bool, PydanticField(description="Whether `due_on` has passed and an item waits for the supplier.")
    ]
    counts: SupplierEnquiryCounts


class SupplierEnquiryDetail(SupplierEnquiry):
    """One enquiry with its items."""

    items: list[SupplierEnquiryItem]
    mails: Annotated[
        list[SupplierMail], PydanticField(description="Mails of the enquiry; empty where the service does not mail.")
    ]


class EnquiryLink(TypedDict):
    """The supplier's link of an enquiry, and the mail with it."""

    url: str
    mail: MailText


class SupplierEnquiryListResponse(ListAnswer[SupplierEnquiry]):
    """A page of enquiries, newest first."""


class SupplierEnquiryResponse(OneAnswer[SupplierEnquiryDetail]):
    """One enquiry."""


class SupplierEnquiryResult(Answer):
    """What was asked, reminded of, or withdrawn."""

    outcome: Literal["created", "updated", "unchanged"]
    dry_run: bool
    data: Annotated[
        SupplierEnquiryDetail | None, PydanticField(description="The enquiry; null where a dry run would create it.")
    ]
    url: Annotated[
        str | None,
        PydanticField(
            description="The supplier's link, in the first answer of a creation or a reminder only: the service does "
            "not store it, so that a repeat with the same Idempotency-Key has null."
        ),
    ]
    mail: Annotated[
        MailText | None,
        PydanticField(description="The mail with the link in `url`, for a person to send."),
    ]


class SupplierRequestCounts(TypedDict):
    """Number of requests by state."""

    total: int
    open: Annotated[int, PydanticField(description="Requests without an answer.")]
    answered: Annotated[int, PydanticField(description="Requests with an answer that waits for review.")]
    accepted: int
    rejected: Annotated[
        int, PydanticField(description="Requests whose last answer was rejected; the supplier can send another.")
    ]
    ended: Annotated[
        int, PydanticField(description="Requests whose link expired or was withdrawn before an answer was accepted.")
    ]
    closed: Annotated[int, PydanticField(description="Requests that ended when a backup was restored.")]


class AskedSupplier(TypedDict):
    """A supplier that the company has asked, with the number of requests by state."""

    supplier_name: Annotated[
        str | None, PydanticField(description="Name of the supplier; null for requests that were made without one.")
    ]
    counts: SupplierRequestCounts
    overdue: Annotated[
        int, PydanticField(description="Requests whose `due_on` has passed and that wait for the supplier.")
    ]
    last_asked_at: Instant
    last_answered_at: Instant | None


class AwaitedSupplier(TypedDict):
    """A supplier whose answer is awaited about so many items; `sku_codes` and `request_ids` are of some of them."""

    supplier_name: str | None
    items: int
    waiting_since: datetime
    due_on: date | None
    overdue: int
    sku_codes: list[str]
    request_ids: list[Identifier]


class SupplierRequest(TypedDict):
    """One request to a supplier about one SKU, never with its link."""

    id: Identifier
    enquiry_id: Annotated[Identifier | None, PydanticField(description="The enquiry that the request belongs to.")]
    supplier_name: str | None
    component_ids: Annotated[list[Identifier], PydanticField(description="The components that are asked about.")]
    sku_id: Identifier
    sku_code: str
    name: str
    archived: Archived
    gone_parts: GoneParts
    state: RequestState
    note: Annotated[str | None, PydanticField(description="What the supplier was told when the answer was rejected.")]
    created_at: Instant
    answered_at: Instant | None
    due_on: Day | None
    expires_at: Instant | None


class SupplierRequestInput(Strict):
    """What is asked of a supplier about one SKU."""

    sku_code: Annotated[str, PydanticField(min_length=1, description="The SKU that it is about.")]
    component_ids: Annotated[
        list[Annotated[str, AfterValidator(validator(uuid_text)), PydanticField(json_schema_extra={"format": "uuid"})]]
        | None,
        PydanticField(description="The `id`s of lines of its graph; all where it is left out."),
    ] = None
    supplier_name: Annotated[FreeText | None, PydanticField(description="Whom the link is sent to.")] = None


class SupplierRequestResult(Answer):
    """A request that was made, with its token in the first answer only."""

    outcome: Literal["created"]
    dry_run: bool
    id: Identifier | None
    component_ids: Annotated[list[Identifier], PydanticField(description="The components that are asked about.")]
    token: Annotated[
        str | None,
        PydanticField(
            description="What `POST /api/supplier-data/{token}` takes; null in a dry run, and for a repeat with the"
            " same Idempotency-Key."
        ),
    ]
    url: Annotated[str | None, PydanticField(description="The same as a page with a form for a person.")]


class SupplierRequestWithdrawal(Answer):
    """A request whose link was ended."""

    outcome: Literal["updated", "unchanged"]
    dry_run: bool
    data: SupplierRequest


class SupplierRequestListResponse(ListAnswer[SupplierRequest]):
    """A page of requests, newest first."""
