"""Makes, reminds of and withdraws enquiries: one link for a supplier that lists a request for each of many SKUs.

Each item is a request of `services.suppliers.requests`: its answer is filed, decided and applied like any other.
"""

from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from uuid import UUID

from uuid_utils import uuid7

from pipelines import suppliers
from pipelines.suppliers import Text
from schemas.actors import Actor
from schemas.issues import Issue
from schemas.messages import Message
from schemas.refusals import NotThere, Refused
from schemas.suppliers import SupplierEnquiryInput
from services.suppliers import requests
from services.suppliers.requests import Item
from warehouse.audit import ledger
from warehouse.companies import sandboxes
from warehouse.operate.sessions import Connection
from warehouse.suppliers import enquiries
from warehouse.suppliers.enquiries import Enquiry, EnquiryLinks

_LONGEST: Final = timedelta(days=366)
_AFTER_DUE: Final = timedelta(days=30)
_WITHOUT_DUE: Final = timedelta(days=90)
_REMINDERS: Final = (timedelta(days=-3), timedelta(days=1))
"""When reminders are mailed, from the day by which answers are asked for."""
_REMINDER_HOUR: Final = time(7)
REMINDED_AFTER: Final = timedelta(days=1)
"""How long after a mail a person can have the next reminder mailed."""
MAILS_A_DAY: Final = 500
"""From this many mails stored in 24 hours on, a company asks and reminds nobody by mail: nobody's spam is sent here."""
_PERSON: Final = "user"


def create(
    conn: Connection,
    actor: Actor,
    sent: SupplierEnquiryInput,
    *,
    links: EnquiryLinks,
    mailing: bool = False,
    dry_run: bool = False,
) -> UUID | None:
    """Ask a supplier about the SKUs, in the caller's transaction; return the enquiry's id.

    With `mailing` it is mailed where it has an address; a sandbox mails nobody. With `dry_run` nothing is stored and
    None returned. Raises `Refused` with every fault.
    """
    mailing = mailing and sandboxes.account_of(conn, actor.company_id) is None
    last_day, issues = _check(conn, sent, actor.now, mailing=mailing)
    if issues:
        raise Refused(issues)
    if dry_run:
        return None
    enquiry_id = UUID(str(uuid7()))
    token = links.new_token(conn, enquiry_id)
    item = Item(enquiry_id, token, datetime.combine(last_day + timedelta(days=1), time(), UTC))
    enquiries.add(
        conn,
        actor.company_id,
        item.enquiry_id,
        token=item.token,
        supplier_name=sent.supplier_name,
        message=sent.message or None,
        due_on=sent.due,
        expires_at=item.expires_at,
        at=actor.now,
        supplier_email=sent.supplier_email,
        language=sent.language,
        asked_by=UUID(actor.origin.actor_id) if actor.origin.actor_type == _PERSON and actor.origin.actor_id else None,
    )
    after = {"supplier_name": sent.supplier_name, "sku_codes": sent.sku_codes, "expires_at": item.expires_at}
    ledger.enter(conn, actor, "supplier_enquiry.created", item.enquiry_id, before=None, after=after)
    for code in sent.sku_codes:
        requests.create(
            conn,
            actor,
            sku_code=code,
            component_ids=(),
            supplier_name=sent.supplier_name,
            item=item,
        )
    if mailing and sent.supplier_email:
        _plan_mails(conn, actor.company_id, enquiry_id, sent.due, actor.now)
    return enquiry_id


def _plan_mails(conn: Connection, company_id: UUID, enquiry_id: UUID, due_on: date | None, now: datetime) -> None:
    """Store the mail that asks, and the reminders; those that prove needless are not sent."""
    enquiries.add_mail(conn, company_id, enquiry_id, "asked", due_at=now, at=now)
    for distance in _REMINDERS if due_on else ():
        at = datetime.combine((due_on or now.date()) + distance, _REMINDER_HOUR, UTC)
        if at > now + REMINDED_AFTER:
            enquiries.add_mail(conn, company_id, enquiry_id, "reminder", due_at=at, at=now)


