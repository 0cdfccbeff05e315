"""A company's roles over REST and on pages: what it answers, what it is in each market, and the duties that follow.

Both are here so that a process loads one file less.
"""

from functools import partial
from typing import Any, Final  # Any: what a page shows
from uuid import UUID

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import json_of
from api.http.auth import Presented, read_as_actor
from api.http.parameters import DryRun, RecordId
from api.http.requests import fingerprint
from api.http.service import service_of
from api.http.writing import JsonWrite
from api.openapi.document import CHANGE_ERRORS, READ_ERRORS, V1, body_of, operation
from api.pages.forms import (
    Form,
    Input,
    SentForm,
    faults_of,
    market_code,
    path_id,
    texts_of,
    value_of,
    version_of,
    write_of,
)
from api.pages.render import PANELS, language_of, link, page, redirect, text
from api.pages.sessions import Administrator, Editor, Session, Viewer
from compliance import roles as rules
from compliance.tables import words
from schemas.actors import Actor
from schemas.refusals import Refused
from schemas.roles import NO_ANSWERS, RoleAnswersInput, RolesRecord, RolesResponse, RolesWriteResult
from schemas.skus.inputs import parse_body
from services import roles
from warehouse import roles as stored
from warehouse.operate.sessions import Connection

router = APIRouter(prefix=V1, tags=["Roles"])
pages_router = APIRouter()
_MOST: Final = 200
"""The most SKUs with answers of their own that a page lists."""


@router.get(
    "/roles", **operation("Roles of the company", answers={200: RolesResponse}, errors=READ_ERRORS, preview=True)
)
async def get_roles(request: Request, presented: Presented) -> Response:
    """What the company is in each of its markets by its own answers: operator, producer, reasons, articles, duties.

    Nothing is assumed: what a missing fact leaves open is `undecided`, with the questions that decide it.
    """
    return await _answered(request, presented, None)


@router.get(
    "/skus/{id}/roles",
    **operation("Roles for one SKU", answers={200: RolesResponse}, errors=(*READ_ERRORS, "not_found"), preview=True),
)
async def get_sku_roles(request: Request, presented: Presented, sku_id: RecordId) -> Response:
    """What the company is for this packaging in each of its markets in effect, with the duties, their days and states.

    The SKU's own answers stand before what its record says, that before the company's answers and its profile.
    """
    return await _answered(request, presented, sku_id)


@router.put(
    "/roles",
    **operation(
        "Answer what decides the company's roles",
        body=body_of(RoleAnswersInput),
        answers={200: RolesWriteResult},
        errors=(*CHANGE_ERRORS, "version_conflict"),
        preview=True,
    ),
)
def put_roles(received: JsonWrite, dry_run: DryRun) -> Response:
    """Replaces the company's answers, which hold for every SKU that has none of its own; answers with what follows."""
    return _put(received, None, dry_run=dry_run)


@router.put(
    "/skus/{id}/roles",
    **operation(
        "Answer where one SKU differs",
        body=body_of(RoleAnswersInput),
        answers={200: RolesWriteResult},
        errors=(*CHANGE_ERRORS, "version_conflict", "not_found"),
        preview=True,
    ),
)
def put_sku_roles(received: JsonWrite, sku_id: RecordId, dry_run: DryRun) -> Response:
    """Replaces the SKU's own answers; a fact that is left out or null is the record's or the company's again."""
    return _put(received, sku_id, dry_run=dry_run)


async def _answered(request: Request, presented: Presented, sku_id: UUID | None) -> Response:
    return json_of({"data": await read_as_actor(request, presented, partial(roles.read, sku_id=sku_id))})


def _put(received: JsonWrite, sku_id: UUID | None, *, dry_run: bool) -> Response:
    write, body = received.admitted()

    def put(conn: Connection) -> RolesRecord:
        fields = parse_body(RoleAnswersInput, body).model_dump()
        version = fields.pop("if_version")
        return roles.write(conn, write.actor, sku_id, fields, version=version, dry_run=dry_run)

    return write.answer(
        fingerprint(body), put, lambda record: json_of({"dry_run": dry_run, "data": record}), dry_run=dry_run
    )


@pages_router.get("/roles")
def get_company(request: Request, session: Viewer) -> Response:
    """Show the company's answers, and what it is by them in each market."""
    return _page(request, session, None)


@pages_router.post("/roles")
def post_company(request: Request, session: Administrator, form: SentForm) -> Response:
    """Store the company's answers; an empty one is asked again."""
    return _write(request, session, None, form)


@pages_router.get("/items/{id}/roles")
def get_item(request: Request, session: Viewer) -> Response:
    """Show what the company is for one item in each market."""
    return _page(request, session, path_id(request))


@pages_router.post("/items/{id}/roles")
def post_item(request: Request, session: Editor, form: SentForm) -> Response:
    """Store where an item differs; an empty answer is that of its record or of the company."""
    return _write(request, session, path_id(request), form)


def _kind(fact: str) -> str:
    values = rules.questions()[fact]["values"]
    return {"yes|no": "truth", "country": "text"}.get(values, "code")


def _write(request: Request, session: Session, sku_id: UUID | None, form: Form) -> Response:
    write, lang = write_of(request, session), language_of(request)
    body = {fact: value_of(form.getlist(fact), _kind(fact), lang) for fact in NO_ANSWERS}
    body |= {fact: market_code(str(body[fact] or "")) or None for fact in ("supplier_country", "owner_country")}

    def store(conn: Connection) -> RolesRecord:
        fields = parse_body(RoleAnswersInput, body).model_dump()
        fields.pop("if_version")
        return roles.write(conn, write.actor, sku_id, fields, version=version_of(form.get("version")) or 0)

    try:
        write.do(store)
    except Refused as refused:
        faults = faults_of(refused, lang)
        return _page(request, session, sku_id, faults, form if refused.code == "invalid_body" else None)
    return redirect(link(request, f"/items/{sku_id}/roles" if sku_id else "/roles", saved="yes"))


def _page(
    request: Request,
    session: Session,
    sku_id: UUID | None,
    faults: list[tuple[str, str]] | None = None,
    sent: Form | None = None,
) -> Response:
    lang, write = language_of(request), write_of(request, session)
    with service_of(request).writes.company(session.company_id) as conn:
        record = roles.read(conn, write.actor, sku_id)
        differing = [] if sku_id else stored.differing(conn, _MOST)
    answers = [(fact, part) for fact, value in record["answers"].items() for part in texts_of(value, lang)]
    return page(
        request,
        "roles.html",
        session=session,
        faults=faults or (),
        given=sent or Form(answers),
        record=record,
        address=f"/items/{sku_id}/roles" if sku_id else "/roles",
        inputs=[_input(fact, lang) for fact in NO_ANSWERS],
        differing=differing,
        saved=request.query_params.get("saved") == "yes",
    )


def _input(fact: str, lang: str) -> Input:
    question, kind = rules.ask(fact, lang), _kind(fact)
    codes = words(rules.questions()[fact]["values"]) if kind != "text" else ()
    choices = tuple((code, text(f"roles.value.{code}", lang)) for code in codes)
    return Input(fact, question["ask"], question["reference"], kind, choices)


def _panel(conn: Connection, actor: Actor, sku_id: UUID) -> dict[str, Any]:
    """Return what the page of an item shows of the roles."""
    return {"address": f"/items/{sku_id}/roles", "markets": roles.read(conn, actor, sku_id)["markets"]}


PANELS["item"].append(("roles_panel.html", _panel))
