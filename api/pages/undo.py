"""Undoes an import from its page: shows first what would happen, then does it."""

from uuid import uuid4

import orjson
from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.pages.forms import Form, read_form
from api.pages.render import link, page, redirect
from api.pages.request_values import path_id, write_of
from api.pages.sessions import Editor, Session
from api.service import service_of
from api.undo import answer_undo
from schemas.json_values import JsonObject
from schemas.refusals import NotThere
from warehouse.imports import queries

router = APIRouter(prefix="/imports")


@router.get("/{id}/undo")
async def get_undo(request: Request, session: Editor) -> Response:
    """Show what undoing an import would do to its items."""
    return await run_in_threadpool(_preview_page, request, session)


@router.post("/{id}/undo")
async def post_undo(request: Request, session: Editor) -> Response:
    """Undo an import, as `POST /imports/{id}/undo` does, and lead back to it."""
    form = await read_form(request, session)
    return await run_in_threadpool(_undo, request, session, form)


def _preview_page(request: Request, session: Session) -> Response:
    import_id = path_id(request)
    with service_of(request).writes.company(session.company_id) as conn:
        filename = queries.filename_of(conn, import_id)
    if filename is None:
        raise NotThere
    tried: JsonObject = orjson.loads(answer_undo(write_of(request, session), {}, import_id, dry_run=True).body)
    return page(request, "undo.html", session=session, filename=filename, tried=tried, once=str(uuid4()))


def _undo(request: Request, session: Session, form: Form) -> Response:
    import_id = path_id(request)
    body = {"reason": form.get("reason", "").strip() or None}
    answer_undo(write_of(request, session, form.get("once")), body, import_id, dry_run=False)
    return redirect(link(request, f"/imports/{import_id}"))
