"""Asks suppliers for data on SKUs, reminds them, ends what was asked, and files their answers.

A request is about some components of one SKU. An enquiry is one link that lists a request for each of many SKUs; its
items are answered, decided and applied like any request. An answer changes no record: it is filed for review
(`services.review`), where a person applies it or not. The form of an answer is in `schemas.suppliers`; the API checks
the links and limits their use.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, Literal, NamedTuple
from uuid import UUID

from uuid_utils import uuid7

from compliance.ruleset import RuleSet
from pipelines import suppliers as mails
from pipelines.writing import json_fields
from schemas.actors import Actor
from schemas.issues import Issue
from schemas.messages import Message
from schemas.refusals import NotThere, Refused, require
from schemas.skus.types import Component, SupplierAnswer, SupplierResponse
from schemas.suppliers import EnquiryLink, SupplierEnquiryDetail, SupplierEnquiryInput
from services.review import entries
from services.review.entries import facts_by_id, remembered_parts
from warehouse import review, suppliers
from warehouse.audit import ledger
from warehouse.companies import sandboxes
from warehouse.operate.sessions import Connection
from warehouse.review import Entry
from warehouse.rules import Rulesets
from warehouse.skus import queries as skus
from warehouse.skus import store
from warehouse.suppliers import EnquiryLinks, Request

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
_LOOKED_AT: Final = 50
"""Most answers to other items that are looked through for the same parts."""


class NewRequest(NamedTuple):
    """A request that was made just now, and the components that it asks about."""

    id: UUID
    component_ids: list[UUID]


class Parent(NamedTuple):
    """The enquiry that a request is an item of: its id, its token, and the end of its links.

    The token of an item is an HMAC of its id with the enquiry's token as the key. So the page of the enquiry, which
    knows its own token from the address, can show the links, and nothing that is stored can; an item's token leads to
    no other item and not to the enquiry.
    """

    enquiry_id: UUID
    token: str
    expires_at: datetime


def create_request(
    conn: Connection,
    actor: Actor,
    *,
    sku_code: str,
    component_ids: Sequence[UUID] = (),
    supplier_name: str | None,
    parent: Parent | None = None,
) -> tuple[NewRequest, str]:
    """Request data on components of a SKU, on its whole graph where none are named; return request and link token.

    `component_ids` are the `id`s of lines of the graph; `parent` makes it an item of an enquiry. Raises `Refused`.
    """
    lines = load_lines(conn, sku_code)
    graph_ids = [UUID(line["id"]) for line in lines]
    requested_ids = list(dict.fromkeys(component_ids)) or graph_ids
    if unknown_ids := [str(component) for component in requested_ids if component not in graph_ids]:
        raise _not_askable(
            Message(
                "{ids} is no component of the SKU {code}; name ids of the lines of its graph: {held}.",
                ids=", ".join(unknown_ids),
                code=sku_code,
                held=", ".join(map(str, graph_ids)),
            )
        )
    request_id, sku_id = UUID(str(uuid7())), skus.id_of(conn, sku_code)
    token = item_token(parent.token, request_id) if parent else suppliers.new_token()
    fields = {"sku_id": sku_id, "component_ids": requested_ids, "supplier_name": supplier_name}
    enquiry_id, expires_at = (parent.enquiry_id, parent.expires_at) if parent else (None, None)
    row = {"id": request_id, "company_id": actor.company_id, "at": actor.now, "expires_at": expires_at}
    facts = facts_by_id(lines, set(map(str, requested_ids)))
    suppliers.add_request(conn, {**fields, **row, "enquiry_id": enquiry_id, "asked": facts}, token)
    after = {name: value for name, value in (fields | {"enquiry_id": enquiry_id}).items() if value is not None}
    ledger.enter(conn, actor, "supplier_request.created", request_id, before=None, after=after)
    return NewRequest(request_id, requested_ids), token


def item_token(enquiry_token: str, request_id: UUID) -> str:
    """Return the token of one item of an enquiry (see `Parent`)."""
    return suppliers.derived_token(enquiry_token.encode(), request_id)


class Asked(NamedTuple):
    """An enquiry after it was made, reminded of or withdrawn, and its link; neither where a dry run made it.

    There is no link where the mail with it has no use any more.
    """

    outcome: Literal["created", "updated", "unchanged"]
    enquiry: SupplierEnquiryDetail | None
    link: EnquiryLink | None = None


def create_enquiry(
    conn: Connection, actor: Actor, sent: SupplierEnquiryInput, links: EnquiryLinks, *, dry_run: bool = False
) -> Asked:
    """Ask a supplier about the SKUs, in the caller's transaction.

    It is mailed where this program mails and it has an address; a sandbox mails nobody. With `dry_run` nothing is
    stored. Raises `Refused` with every fault.
    """
    mailing = bool(links.mailing and sent.supplier_email) and sandboxes.account_of(conn, actor.company_id) is None
    last_day, issues = _check(conn, sent, actor.now, mailing=mailing)
    if issues:
        raise Refused(issues)
    if dry_run:
        return Asked("created", None)
    enquiry_id = UUID(str(uuid7()))
    parent = Parent(
        enquiry_id, links.new_token(conn, enquiry_id), datetime.combine(last_day + timedelta(days=1), time(), UTC)
    )
    by = actor.origin
    row = sent.model_dump(include={"supplier_name", "supplier_email", "language"}) | {
        "id": enquiry_id,
        "company_id": actor.company_id,
        "message": sent.message or None,
        "due_on": sent.due,
        "expires_at": parent.expires_at,
        "at": actor.now,
        "asked_by": UUID(by.actor_id) if by.actor_type == "user" and by.actor_id else None,
    }
    suppliers.add_enquiry(conn, row, parent.token)
    after = {"supplier_name": sent.supplier_name, "sku_codes": sent.sku_codes, "expires_at": parent.expires_at}
    ledger.enter(conn, actor, "supplier_enquiry.created", enquiry_id, before=None, after=after)
    for code in sent.sku_codes:
        create_request(conn, actor, sku_code=code, supplier_name=sent.supplier_name, parent=parent)
    if mailing:
        _plan_mails(conn, actor, enquiry_id, sent.due)
    enquiry = load_enquiry(conn, enquiry_id, actor.now)
    return Asked("created", enquiry, _link_of(conn, enquiry, links, "asked", actor.now))


def _plan_mails(conn: Connection, actor: Actor, enquiry_id: UUID, due_on: date | None) -> None:
    """Store the mail that asks, and the reminders; those that prove needless are not sent."""
    suppliers.add_mail(conn, actor.company_id, enquiry_id, "asked", due_at=actor.now, at=actor.now)
    for distance in _REMINDERS if due_on else ():
        at = datetime.combine((due_on or actor.today) + distance, _REMINDER_HOUR, UTC)
        if at > actor.now + REMINDED_AFTER:
            suppliers.add_mail(conn, actor.company_id, enquiry_id, "reminder", due_at=at, at=actor.now)


def load_enquiry(conn: Connection, enquiry_id: UUID, now: datetime, *, locking: bool = False) -> SupplierEnquiryDetail:
    """Return an enquiry of the session's company. Raises `NotThere`."""
    return require(suppliers.find_enquiry(conn, enquiry_id, now, locking=locking))


