"""Supplier request pages for the company's people: the requests sent, and the link of a new request, shown once."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.pages.advice import said
from api.pages.changes import part_in_words
from api.pages.forms import Form, read_form
from api.pages.refusals import PageRefused
from api.pages.render import language_of, page
from api.pages.request_values import origin_of
from api.pages.sessions import Editor, Session, Viewer
from api.pages.texts import text
from api.service import service_of
from schemas import texts
from schemas.refusals import Refused
from schemas.sku import Component
from services import supplier_requests
from warehouse.review import supplier_requests as queries
from warehouse.sessions import Connection

router = APIRouter(prefix="/supplier-requests")

_LONGEST: Final = 500
"""Longest code or name in a form, in characters."""
_SHOWN: Final = 200
"""Requests on the page, the newest; `pcds supplier-request list` shows all."""


@router.get("")
async def get_requests(request: Request, session: Viewer) -> Response:
    """List the requests, and show the form; with `?sku=CODE` the components of that SKU to choose from."""
    return await run_in_threadpool(_page, request, session, sku_code=request.query_params.get("sku", ""))


@router.post("")
async def post_request(request: Request, session: Editor) -> Response:
    """Make a request; its link is shown on the answering page only."""
    form = await read_form(request, session)
    return await run_in_threadpool(_make, request, session, form)


def _make(request: Request, session: Session, form: Form) -> Response:
    service, sku_code = service_of(request), form.get("sku", "")[:_LONGEST]
    supplier_name = texts.shown(form.get("supplier_name", ""))[:_LONGEST] or None
    origin = origin_of(request, session)
    try:
        chosen = [UUID(each) for each in form.getlist("component")]
    except ValueError:
        raise PageRefused(400, "refused.unreadable") from None
    if not chosen:
        fault = text("requests.none_chosen", language_of(request))
        return _page(request, session, sku_code=sku_code, form=form, faults=[("component", fault)])

    def work(conn: Connection) -> str:
        return supplier_requests.create(
            conn,
            session.company_id,
            sku_code=sku_code,
            component_ids=chosen,
            supplier_name=supplier_name,
            origin=origin,
            now=service.clock.now(),
        )[1]

    try:
        token = service.writes.run(session.company_id, work)
    except Refused as refused:
        fault = said(refused.issues[0].message, language_of(request))
        return _page(request, session, sku_code=sku_code, form=form, faults=[("sku", fault)])
    return _page(request, session, new_link=f"{service.settings.base_url}/supplier-data/{token}")


def _page(
    request: Request,
    session: Session,
    *,
    sku_code: str = "",
    form: Form | None = None,
    faults: Sequence[tuple[str, str]] = (),
    new_link: str | None = None,
) -> Response:
    lang, lines = language_of(request), list[Component]()
    with service_of(request).writes.company(session.company_id) as conn:
        requests = queries.every(conn, limit=_SHOWN)
        if sku_code.strip():
            try:
                lines = supplier_requests.load_lines(conn, texts.code(texts.shown(sku_code)))
            except Refused as refused:
                faults = faults or [("sku", said(refused.issues[0].message, lang))]
    return page(
        request,
        "supplier_requests.html",
        session=session,
        status=400 if faults else 200,
        requests=requests,
        components=[(line["id"], part_in_words(line, lang)) for line in lines],
        given=form or Form([("sku", sku_code), *(("component", line["id"]) for line in lines)]),
        faults=faults,
        new_link=new_link,
    )
