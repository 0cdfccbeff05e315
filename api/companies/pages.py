"""The page of a company's profile: what it says of itself, each question with its law. Administrators answer."""

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.service import service_of
from api.pages.forms import (
    TRUTHS,
    Form,
    Input,
    faults_of,
    market_code,
    read_form,
    texts_of,
    value_of,
    version_of,
    write_of,
)
from api.pages.render import language_of, link, page, redirect, said, text
from api.pages.sessions import Administrator, Session, Viewer
from compliance.representatives import questions
from schemas.companies import SIZES, CompanyProfile, parse_profile
from schemas.refusals import Refused
from services.companies import write_profile
from warehouse.companies.profiles import FIELDS, read
from warehouse.operate.sessions import Connection

router = APIRouter(prefix="/company")
_KINDS = {"size": "code", "sells_directly_abroad": "truth"}


@router.get("")
async def get_profile(request: Request, session: Viewer) -> Response:
    """Show what the company says of itself."""
    return await run_in_threadpool(_page, request, session)


@router.post("")
async def post_profile(request: Request, session: Administrator) -> Response:
    """Store the answers; an empty one is asked again."""
    form = await read_form(request, session)
    return await run_in_threadpool(_write, request, session, form)


def _write(request: Request, session: Session, form: Form) -> Response:
    write, lang = write_of(request, session), language_of(request)
    body = {name: value_of(form.getlist(name), _KINDS.get(name, "text"), lang) for name in FIELDS}
    body["seat"] = market_code(str(body["seat"] or "")) or None

    def store(conn: Connection) -> CompanyProfile:
        return write_profile(conn, write.actor, parse_profile(body), version_of(form.get("version")) or 0)

    try:
        write.do(store)
    except Refused as refused:
        faults = faults_of(refused, lang)
        return _page(request, session, faults, form if refused.code == "invalid_body" else None)
    return redirect(link(request, "/company", saved="yes"))


def _page(
    request: Request, session: Session, faults: list[tuple[str, str]] | None = None, sent: Form | None = None
) -> Response:
    lang = language_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        profile = read(conn)
    choices = {
        "size": tuple((size, text(f"company.size.{size}", lang)) for size in SIZES),
        "sells_directly_abroad": tuple((answer, text(f"supplier.{answer}", lang)) for answer in TRUTHS),
    }
    return page(
        request,
        "company.html",
        session=session,
        status=400 if faults else 200,
        faults=faults or (),
        given=sent or Form([(name, words) for name, value in profile.items() for words in texts_of(value, lang)]),
        profile=profile,
        inputs=[
            Input(field, question["ask"], said(question["reference"], lang), "code", choices.get(field, ()))
            for field, question in questions(lang).items()
        ],
        saved=request.query_params.get("saved") == "yes",
    )