def _link_of(
    conn: Connection, enquiry: SupplierEnquiryDetail, links: EnquiryLinks, kind: str, now: datetime
) -> EnquiryLink | None:
    """Return the link of an enquiry and the mail of a kind with it, to copy; None where it has no use any more."""
    address, sender = links.address_of(conn, enquiry["id"]), suppliers.sender_of(conn, enquiry["id"])
    mail = mails.write(kind, enquiry, sender.company_name, address, now)
    return None if mail is None else {"url": address, "mail": mail}


def remind(conn: Connection, actor: Actor, enquiry_id: UUID, links: EnquiryLinks, *, dry_run: bool = False) -> Asked:
    """Have a reminder mailed now; `unchanged` where it is not.

    It is not where there is no address or no mail server, where nothing is open, and where one just went. Raises
    `NotThere`.
    """
    enquiry = load_enquiry(conn, enquiry_id, actor.now, locking=True)
    mailing = (
        links.mailing
        and enquiry["supplier_email"]
        and enquiry["state"] == "open"
        and not suppliers.is_mailed(conn, enquiry_id, actor.now, since=actor.now - REMINDED_AFTER)
        and not _has_mailed_enough(conn, actor.now)
        and sandboxes.account_of(conn, actor.company_id) is None
    )
    if mailing and not dry_run:
        suppliers.add_mail(conn, actor.company_id, enquiry_id, "reminder", due_at=actor.now, at=actor.now)
        ledger.enter(conn, actor, "supplier_enquiry.reminded", enquiry_id, before=None, after={})
        enquiry = load_enquiry(conn, enquiry_id, actor.now)
    link = _link_of(conn, enquiry, links, "reminder", actor.now)
    return Asked("updated" if mailing else "unchanged", enquiry, link)


