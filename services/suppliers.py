"""Asks suppliers for data on SKUs, reminds them, ends what was asked, and files their answers.

A request is about some components of one SKU. An enquiry is one link with a request for each of many SKUs; parts of
theirs that are alike are one row of its table, answered once. An answer changes no record: it is filed for review
(`services.review`), where a person applies it or not. The form of an answer is in `schemas.suppliers`; the API checks
the links and limits their use.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Final, Literal, NamedTuple
from uuid import UUID

import orjson
from uuid_utils import uuid7

from compliance import conformity, scopes
from compliance.conformity import Hanging
from compliance.ruleset import RuleSet
from pipelines import suppliers as mails
from pipelines.writing import json_fields
from schemas.actors import Actor
from schemas.issues import Issue
from schemas.json_values import JsonObject
from schemas.messages import Message
from schemas.refusals import NotThere, Refused, require
from schemas.skus.inputs import parse_body
from schemas.skus.types import Component, Sku, SupplierAnswer, SupplierResponse
from schemas.suppliers import (
    EnquiryLink,
    SupplierEnquiryDetail,
    SupplierEnquiryInput,
    SupplierRequest,
    answer_of,
)
from services.review import entries
from services.review.entries import facts_by_id, remembered_parts
from services.skus import detail
from services.skus.archive import why_not_held
from warehouse import enquiries, review, supplier_mails, suppliers
from warehouse.audit import ledger
from warehouse.enquiries import Saved
from warehouse.operate.sessions import Connection, savepoint
from warehouse.review import Entry
from warehouse.rules import Rulesets
from warehouse.skus import archive, portfolio, store
from warehouse.skus import queries as skus
from warehouse.suppliers import EnquiryLinks, Request

_LONGEST: Final = timedelta(days=366)
_AFTER_DUE: Final = timedelta(days=30)
_WITHOUT_DUE: Final = timedelta(days=90)


class NewRequest(NamedTuple):
    """A request that was made just now, and the components that it asks about."""

    id: UUID
    component_ids: list[UUID]


def create_request(
    conn: Connection,
    actor: Actor,
    *,
    sku_code: str,
    component_ids: Sequence[UUID] = (),
    supplier_name: str | None,
) -> tuple[NewRequest, str]:
    """Request data on components of a SKU, on its whole graph where none are named; return request and link token.

    `component_ids` are the `id`s of lines of the graph. Raises `Refused`.
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
    request_id, sku_id, token = UUID(str(uuid7())), skus.id_of(conn, sku_code), suppliers.new_token()
    fields = {"sku_id": sku_id, "component_ids": requested_ids, "supplier_name": supplier_name}
    row = {"id": request_id, "company_id": actor.company_id, "at": actor.now}
    facts = facts_by_id(lines, set(map(str, requested_ids)))
    suppliers.add_request(conn, {**fields, **row, "asked": facts}, token)
    after = {name: value for name, value in fields.items() if value is not None}
    ledger.enter(conn, actor, "supplier_request.created", request_id, before=None, after=after)
    return NewRequest(request_id, requested_ids), token


class Asked(NamedTuple):
    """An enquiry after it was made, reminded of or withdrawn, and its link; neither where a dry run made it.

    There is no link where the mail with it has no use any more.
    """

    outcome: Literal["created", "updated", "unchanged"]
    enquiry: SupplierEnquiryDetail | None
    link: EnquiryLink | None = None


def create_enquiry(
    conn: Connection,
    actor: Actor,
    sent: SupplierEnquiryInput,
    links: EnquiryLinks,
    *,
    dry_run: bool = False,
    asks_again: bool = False,
) -> Asked:
    """Ask a supplier about the SKUs, in the caller's transaction.

    It is mailed where this program mails and it has an address; a sandbox mails nobody. With `dry_run` nothing is
    stored. `asks_again` lets it be asked again by itself. Raises `Refused` with every fault.
    """
    mailing = mails.is_mailed(conn, actor, sent.supplier_email, links)
    last_day, issues = _check(conn, sent, actor.now, mailing=mailing)
    if issues:
        raise Refused(issues)
    if dry_run:
        return Asked("created", None)
    by = actor.origin
    chosen = {"supplier_name", "supplier_email", "language", "valid_months", "reminder_days"}
    row = sent.model_dump(include=chosen) | {
        "message": sent.message or None,
        "due_on": sent.due,
        "last_day": last_day,
        "asked_by": UUID(by.actor_id) if by.actor_type == "user" and by.actor_id else None,
        "asks_again": asks_again,
    }
    enquiry_id = mails.add_enquiry(conn, actor, row, sent.sku_codes, links, mailing=mailing)
    enquiry = load_enquiry(conn, enquiry_id, actor.now)
    return Asked("created", enquiry, _link_of(conn, enquiry, links, "asked", actor.now))


