"""What a company holds in registers over REST and on pages: what is missing in each market, and the marketplaces' file.

Both are here so that a process loads one file less.
"""

from typing import Any  # Any: what a page shows

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import csv_answer, json_of
from api.http.auth import Presented, read_as_actor
from api.http.parameters import DryRun
from api.http.requests import fingerprint
from api.http.service import service_of
from api.http.writing import JsonWrite
from api.openapi.document import CHANGE_ERRORS, READ_ERRORS, V1, body_of, operation
from api.pages.forms import (
    Form,
    SentForm,
    faults_of,
    faults_with,
    lines_sent,
    market_code,
    parts_sent,
    read_as_person,
    shown_parts,
    version_of,
    write_of,
)
from api.pages.render import PANELS, language_of, link, page, redirect, said
from api.pages.sessions import Administrator, Session, Viewer
from compliance import registers as rules
from schemas.actors import Actor
from schemas.normalise import Unfit
from schemas.refusals import Refused
from schemas.registers import (
    MOST,
    MarketRegisters,
    RegistersInput,
    RegistersResponse,
    RegistersWriteResult,
)
from schemas.skus.inputs import parse_body
from schemas.words import market_named
from services import registers
from warehouse.operate.sessions import Connection

router = APIRouter(prefix=V1, tags=["Registers"])
pages_router = APIRouter()


@router.get(
    "/registers",
    **operation(
        "Registrations and what is missing", answers={200: RegistersResponse}, errors=READ_ERRORS, preview=True
    ),
)
async def get_registers(request: Request, presented: Presented) -> Response:
    """What the company holds in the register of each market, and what is missing to sell there today.

    The markets are those in effect and those where it holds something. A registration is needed where the company is
    producer of some packaging (`GET /skus/{id}/roles`); where that is undecided, so is this, with the same questions.
    """
    return json_of({"data": await read_as_actor(request, presented, registers.read)})


@router.get(
    "/registers/file",
    **operation("File for marketplaces", files=("text/csv",), errors=READ_ERRORS, preview=True),
)
async def get_registers_file(request: Request, presented: Presented) -> Response:
    """What online platforms and fulfilment services ask of a producer (Article 45(4) and (7)), as CSV.

    One row for each Member State in which the company is producer, or in which that is undecided. Of what it holds only
    what is in force today is there, and the self-certification only while nothing is missing.
    """
    data = await read_as_actor(request, presented, registers.marketplace_file)
    return csv_answer(data, "registrations.csv")


@router.put(
    "/registers",
    **operation(
        "Record registrations in one market",
        body=body_of(RegistersInput),
        answers={200: RegistersWriteResult},
        errors=(*CHANGE_ERRORS, "version_conflict"),
        preview=True,
    ),
)
def put_registers(received: JsonWrite, dry_run: DryRun) -> Response:
    """Replaces what the company holds in one market: registrations, authorised representative, self-certification."""
    write, body = received.admitted()

    def put(conn: Connection) -> MarketRegisters:
        fields = parse_body(RegistersInput, body).model_dump()
        return registers.write(conn, write.actor, fields, version=fields.pop("if_version"), dry_run=dry_run)

    return write.answer(
        fingerprint(body), put, lambda record: json_of({"dry_run": dry_run, "data": record}), dry_run=dry_run
    )


@pages_router.get("/registers")
def get_page(request: Request, session: Viewer) -> Response:
    """Show how the company stands in each market, or with `market` what it holds in one, with the form."""
    typed = request.query_params.get("market", "").strip()
    if not typed:
        return _page(request, session, None)
    try:
        return _page(request, session, rules.market_of(market_named(typed)))
    except Unfit as unfit:
        return _page(request, session, None, faults=[("market", said(unfit.message, language_of(request)))])


@pages_router.get("/registers/file.csv")
def get_file(request: Request, session: Viewer) -> Response:
    """Download the file for marketplaces, in the language of the page."""
    return csv_answer(read_as_person(request, session, registers.marketplace_file), "registrations.csv")


@pages_router.post("/registers")
def post_page(request: Request, session: Administrator, form: SentForm) -> Response:
    """Store what the company holds in one market; empty lines of the form hold nothing."""
    write, lang, body = write_of(request, session), language_of(request), _body_of(form)

    def store(conn: Connection) -> MarketRegisters:
        if faults := faults_with(body, lambda sent: parse_body(RegistersInput, sent)):
            raise Refused(faults)
        fields = parse_body(RegistersInput, body).model_dump()
        del fields["if_version"]
        return registers.write(conn, write.actor, fields, version=version_of(form.get("version")) or 0)

    try:
        stored = write.do(store)
    except Refused as refused:
        faults = faults_of(refused, lang)
        market = None if "market" in dict(faults) else rules.market_of(body["market"])
        return _page(request, session, market, faults=faults, sent=body if refused.code == "invalid_body" else None)
    return redirect(link(request, "/registers", market=stored["market"], saved="yes"))


def _body_of(form: Form) -> dict[str, Any]:
    """Return the form as the body of the operation; the registrations that are filled in, in their order."""
    parts = parts_sent(form)
    return {
        "market": market_code(form.get("market", "").strip()),
        "registrations": lines_sent(parts, "registrations"),
        "representative": parts.get("representative"),
        "certification": parts.get("certification"),
    }


def _page(
    request: Request,
    session: Session,
    market: str | None,
    *,
    faults: list[tuple[str, str]] | None = None,
    sent: dict[str, Any] | None = None,
) -> Response:
    actor = write_of(request, session).actor
    with service_of(request).writes.company(session.company_id) as conn:
        shown = [registers.read_market(conn, actor, market)] if market else registers.read(conn, actor)
        files = registers.proof_choices(conn) if market else []
    return page(
        request,
        "registers.html",
        session=session,
        faults=faults or (),
        given=Form([*shown_parts(sent or shown[0])] if market else []),
        markets=shown,
        market=shown[0] if market else None,
        files=files,
        most=MOST,
        certification=rules.sentence("certification", actor.lang),
        saved=request.query_params.get("saved") == "yes",
    )


def _panel(conn: Connection, actor: Actor, market: str) -> dict[str, Any]:
    """Return what the page of a market shows of the registers."""
    return {"market": registers.read_market(conn, actor, market)}


PANELS["market"].append(("registers_panel.html", _panel))