def _has_mailed_enough(conn: Connection, now: datetime) -> bool:
    return suppliers.count_mails(conn, now - timedelta(days=1)) >= MAILS_A_DAY


def withdraw(conn: Connection, actor: Actor, enquiry_id: UUID, *, dry_run: bool = False) -> Asked:
    """End the links of an enquiry at once; answers that wait for review can still be decided.

    Withdrawing it again does nothing. Raises `NotThere`.
    """
    enquiry = load_enquiry(conn, enquiry_id, actor.now, locking=True)
    if enquiry["withdrawn_at"] is not None:
        return Asked("unchanged", enquiry)
    if not dry_run:
        suppliers.withdraw_enquiry(conn, enquiry_id, at=actor.now)
        after = {"withdrawn_at": actor.now}
        ledger.enter(conn, actor, "supplier_enquiry.withdrawn", enquiry_id, before={"withdrawn_at": None}, after=after)
        enquiry = load_enquiry(conn, enquiry_id, actor.now)
    return Asked("updated", enquiry)


def _check(conn: Connection, sent: SupplierEnquiryInput, now: datetime, *, mailing: bool) -> tuple[date, list[Issue]]:
    """Return the last day of the links, and every fault of what was sent."""
    last_day, issues = _last_day(sent, now.date())
    if mailing and _has_mailed_enough(conn, now):
        sentence = Message("A company has at most {count} mails sent in 24 hours.", count=MAILS_A_DAY)
        issues.append(Issue("out_of_range", sentence, "supplier_email"))
    for at, code in enumerate(sent.sku_codes):
        if code in sent.sku_codes[:at]:
            issues.append(Issue("duplicate_sku_code", Message("{code} is named twice.", code=code), f"sku_codes[{at}]"))
            continue
        try:
            load_lines(conn, code)
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


def load_lines(conn: Connection, sku_code: str) -> list[Component]:
    """Return the lines of a SKU's graph that can be asked about, each with every field. Raises `Refused`."""
    lines = store.of_code(conn, sku_code)
    if lines is None:
        raise _not_askable(Message("The company has no SKU {code}.", code=sku_code))
    if not lines:
        raise _not_askable(
            Message("The SKU {code} has no components to ask about; write its components first.", code=sku_code)
        )
    return [json_fields.published_line(line) for line in lines]


def requested_lines(conn: Connection, request: Request) -> list[Component]:
    """Return the lines that the request asks about, in the order of the graph, without those that were removed."""
    lines = store.of_id(conn, request.sku_id) or []
    return [json_fields.published_line(line) for line in lines if UUID(line["id"]) in request.component_ids]


@dataclass(frozen=True, slots=True)
class Offer:
    """Answers to the same parts of other items, to be filled in: a response, and the items that they come from."""

    response: SupplierResponse
    items: list[str]