class Counted(NamedTuple):
    """Some SKUs, and their tonnes in the last year that each has units of."""

    skus: int
    tonnes: float


class Preview(NamedTuple):
    """What a supplier's answers could settle, of the SKUs that would be asked about (`asked`).

    `grade` are those whose grade is provisional or missing, `ban` those with a format ban that is open, `declaration`
    those whose declaration has an open point, where a part that is asked about lacks a fact that could settle it.
    `fields` are these facts, those of the most tonnes first. Where very many would be asked about, these are counted
    among the `judged` alone, those with the most tonnes.
    """

    asked: Counted
    grade: Counted
    ban: Counted
    declaration: Counted
    fields: list[tuple[str, Counted]]
    judged: Counted


_JUDGED: Final = 500
"""Most SKUs that a preview judges: a page answers at once, and the most tonnes decide."""


def preview(conn: Connection, supplier_name: str, sku_codes: Sequence[str], *, rulesets: Rulesets) -> Preview:
    """Return what an enquiry about these SKUs could settle; without codes, about those that are worth asking about."""
    rules = rulesets.active(conn)
    codes = list(sku_codes) or enquiries.codes_worth_asking(conn, supplier_name)
    askable = enquiries.askable(conn, codes, supplier_name)
    most = dict(sorted(askable.items(), key=lambda item: (-item[1].tonnes, item[0]))[:_JUDGED])
    tonnes: dict[tuple[str, str], list[float]] = {}
    alike: dict[bytes, Hanging] = {}
    for row in portfolio.of_codes(conn, list(most)):
        item, record = most[row["sku_code"]], detail.record(row)
        key = _deciding(record, item.line_ids)
        if (hanging := alike.get(key)) is None:
            hanging = alike[key] = conformity.hanging(record, item.line_ids, rules)
        kinds = (("kind", kind) for kind, fields in hanging._asdict().items() if fields)
        for group in (("kind", "judged"), *kinds, *(("field", name) for name in hanging.declaration)):
            tonnes.setdefault(group, []).append(item.tonnes)
    sums = {group: Counted(len(of_group), sum(of_group)) for group, of_group in tonnes.items()}
    fields = [(name, counted) for (kind, name), counted in sums.items() if kind == "field"]
    fields.sort(key=lambda field: (-field[1].tonnes, -field[1].skus, field[0]))

    def count(kind: str) -> Counted:
        return sums.get(("kind", kind), Counted(0, 0.0))

    asked = Counted(len(askable), sum(item.tonnes for item in askable.values()))
    return Preview(asked, count("grade"), count("ban"), count("declaration"), fields, count("judged"))


_DECIDES_NOTHING: Final = frozenset({"sku_code", "name", "description", "gtin", "brand_id", "volumes"})
"""What tells SKUs apart that are judged alike."""


def _deciding(record: Sku, line_ids: Sequence[str]) -> bytes:
    """Return what is the same for SKUs on which the same hangs: most have equal parts."""
    of_line = {"id", "position_in_sku", "supplier_id"}
    lines = [
        (line["id"] in line_ids, {name: value for name, value in line.items() if name not in of_line})
        for line in record.get("components") or ()
    ]
    facts = {name: value for name, value in record.items() if name not in _DECIDES_NOTHING}
    return orjson.dumps([{**facts, "components": lines}, scopes.of_record(record)])


def ask_again(conn: Connection, actor: Actor, enquiry_id: UUID, links: EnquiryLinks) -> Asked:
    """Ask a supplier once more about the items of an enquiry; a row whose parts have changed since says so.

    What the record has is filled in, so that unchanged parts are confirmed as they are. Raises `NotThere`, `Refused`.
    """
    before, terms = load_enquiry(conn, enquiry_id, actor.now), enquiries.terms_of(conn, enquiry_id)
    again: JsonObject = {name: before[name] for name in ("supplier_name", "supplier_email", "language", "message")}
    again |= {"valid_months": terms.valid_months, "reminder_days": terms.reminder_days}
    due_on = mails.due_again(before, actor.today).isoformat()
    body = {**again, "sku_codes": [item["sku_code"] for item in before["items"]], "due_on": due_on}
    lapsed = enquiries.lapsed(conn, actor.now, enquiry_id)
    sent = parse_body(SupplierEnquiryInput, body)
    made = create_enquiry(conn, actor, sent, links, asks_again=terms.asks_again)
    assert made.enquiry is not None, "it is no dry run"
    mails.note_changes(conn, made.enquiry["id"], lapsed, before["language"])
    return made


def load_enquiry(conn: Connection, enquiry_id: UUID, now: datetime, *, locking: bool = False) -> SupplierEnquiryDetail:
    """Return an enquiry of the session's company. Raises `NotThere`."""
    return require(suppliers.find_enquiry(conn, enquiry_id, now, locking=locking))


