"""Archives an item and brings it back from its page; lists the archived ones.

Both are for the version that the page showed: whoever presses a button after somebody else's change is shown it first.
"""

from collections.abc import Callable
from typing import Final, TypeAlias
from uuid import UUID

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.errors import VersionConflict
from api.http.service import service_of
from api.http.writing import Precondition, Write
from api.pages.concurrency import run_limited
from api.pages.forms import offset_of, path_id, read_form, version_of, write_of
from api.pages.render import link, page, redirect
from api.pages.sessions import Editor, Session, Viewer
from api.skus.archive import answer_archive, answer_return
from api.skus.pages import item_page
from schemas.json_values import Json
from warehouse.skus import archive

router = APIRouter(prefix="/items")

PAGE_SIZE: Final = 50
_Answer: TypeAlias = Callable[[Write, Json, UUID, Precondition], Response]


@router.get("/archived")
async def get_archived(request: Request, session: Viewer) -> Response:
    """List the archived items, the last archived first."""
    return await run_in_threadpool(_list_page, request, session)


@router.post("/{id}/archive")
async def post_archive(request: Request, session: Editor) -> Response:
    """Archive an item, as `POST /skus/{id}/archive` does."""
    return await _do(request, session, answer_archive)


@router.post("/{id}/return")
async def post_return(request: Request, session: Editor) -> Response:
    """Bring an archived item back, as `POST /skus/{id}/return` does."""
    return await _do(request, session, answer_return)


def _list_page(request: Request, session: Session) -> Response:
    offset = offset_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        listed = archive.page(PAGE_SIZE, offset).read(conn)
    return page(request, "archived.html", session=session, found=listed, offset=offset, size=PAGE_SIZE)


async def _do(request: Request, session: Session, answer: _Answer) -> Response:
    """Do it as the person who is signed in, and lead back to the item; show what changed where it has."""
    form = await read_form(request, session)
    sku_id = path_id(request)

    def done() -> Response:
        seen = Precondition.of_version(version_of(form.get("version")))
        write = write_of(request, session, form.get("once"))
        return answer(write, {"reason": form.get("reason", "").strip() or None}, sku_id, seen)

    try:
        await run_in_threadpool(done)
    except VersionConflict:
        return await run_limited(request, "portfolio", item_page, request, session, form)
    return redirect(link(request, f"/items/{sku_id}"))
