"""The page of a company's profile: what it says of itself, each question with its law. Administrators answer."""

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.service import service_of
from api.pages.forms import TRUTHS, Form, market_code, read_form, texts_of, version_of, write_of
from api.pages.render import language_of, link, page, redirect, said, text
from api.pages.sessions import Administrator, Session, Viewer
from compliance.representatives import question, questions
from schemas.companies import SIZES, CompanyProfile, ProfileFields, parse_profile
from schemas.messages import word
from schemas.refusals import Refused
from services.companies import write_profile
from services.run import run
from warehouse.companies import profiles
from warehouse.operate.sessions import Connection

router = APIRouter(prefix="/company")


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

    def store(conn: Connection) -> CompanyProfile:
        return write_profile(conn, write.actor, _fields(form), version_of(form.get("version")) or 0)

    try:
        run(write.service.writes, write.actor, store, lambda stored: stored)
    except Refused as refused:
        faults = [(issue.field or "", said(issue.message, lang)) for issue in refused.issues]
        return _page(request, session, faults, form if refused.code == "invalid_body" else None)
    return redirect(link(request, "/company", saved="yes"))


def _fields(form: Form) -> ProfileFields:
    """Return the form's answers. Raise `Refused` with what is no answer."""
    sent = {name: form.get(name, "").strip() or None for name in profiles.FIELDS}
    direct = sent["sells_directly_abroad"]
    seat = market_code(sent["seat"] or "") or None
    return parse_profile({**sent, "seat": seat, "sells_directly_abroad": TRUTHS.get(direct or "", direct)})


def _page(
    request: Request, session: Session, faults: list[tuple[str, str]] | None = None, sent: Form | None = None
) -> Response:
    lang = language_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        profile = profiles.read(conn)
    truths = [(answer, text(f"supplier.{answer}", lang)) for answer in TRUTHS]
    sizes = [(str(size), text(f"company.size.{size}", lang)) for size in SIZES]
    choices: dict[str, list[tuple[str, str]]] = {"size": sizes, "sells_directly_abroad": truths}
    stored = {name: next(iter(texts_of(profile[name], lang)), "") for name in profiles.FIELDS}  # type: ignore[literal-required]
    words = {name: dict(of_field).get(stored[name]) for name, of_field in choices.items()}
    return page(
        request,
        "company.html",
        session=session,
        status=400 if faults else 200,
        faults=faults or (),
        given=sent or Form(list(stored.items())),
        version=profile["version"],
        updated_at=profile["updated_at"],
        questions=[question(field, lang) for field in questions()],
        choices=choices,
        answers={**words, "seat": word("market", profile["seat"], lang) if profile["seat"] else None},
        saved=request.query_params.get("saved") == "yes",
    )