def _link_of(
    conn: Connection, enquiry: SupplierEnquiryDetail, links: EnquiryLinks, kind: str, now: datetime
) -> EnquiryLink | None:
    """Return the link of an enquiry and the mail of a kind with it, to copy; None where it has no use any more."""
    address, sender = links.address_of(conn, enquiry["id"]), suppliers.sender_of(conn, enquiry["id"])
    articles = suppliers.articles_of(conn, enquiry["id"])
    mail = mails.write(kind, enquiry, sender.company_name, address, now, articles=articles)
    return None if mail is None else {"url": address, "mail": mail}


def remind(conn: Connection, actor: Actor, enquiry_id: UUID, links: EnquiryLinks, *, dry_run: bool = False) -> Asked:
    """Have a reminder mailed now; `unchanged` where it is not.

    It is not where there is no address or no mail server, where nothing is open, and where one just went. Raises
    `NotThere`.
    """
    enquiry = load_enquiry(conn, enquiry_id, actor.now, locking=True)
    mailing = (
        mails.is_mailed(conn, actor, enquiry["supplier_email"], links)
        and enquiry["state"] == "open"
        and not supplier_mails.is_mailed(conn, enquiry_id, actor.now, since=actor.now - mails.REMINDED_AFTER)
        and not mails.has_mailed_enough(conn, actor.now)
    )
    if mailing and not dry_run:
        supplier_mails.add_mail(conn, actor.company_id, enquiry_id, "reminder", due_at=actor.now, at=actor.now)
        ledger.enter(conn, actor, "supplier_enquiry.reminded", enquiry_id, before=None, after={})
        enquiry = load_enquiry(conn, enquiry_id, actor.now)
    link = _link_of(conn, enquiry, links, "reminder", actor.now)
    return Asked("updated" if mailing else "unchanged", enquiry, link)


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


def withdraw_request(
    conn: Connection, actor: Actor, request_id: UUID, *, dry_run: bool = False
) -> tuple[Literal["updated", "unchanged"], SupplierRequest]:
    """End the link of one request at once; an answer that waits for review can still be decided.

    With the last item of an enquiry that is itself withdrawn. Withdrawing it again does nothing, nor of one whose
    answer was accepted. Raises `NotThere`.
    """
    request = require(suppliers.find_request(conn, request_id))
    if request.enquiry_id is not None:  # locked first, as where its supplier answers
        load_enquiry(conn, request.enquiry_id, actor.now, locking=True)
    request = require(suppliers.find_request(conn, request_id, locking=True))
    withdraws = request.state != "closed" and request.withdrawn_at is None
    with savepoint(conn) as part:
        part.keep = not dry_run
        if withdraws:
            suppliers.withdraw_request(conn, request_id, at=actor.now)
            after = {"withdrawn_at": actor.now}
            ledger.enter(
                conn, actor, "supplier_request.withdrawn", request_id, before={"withdrawn_at": None}, after=after
            )
            if request.enquiry_id is not None:
                counts = load_enquiry(conn, request.enquiry_id, actor.now)["counts"]
                if counts["ended"] == counts["total"]:  # its link would ask about nothing
                    withdraw(conn, actor, request.enquiry_id)
        [shown] = suppliers.requests_page(actor.now, 1, 0, ids=[request_id]).read(conn)["data"]
    return ("updated" if withdraws else "unchanged"), shown


def _check(conn: Connection, sent: SupplierEnquiryInput, now: datetime, *, mailing: bool) -> tuple[date, list[Issue]]:
    """Return the last day of the links, and every fault of what was sent."""
    last_day, issues = _last_day(sent, now.date())
    if mailing and mails.has_mailed_enough(conn, now):
        sentence = Message("A company has at most {count} mails sent in 24 hours.", count=mails.MAILS_A_DAY)
        issues.append(Issue("out_of_range", sentence, "supplier_email"))
    places = {code: at for at, code in reversed(list(enumerate(sent.sku_codes)))}
    for at, code in enumerate(sent.sku_codes):
        if places[code] != at:
            issues.append(Issue("duplicate_sku_code", Message("{code} is named twice.", code=code), f"sku_codes[{at}]"))
    unaskable = enquiries.unaskable(conn, list(places), sent.supplier_name)
    missing = why_not_held(conn, [code for code, is_there, _ in unaskable if not is_there])
    for code, _, has_parts in unaskable:
        why = missing.get(code) or Issue("unknown_reference", _why_not(code, sent.supplier_name, has_parts=has_parts))
        issues.append(Issue(why.code, why.message, f"sku_codes[{places[code]}]"))
    return last_day, issues