def offer_of(conn: Connection, request: Request) -> Offer | None:
    """Return what the supplier has answered for the same parts elsewhere in the enquiry; None where there is nothing.

    The same part is the same component of the library, else one of the same type, family and material. The supplier
    reads what is filled in before sending it.
    """
    if request.enquiry_id is None:
        return None
    filled_in: dict[str, SupplierAnswer] = {}
    items: list[str] = []
    lines = requested_lines(conn, request)
    for other in suppliers.answered_beside(conn, request.enquiry_id, request.id, most=_LOOKED_AT):
        answers = {answer["component_id"]: answer for answer in other.payload.get("components") or ()}
        for theirs in store.of_id(conn, other.sku_id) or []:
            if (answer := answers.get(theirs["id"])) is None:
                continue
            published = json_fields.published_line(theirs)
            same = [line["id"] for line in lines if line["id"] not in filled_in and _is_same(line, published)]
            filled_in |= {line_id: {**answer, "component_id": line_id} for line_id in same}
            items += [other.sku_name] if same and other.sku_name not in items else []
    return Offer({"components": list(filled_in.values())}, items) if filled_in else None


def _is_same(line: Component, other: Component) -> bool:
    if line["component_id"] or other["component_id"]:
        return line["component_id"] == other["component_id"]
    return all(line[name] == other[name] for name in ("component_type", "material_family", "polymer_or_grade"))


def submit(
    conn: Connection, actor: Actor, request_id: UUID, response: SupplierResponse, *, rulesets: Rulesets
) -> Entry:
    """File a validated answer for review in the caller's transaction; it replaces one that waits there.

    `response` is what `schemas.suppliers` parses; the origin takes the supplier's name from the request. Raises
    `NotThere` and `Refused`.
    """
    request = open_request(conn, request_id)
    actor = replace(actor, origin=replace(actor.origin, actor_name=request.supplier_name))
    answers, issues = _assign_answers(response.get("components") or (), request)
    issues += _find_contradictions(answers, rulesets.active(conn))
    if issues:
        raise Refused(issues)
    replaced = review.replace_open(conn, request.id)
    suppliers.move_request(conn, request.id, "awaiting_review", at=actor.now)
    kept = {**response, "components": answers, "asked": remembered_parts(conn, request)}
    payload = {name: value for name, value in kept.items() if value is not None}
    entry = entries.file(conn, actor, "supplier_answer", payload, sku_id=request.sku_id, request_id=request.id)
    review.take(conn, request.id, entry.id, replaced=replaced)
    return entry


def open_request(conn: Connection, request_id: UUID) -> Request:
    """Return the request, locked until the transaction ends. Raises `NotThere`."""
    request = suppliers.find_request(conn, request_id, locking=True)
    if request is None or request.state == "closed" or request.withdrawn_at is not None:
        raise NotThere
    return request


def _assign_answers(answers: Sequence[SupplierAnswer], request: Request) -> tuple[list[SupplierAnswer], list[Issue]]:
    """Return each answer with its component, and the faults of that assignment.

    Where only one component was asked about, an answer need not name it.
    """
    requested_ids = [str(component) for component in request.component_ids]
    assigned: list[SupplierAnswer] = []
    issues: list[Issue] = []
    seen: set[str] = set()
    for place, answer in enumerate(answers):
        field = f"response.components[{place}].component_id"
        component = answer.get("component_id") or (requested_ids[0] if len(requested_ids) == 1 else None)
        if component is None:
            issues.append(Issue("required", Message("Name the component that the answer is about."), field))
        elif component not in requested_ids:
            sentence = Message(
                "{id} is none of the components that were asked about: {asked}.",
                id=component,
                asked=", ".join(requested_ids),
            )
            issues.append(Issue("unknown_reference", sentence, field))
        elif component in seen:
            issues.append(
                Issue("duplicate_row", Message("{id} is answered for twice; answer for it once.", id=component), field)
            )
        else:
            seen.add(component)
            assigned.append({**answer, "component_id": component})
    return assigned, issues


def _find_contradictions(answers: Sequence[SupplierAnswer], rules: RuleSet) -> Iterator[Issue]:
    """Yield measured values that contradict the status beside them, so that the supplier can correct them."""
    for place, answer in enumerate(answers):
        declared = answer.get("substances")
        for fault in json_fields.declared({"substances": declared}, rules)[1] if declared else ():
            yield Issue(fault.code, fault.message, f"response.components[{place}].{fault.field}")


def _not_askable(sentence: Message) -> Refused:
    return Refused([Issue("unknown_reference", sentence, "sku_code")])
