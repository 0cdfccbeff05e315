"""Makes requests to suppliers for some components of one SKU, and files the answers.

An answer changes no record: it is filed for review (`services.review`), where a person applies it or not. The form of
an answer is in `schemas.suppliers`; the API checks the links and limits their use.
"""

import base64
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from uuid_utils import uuid7

from compliance.ruleset import RuleSet
from pipelines.writing import components, substances
from schemas.actors import Actor
from schemas.issues import Issue
from schemas.messages import Message
from schemas.refusals import NotThere, Refused
from schemas.skus.types import Component, SupplierAnswer, SupplierResponse
from services.review import entries as entries_review
from services.suppliers import parts
from services.suppliers.parts import facts_by_id
from warehouse.audit import ledger
from warehouse.operate.sessions import Connection
from warehouse.review import entries
from warehouse.rules import Rulesets
from warehouse.skus import queries as skus
from warehouse.skus import store
from warehouse.suppliers import enquiries
from warehouse.suppliers import requests as queries
from warehouse.suppliers.requests import Request

_LOOKED_AT: Final = 50
"""Most answers to other items that are looked through for the same parts."""


@dataclass(frozen=True, slots=True)
class Item:
    """What an enquiry gives each of its requests: the end of their links, and a token made from its own.

    The token of a request is an HMAC of its id with the enquiry's token as the key. So the page of the enquiry, which
    knows its own token from the address, can show the links, and nothing that is stored can; a request's token leads
    to no other request and not to the enquiry.
    """

    enquiry_id: UUID
    token: str
    expires_at: datetime

    def token_of(self, request_id: UUID) -> str:
        """Return the token of one of the enquiry's requests."""
        made = hmac.digest(self.token.encode(), request_id.bytes, "sha256")
        return base64.urlsafe_b64encode(made).rstrip(b"=").decode()


def create(
    conn: Connection,
    actor: Actor,
    *,
    sku_code: str,
    component_ids: Sequence[UUID],
    supplier_name: str | None,
    item: Item | None = None,
) -> tuple[Request, str]:
    """Request data on components of a SKU, on its whole graph where none are named; return request and link token.

    `component_ids` are the `id`s of lines of the graph; `item` makes it a part of an enquiry. Raises `Refused`.
    """
    lines = load_lines(conn, sku_code)
    graph_ids = [UUID(line["id"]) for line in lines]
    requested_ids = list(dict.fromkeys(component_ids)) or graph_ids
    if unknown_ids := [str(each) for each in requested_ids if each not in graph_ids]:
        raise _not_askable(
            Message(
                "{ids} is no component of the SKU {code}; name ids of the lines of its graph: {held}.",
                ids=", ".join(unknown_ids),
                code=sku_code,
                held=", ".join(map(str, graph_ids)),
            )
        )
    request_id, sku_id = UUID(str(uuid7())), skus.id_of(conn, sku_code)
    token = item.token_of(request_id) if item else queries.new_token()
    assert sku_id is not None, "it has lines"
    queries.add(
        conn,
        actor.company_id,
        request_id,
        token=token,
        sku_id=sku_id,
        component_ids=requested_ids,
        asked=facts_by_id(lines, set(map(str, requested_ids))),
        supplier_name=supplier_name,
        at=actor.now,
        enquiry_id=item.enquiry_id if item else None,
        expires_at=item.expires_at if item else None,
    )
    created = {"sku_id": sku_id, "component_ids": requested_ids, "supplier_name": supplier_name}
    if item:
        created["enquiry_id"] = item.enquiry_id
    ledger.enter(
        conn,
        actor,
        "supplier_request.created",
        request_id,
        before=None,
        after={name: value for name, value in created.items() if value is not None},
    )
    request = queries.of(conn, request_id)
    assert request is not None, "it was added just now"
    return request, token


def load_lines(conn: Connection, sku_code: str) -> list[Component]:
    """Return the lines of a SKU's graph that can be asked about, each with every field. Raises `Refused`."""
    lines = store.of_code(conn, sku_code)
    if lines is None:
        raise _not_askable(Message("The company has no SKU {code}.", code=sku_code))
    if not lines:
        raise _not_askable(
            Message("The SKU {code} has no components to ask about; write its components first.", code=sku_code)
        )
    return [components.published(line) for line in lines]


def requested_lines(conn: Connection, request: Request) -> list[Component]:
    """Return the lines that the request asks about, in the order of the graph, without those that were removed."""
    lines = store.of_id(conn, request.sku_id) or []
    return [components.published(line) for line in lines if UUID(line["id"]) in request.component_ids]


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
    found: dict[str, SupplierAnswer] = {}
    items: list[str] = []
    lines = requested_lines(conn, request)
    for answered in enquiries.answered(conn, request.enquiry_id, beside=request.id, most=_LOOKED_AT):
        answers = {answer["component_id"]: answer for answer in answered.payload.get("components") or ()}
        for theirs in store.of_id(conn, answered.sku_id) or []:
            if (answer := answers.get(theirs["id"])) is None:
                continue
            same = [each for each in lines if each["id"] not in found and _is_same(each, components.published(theirs))]
            found |= {each["id"]: {**answer, "component_id": each["id"]} for each in same}
            items += [answered.sku_name] if same and answered.sku_name not in items else []
    return Offer({"components": list(found.values())}, items) if found else None


def _is_same(line: Component, other: Component) -> bool:
    if line["component_id"] or other["component_id"]:
        return line["component_id"] == other["component_id"]
    return all(line[name] == other[name] for name in ("component_type", "material_family", "polymer_or_grade"))


def submit(
    conn: Connection,
    actor: Actor,
    request_id: UUID,
    response: SupplierResponse,
    *,
    rulesets: Rulesets,
) -> entries.Entry:
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
    replaced = entries.replace_open(conn, request.id)
    queries.move(conn, request.id, "awaiting_review", at=actor.now)
    kept = {**response, "components": answers, "asked": parts.of_request(conn, request)}
    payload = {name: value for name, value in kept.items() if value is not None}
    entry = entries_review.file(
        conn,
        actor,
        "supplier_answer",
        payload,
        sku_id=request.sku_id,
        request_id=request.id,
    )
    entries.take(conn, request.id, entry.id, replaced=replaced)
    return entry


def open_request(conn: Connection, request_id: UUID) -> Request:
    """Return the request, locked until the transaction ends. Raises `NotThere`."""
    request = queries.of(conn, request_id, locking=True)
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
        for fault in substances.declared({"substances": declared}, rules)[1] if declared else ():
            yield Issue(fault.code, fault.message, f"response.components[{place}].{fault.field}")


def _not_askable(sentence: Message) -> Refused:
    return Refused([Issue("unknown_reference", sentence, "sku_code")])