def _why_not(code: str, supplier_name: str | None, *, has_parts: bool) -> Message:
    """Return why nothing of a held SKU can be asked about; with parts, they are of other suppliers."""
    if not has_parts:
        return Message("The SKU {code} has no components to ask about; write its components first.", code=code)
    return Message(
        "Every component of the SKU {code} names another supplier than {supplier}; ask that one, by the name that the "
        "library has, or correct the components.",
        code=code,
        supplier=supplier_name,
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


def load_lines(conn: Connection, sku_code: str) -> list[Component]:
    """Return the lines of a SKU's graph that can be asked about, each with every field. Raises `Refused`."""
    lines = store.of_code(conn, sku_code)
    if lines is None:
        raise Refused([why_not_held(conn, [sku_code])[sku_code]])
    if not lines:
        raise _not_askable(_why_not(sku_code, None, has_parts=False))
    return [json_fields.published_line(line) for line in lines]


def requested_lines(conn: Connection, request: Request) -> list[Component]:
    """Return the lines that the request asks about, in the order of the graph, without those that were removed.

    An archived SKU has the parts with which it rests: its answer waits until somebody brings it back.
    """
    lines = store.of_id(conn, request.sku_id)
    if lines is None:
        lines = archive.lines_of(conn, request.sku_id)
    return [json_fields.published_line(line) for line in lines if UUID(line["id"]) in request.component_ids]


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
    rules = rulesets.active(conn)
    for place, answer in enumerate(answers):
        at = f"response.components[{place}]"
        issues += [Issue(fault.code, fault.message, f"{at}.{fault.field}") for fault in contradictions(answer, rules)]
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


def contradictions(answer: SupplierAnswer, rules: RuleSet) -> list[Issue]:
    """Return measured values that contradict the status beside them, so that the supplier can correct them."""
    declared = answer.get("substances")
    return list(json_fields.declared({"substances": declared}, rules)[1]) if declared else []


def confirm_rows(conn: Connection, actor: Actor, enquiry_id: UUID) -> None:
    """Confirm every row as it is filled in; one that nobody saved is confirmed as the record has it."""
    rows = [
        Saved(
            row.number,
            answer_of(row.part) if row.answer is None else row.answer,
            is_confirmed=True,
            article=row.article,
        )
        for row in enquiries.rows_of(conn, enquiry_id)
        if not row.is_confirmed
    ]
    enquiries.save_rows(conn, enquiry_id, rows, at=actor.now)


def answer_rows(
    conn: Connection, actor: Actor, enquiry_id: UUID, *, contact: str | None = None, comment: str | None = None
) -> int:
    """File the answer of every item whose rows are all confirmed, and return how many were filed.

    What waits for review and says the same stays. Raises `NotThere` where the link has ended.
    """
    enquiry = load_enquiry(conn, enquiry_id, actor.now, locking=True)
    if enquiry["state"] not in ("open", "answered"):
        raise NotThere
    actor = replace(actor, origin=replace(actor.origin, actor_name=enquiry["supplier_name"]))
    rows = {row.number: row for row in enquiries.rows_of(conn, enquiry_id) if row.is_confirmed and row.answer}
    beside: JsonObject = {name: text for name, text in (("contact", contact), ("comment", comment)) if text}
    filings: list[JsonObject] = []
    for item in enquiries.answered_items(conn, enquiry_id):
        pairs = zip(map(str, item.component_ids), item.row_numbers, strict=True)
        parts = {line_id: rows[number] for line_id, number in pairs if number in rows}
        components = [{**(row.answer or {}), "component_id": line_id} for line_id, row in parts.items()]
        before = item.payload or {}
        said = {name: before[name] for name in ("contact", "comment") if name in before} | beside
        if articles := {line_id: row.article for line_id, row in parts.items() if row.article}:
            said["articles"] = articles
        payload = {"components": components, **said, "asked": item.asked}
        if {name: before.get(name) for name in ("components", *said)} != {"components": components, **said}:
            of_item = {"sku_id": item.sku_id, "request_id": item.request_id, "payload": payload}
            filings.append({"id": UUID(str(uuid7())), "kind": "supplier_answer", **of_item})
    by = actor.origin
    filed_by = {"filed_by_type": by.actor_type, "filed_by_id": by.actor_id, "filed_by_name": by.actor_name}
    review.add_answers(conn, {"company_id": actor.company_id, "filed_at": actor.now, **filed_by}, filings)
    enquiries.await_review(conn, [filing["request_id"] for filing in filings], actor.now)
    entered = [(filing["id"], None, {name: filing[name] for name in filing if name != "id"}) for filing in filings]
    if entered:
        ledger.enter_many(conn, actor, "supplier_submission.filed", entered)
    return len(filings)


def _not_askable(sentence: Message) -> Refused:
    return Refused([Issue("unknown_reference", sentence, "sku_code")])
