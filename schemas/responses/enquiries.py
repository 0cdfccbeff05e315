"""Models of the answers about enquiries to suppliers."""

from typing import Annotated, Literal

from pydantic import Field as PydanticField

from schemas.responses.base import Answer, Day, Identifier, Instant, Pagination


class SupplierEnquiryCounts(Answer):
    """Items by their state."""

    total: int
    open: Annotated[int, PydanticField(description="Not answered yet.")]
    answered: Annotated[int, PydanticField(description="The answer waits for review.")]
    accepted: int
    rejected: Annotated[int, PydanticField(description="The last answer was rejected; the supplier can send another.")]
    closed: Annotated[int, PydanticField(description="Ended when a backup was restored.")]


class SupplierEnquiryItem(Answer):
    """One SKU of an enquiry."""

    id: Annotated[Identifier, PydanticField(description="Of the request, as the audit log names it.")]
    sku_id: Identifier
    sku_code: str
    name: str
    state: Literal["open", "answered", "accepted", "rejected", "closed"]
    note: Annotated[str | None, PydanticField(description="Of a rejected answer: what the supplier was told.")]
    answered_at: Instant | None


class SupplierEnquiry(Answer):
    """One enquiry, never with its link."""

    id: Identifier
    supplier_name: str
    message: str | None
    due_on: Day | None
    expires_at: Instant
    created_at: Instant
    withdrawn_at: Instant | None
    state: Annotated[
        Literal["open", "answered", "expired", "withdrawn"],
        PydanticField(description="`answered` when no item waits for the supplier."),
    ]
    overdue: Annotated[bool, PydanticField(description="`due_on` has passed and an item waits for the supplier.")]
    counts: SupplierEnquiryCounts


class SupplierEnquiryDetail(SupplierEnquiry):
    """One enquiry with its items."""

    items: list[SupplierEnquiryItem]


class SupplierEnquiryListResponse(Answer):
    """A page of enquiries, newest first."""

    data: list[SupplierEnquiry]
    pagination: Pagination


class SupplierEnquiryResponse(Answer):
    """One enquiry."""

    data: SupplierEnquiryDetail


class SupplierEnquiryResult(Answer):
    """What was asked, or withdrawn."""

    outcome: Literal["created", "updated", "unchanged"]
    dry_run: bool
    data: Annotated[SupplierEnquiryDetail | None, PydanticField(description="Null where a dry run would create it.")]
    url: Annotated[
        str | None,
        PydanticField(
            description="The supplier's link, in the first answer of a creation only: the service does not store it, "
            "so that a repeat with the same Idempotency-Key has null."
        ),
    ]
