"""Makes and withdraws enquiries: one link for a supplier that lists a request for each of many SKUs.

Each item is a request of `services.supplier_requests`: its answer is filed, decided and applied like any other.
"""

from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from uuid import UUID

from uuid_utils import uuid7

from schemas.enquiries import SupplierEnquiryInput
from schemas.issues import Issue
from schemas.messages import Message
from services import supplier_requests
from services.supplier_requests import CannotAsk, Item
from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.review import enquiries
from warehouse.review.supplier_requests import new_token
from warehouse.sessions import Connection

_LONGEST: Final = timedelta(days=366)
_AFTER_DUE: Final = timedelta(days=30)
_WITHOUT_DUE: Final = timedelta(days=90)


class EnquiryRefused(Exception):  # noqa: N818  (an answer, not a fault)
    """The enquiry cannot be made; nothing was stored."""

    def __init__(self, issues: list[Issue]) -> None:
        """Make the refusal of these faults, at least one."""
        super().__init__(f"{len(issues)} issues")
        self.issues = issues


class NoSuchEnquiry(LookupError):  # noqa: N818  (an answer, not a fault)
    """The company has no such enquiry."""


def create(
    conn: Connection,
    company_id: UUID,
    sent: SupplierEnquiryInput,
    *,
    origin: Origin,
    now: datetime,
    dry_run: bool = False,
) -> tuple[UUID, str] | None:
    """Ask a supplier about the SKUs, in the caller's transaction; return the enquiry's id and its link's token.

    With `dry_run` nothing is stored and None returned. Raises `EnquiryRefused` with every fault.
    """
    last_day, issues = _last_day(sent, now.date())
    for at, code in enumerate(sent.sku_codes):
        if code in sent.sku_codes[:at]:
            issues.append(Issue("duplicate_sku_code", Message("{code} is named twice.", code=code), f"sku_codes[{at}]"))
            continue
        try:
            supplier_requests.load_lines(conn, code)
        except CannotAsk as refused:
            issues.append(Issue("unknown_reference", refused.args[0], f"sku_codes[{at}]"))
    if issues:
        raise EnquiryRefused(issues)
    if dry_run:
        return None
    item = Item(UUID(str(uuid7())), new_token(), datetime.combine(last_day + timedelta(days=1), time(), UTC))
    enquiries.add(
        conn,
        company_id,
        item.enquiry_id,
        token=item.token,
        supplier_name=sent.supplier_name,
        message=sent.message or None,
        due_on=sent.due,
        expires_at=item.expires_at,
        at=now,
    )
    after = {"supplier_name": sent.supplier_name, "sku_codes": sent.sku_codes, "expires_at": item.expires_at}
    ledger.enter(
        conn, company_id, "supplier_enquiry.created", item.enquiry_id, origin=origin, now=now, before=None, after=after
    )
    for code in sent.sku_codes:
        supplier_requests.create(
            conn,
            company_id,
            sku_code=code,
            component_ids=(),
            supplier_name=sent.supplier_name,
            origin=origin,
            now=now,
            item=item,
        )
    return item.enquiry_id, item.token


def withdraw(
    conn: Connection, company_id: UUID, enquiry_id: UUID, *, origin: Origin, now: datetime, dry_run: bool = False
) -> None:
    """End the links of an enquiry at once; answers that wait for review can still be decided.

    Withdrawing it again does nothing. Raises `NoSuchEnquiry`.
    """
    enquiry = enquiries.of(conn, enquiry_id, locking=True)
    if enquiry is None:
        raise NoSuchEnquiry
    if enquiry.withdrawn_at is not None or dry_run:
        return
    enquiries.withdraw(conn, enquiry_id, at=now)
    ledger.enter(
        conn,
        company_id,
        "supplier_enquiry.withdrawn",
        enquiry_id,
        origin=origin,
        now=now,
        before={"withdrawn_at": None},
        after={"withdrawn_at": now},
    )


def _last_day(sent: SupplierEnquiryInput, today: date) -> tuple[date, list[Issue]]:
    """Return the last day of the links, and the faults of the days that were sent."""
    issues: list[Issue] = []
    due, latest = sent.due, today + _LONGEST
    last_day = sent.last_day or min(latest, due + _AFTER_DUE if due and due <= latest else today + _WITHOUT_DUE)
    if due is not None and not today <= due <= latest:
        issues.append(Issue("out_of_range", _between(today, latest), "due_on"))
    earliest = max(today, due) if due and due <= latest else today
    if not earliest <= last_day <= latest:
        issues.append(Issue("out_of_range", _between(earliest, latest), "expires_on"))
    return last_day, issues


def _between(first: date, last: date) -> Message:
    return Message("The day lies between {first} and {last}.", first=first.isoformat(), last=last.isoformat())
