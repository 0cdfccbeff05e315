"""Import pages for the company's people: the file, the progress, how the columns were read, and the error report.

The report is shown as a whole or for one reason. The command `pcds import --errors` writes files to correct and send
back.
"""

from typing import Final

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.pages.refusals import PageRefused
from api.pages.render import language_of, page
from api.pages.request_values import offset_of, path_id
from api.pages.sessions import Session, SignedIn
from api.service import service_of
from api.staff.runs import address_of_import_runs
from api.staff.sessions import member_of
from schemas.issues import ISSUE_CODES
from schemas.labels import header
from schemas.messages import stored_message, translate
from schemas.report import ImportSource
from warehouse.imports import polls, queries
from warehouse.imports.queries import Reason

router = APIRouter(prefix="/imports")

PAGE_SIZE: Final = 50


@router.get("")
async def get_imports(request: Request, session: SignedIn) -> Response:
    """List the imports, the newest first."""
    return await run_in_threadpool(_list_page, request, session)


@router.get("/{id}")
async def get_import(request: Request, session: SignedIn) -> Response:
    """Show one import; with `code` and `field` only the faults of that reason. Staff also get a link to its runs."""
    is_staff = service_of(request).settings.dagster_ui and await member_of(request) is not None
    return await run_in_threadpool(_import_page, request, session, is_staff)


def _list_page(request: Request, session: Session) -> Response:
    offset = offset_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        recent, total = queries.newest(conn, limit=PAGE_SIZE, offset=offset)
    return page(request, "imports.html", session=session, recent=recent, total=total, offset=offset, size=PAGE_SIZE)


def _import_page(request: Request, session: Session, is_staff: bool) -> Response:
    service, lang, offset, import_id = service_of(request), language_of(request), offset_of(request), path_id(request)
    found = polls.status(
        service.writes, session.company_id, import_id, limit=PAGE_SIZE, offset=offset, with_templates=True
    )
    if found is None:
        raise PageRefused(404, "refused.gone")
    templates = found["templates"]
    with service.writes.company(session.company_id) as conn:
        reasons = queries.reasons(conn, import_id)
        chosen = _chosen_reason(request, reasons)
        if chosen is not None:
            faults = queries.faults(
                conn, import_id, code=chosen.code, field=chosen.field, limit=PAGE_SIZE, offset=offset
            )
            templates |= {fault["message"]: fault["template"] for fault in faults if fault["template"]}
            found["errors"] = [*faults]
    return page(
        request,
        "import.html",
        session=session,
        found=found,
        reasons=reasons,
        meaning=_meaning_of,
        chosen=chosen,
        columns=_columns_with_fields(found["source"], lang),
        translate=lambda text: translate(stored_message(text, templates), lang),
        runs=address_of_import_runs(import_id) if is_staff else None,
        offset=offset,
        size=PAGE_SIZE,
        total=chosen.faults if chosen else found["pagination"]["total"],
    )


def _meaning_of(reason: Reason) -> str:
    """Return what a reason's code means; one of its faults describes a code that no table has."""
    known = ISSUE_CODES.get(reason.code)
    return known.meaning if known else reason.message


def _chosen_reason(request: Request, reasons: list[Reason]) -> Reason | None:
    """Return the reason that the address names; None for all. Raise `PageRefused` for one that does not exist."""
    code, field = request.query_params.get("code"), request.query_params.get("field") or None
    if not code:
        return None
    matching = [reason for reason in reasons if (reason.code, reason.field) == (code, field)]
    if not matching:
        raise PageRefused(404, "refused.gone")
    return matching[0]


def _columns_with_fields(source: ImportSource, lang: str) -> list[dict[str, object]]:
    """Return the columns of both tables with the field of each, in the order of the file."""
    parts = source["components"]
    tables = [("sku", source["sheet"], source["columns"])]
    tables += [("component", parts["sheet"], parts["columns"])] if parts else []
    return [
        {**column, "sheet": sheet, "name": header(table, column["field"], lang)}
        for table, sheet, columns in tables
        for column in columns
    ]
