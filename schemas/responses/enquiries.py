"""Models of the answers about enquiries to suppliers."""

from typing import Annotated, Literal

from pydantic import Field as PydanticField

from schemas.responses.base import Answer, Day, Identifier, Instant, Pagination


class SupplierEnquiryCounts(Answer):
    """Number of items by state."""

    total: int
    open: Annotated[int, PydanticField(description="Items without an answer.")]
    answered: Annotated[int, PydanticField(description="Items with an answer that waits for review.")]
    accepted: int
    rejected: Annotated[
        int, PydanticField(description="Items whose last answer was rejected; the supplier can send another.")
    ]
    closed: Annotated[int, PydanticField(description="Items that ended when a backup was restored.")]


class SupplierEnquiryItem(Answer):
    """One SKU of an enquiry."""

    id: Annotated[Identifier, PydanticField(description="Id of the request, by which the audit log names it.")]
    sku_id: Identifier
    sku_code: str
    name: str
    state: Literal["open", "answered", "accepted", "rejected", "closed"]
    note: Annotated[str | None, PydanticField(description="What the supplier was told when the answer was rejected.")]
    answered_at: Instant | None


class SupplierMail(Answer):
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


class MailText(Answer):
    """A mail as text, to be sent by a person."""

    subject: str
    text: str


class SupplierEnquiry(Answer):
    """One enquiry, never with its link."""

    id: Identifier
    supplier_name: str
    supplier_email: str | None
    language: Annotated[Literal["en", "fr", "de"], PydanticField(description="Language of its mails.")]
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


class SupplierEnquiryListResponse(Answer):
    """A page of enquiries, newest first."""

    data: list[SupplierEnquiry]
    pagination: Pagination


class SupplierEnquiryResponse(Answer):
    """One enquiry."""

    data: SupplierEnquiryDetail


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


class SupplierRequestCounts(Answer):
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


class AskedSupplier(Answer):
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


class SupplierListResponse(Answer):
    """A page of suppliers by name."""

    data: list[AskedSupplier]
    pagination: Pagination


class SupplierRequest(Answer):
    """One request to a supplier about one SKU, never with its link."""

    id: Identifier
    enquiry_id: Annotated[Identifier | None, PydanticField(description="The enquiry that the request belongs to.")]
    supplier_name: str | None
    sku_id: Identifier
    sku_code: str
    name: str
    state: Literal["open", "answered", "accepted", "rejected", "ended", "closed"]
    note: Annotated[str | None, PydanticField(description="What the supplier was told when the answer was rejected.")]
    created_at: Instant
    answered_at: Instant | None
    due_on: Day | None
    expires_at: Instant | None


class SupplierRequestListResponse(Answer):
    """A page of requests, newest first."""

    data: list[SupplierRequest]
    pagination: Pagination