def remind(conn: Connection, actor: Actor, enquiry_id: UUID, *, mailing: bool, dry_run: bool) -> bool:
    """Have a reminder mailed now; False where it is not: no address, no mail server, nothing open, or one just went.

    Raises `NotThere`.
    """
    enquiry = enquiries.of(conn, enquiry_id, locking=True)
    if enquiry is None:
        raise NotThere
    last = enquiries.last_sent(conn, enquiry_id)
    is_early = enquiries.waits_until(conn, enquiry_id, actor.now) or (
        last is not None and actor.now - last < REMINDED_AFTER
    )
    is_open = any(item.state in suppliers.WAITS_FOR_SUPPLIER for item in enquiries.items_of(conn, enquiry_id))
    if not mailing or not enquiry.supplier_email or is_early or not is_open or _has_ended(enquiry, actor.now):
        return False
    if _has_mailed_enough(conn, actor.now) or sandboxes.account_of(conn, actor.company_id) is not None:
        return False
    if not dry_run:
        enquiries.add_mail(conn, actor.company_id, enquiry_id, "reminder", due_at=actor.now, at=actor.now)
        ledger.enter(conn, actor, "supplier_enquiry.reminded", enquiry_id, before=None, after={})
    return True


def text_of(conn: Connection, enquiry_id: UUID, links: EnquiryLinks, kind: str, now: datetime) -> Text | None:
    """Return the mail of a kind as it would be sent now, to copy; None where it has no use any more."""
    enquiry = enquiries.of(conn, enquiry_id)
    if enquiry is None:
        return None
    return suppliers.write(kind, enquiry, enquiries.items_of(conn, enquiry_id), links.address_of(conn, enquiry_id), now)


def _has_mailed_enough(conn: Connection, now: datetime) -> bool:
    return enquiries.added_since(conn, now - timedelta(days=1)) >= MAILS_A_DAY


def _has_ended(enquiry: Enquiry, now: datetime) -> bool:
    return enquiry.withdrawn_at is not None or enquiry.expires_at <= now


def withdraw(conn: Connection, actor: Actor, enquiry_id: UUID, *, dry_run: bool = False) -> None:
    """End the links of an enquiry at once; answers that wait for review can still be decided.

    Withdrawing it again does nothing. Raises `NotThere`.
    """
    enquiry = enquiries.of(conn, enquiry_id, locking=True)
    if enquiry is None:
        raise NotThere
    if enquiry.withdrawn_at is not None or dry_run:
        return
    enquiries.withdraw(conn, enquiry_id, at=actor.now)
    ledger.enter(
        conn,
        actor,
        "supplier_enquiry.withdrawn",
        enquiry_id,
        before={"withdrawn_at": None},
        after={"withdrawn_at": actor.now},
    )


def _check(conn: Connection, sent: SupplierEnquiryInput, now: datetime, *, mailing: bool) -> tuple[date, list[Issue]]:
    """Return the last day of the links, and every fault of what was sent."""
    last_day, issues = _last_day(sent, now.date())
    if mailing and sent.supplier_email and _has_mailed_enough(conn, now):
        sentence = Message("A company has at most {count} mails sent in 24 hours.", count=MAILS_A_DAY)
        issues.append(Issue("out_of_range", sentence, "supplier_email"))
    for at, code in enumerate(sent.sku_codes):
        if code in sent.sku_codes[:at]:
            issues.append(Issue("duplicate_sku_code", Message("{code} is named twice.", code=code), f"sku_codes[{at}]"))
            continue
        try:
            requests.load_lines(conn, code)
        except Refused as refused:
            issues.append(Issue("unknown_reference", refused.issues[0].message, f"sku_codes[{at}]"))
    return last_day, issues


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
