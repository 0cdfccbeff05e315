"""Model of the body that asks one supplier about many SKUs."""

from datetime import date, datetime
from typing import Annotated, Any, Final  # Any: pydantic's annotations

from email_validator import EmailNotValidError, validate_email
from pydantic import AfterValidator
from pydantic import Field as PydanticField

from schemas import normalise
from schemas.document_models import Language
from schemas.messages import Message
from schemas.models import Strict, validator

MAX_ITEMS: Final = 200
"""Most SKUs of one enquiry: its page lists them all."""


def _day(value: str) -> str:
    try:
        return datetime.strptime(value, "%Y-%m-%d").date().isoformat()  # noqa: DTZ007  (a day has no zone)
    except ValueError:
        sentence = Message("{value} is no date as YYYY-MM-DD.", value=normalise.shown(value))
        raise normalise.Unfit("invalid_format", sentence) from None


def _address(value: str) -> str:
    """Return the address as it is written in a mail: its domain in ASCII (RFC 5890)."""
    try:
        found = validate_email(value.strip(), check_deliverability=False, allow_smtputf8=False).ascii_email
    except EmailNotValidError:
        found = None
    if found is None:
        sentence = Message("{value} is no email address.", value=normalise.shown(value))
        raise normalise.Unfit("invalid_format", sentence)
    return found


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


class SupplierEnquiryInput(Strict):
    """What a supplier is asked about, and until when."""

    supplier_name: Annotated[
        str,
        AfterValidator(validator(normalise.text, min_length=1, max_length=500)),
        PydanticField(json_schema_extra={"minLength": 1, "maxLength": 500}, description="Whom the link is sent to."),
    ]
    supplier_email: Annotated[
        str | None,
        AfterValidator(_optional(validator(_address))),
        PydanticField(
            json_schema_extra={"format": "email", "maxLength": 254},
            description="Whom the link, reminders and rejections are mailed to, where the service mails "
            "(`PCDS_SMTP_URL`): at once, three days before `due_on`, and the day after it while items are open.",
        ),
    ] = None
    language: Annotated[Language, PydanticField(description="Of its mails.")] = "en"
    sku_codes: Annotated[
        list[_Code],
        PydanticField(
            min_length=1, max_length=MAX_ITEMS, description="The SKUs; each is asked about with all its components."
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

    @property
    def due(self) -> date | None:
        """The deadline as a date."""
        return None if self.due_on is None else date.fromisoformat(self.due_on)

    @property
    def last_day(self) -> date | None:
        """The last day of the links as a date."""
        return None if self.expires_on is None else date.fromisoformat(self.expires_on)
