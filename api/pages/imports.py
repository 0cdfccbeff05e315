"""Import pages for the company's people: the file, the progress, how the columns were read, and the error report.

The report is shown as a whole or for one reason. The command `pcds import --errors` writes files to correct and send
back.
"""

from collections.abc import Sequence
from typing import Final
from uuid import uuid4

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.errors import HttpRefusal
from api.pages import changes
from api.pages.advice import said
from api.pages.columns import Table, apart, asked_for_columns, field_choices, name_of_field, shown_columns
from api.pages.questions import open_questions
from api.pages.render import language_of, page
from api.pages.request_values import offset_of, path_id
from api.pages.sessions import Session, Viewer
from api.service import service_of
from api.staff.sessions import member_of
from api.staff.sign_in import address_of_import_runs
from schemas.issues import ISSUE_CODES
from schemas.messages import stored_message
from schemas.refusals import NotThere
from schemas.report import ImportSource, SourceColumn, has_counts
from warehouse.imports import mappings, polls, queries
from warehouse.imports.answers import linked
from warehouse.imports.queries import Reason

router = APIRouter(prefix="/imports")

PAGE_SIZE: Final = 50
_MOST_MAPPINGS: Final = 100
"""Kept mappings that the form offers, the last kept ones."""


@router.get("")
async def get_imports(request: Request, session: Viewer) -> Response:
    """List the imports, the newest first."""
    return await run_in_threadpool(list_page, request, session)


@router.get("/{id}")
async def get_import(request: Request, session: Viewer) -> Response:
    """Show one import; with `code` and `field` only the faults of that reason. Staff also get a link to its runs."""
    is_staff = service_of(request).settings.dagster_ui and await member_of(request) is not None
    return await run_in_threadpool(import_page, request, session, is_staff=is_staff)


def list_page(
    request: Request, session: Session, *, refusal: HttpRefusal | None = None, rows: str | None = None
) -> Response:
    """Return the list with the form to send a file; with a `refusal` of what was sent, its reasons above it.

    `rows` are the pasted rows that were sent instead of a file; they stay in the form.
    """
    offset, lang = offset_of(request), language_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        recent, total = queries.newest(conn, limit=PAGE_SIZE, offset=offset)
        kept = mappings.names(conn, session.company_id, _MOST_MAPPINGS)
    return page(
        request,
        "imports.html",
        session=session,
        status=200 if refusal is None else refusal.response("").status_code,
        recent=recent,
        asks_columns=asked_for_columns,
        counted=has_counts,
        kept=[(name, name) for name in kept],
        total=total,
        offset=offset,
        size=PAGE_SIZE,
        faults=[("rows" if rows else "file", sentence) for sentence in sentences_of(refusal, lang)],
        given={"rows": rows or ""},
    )


def import_page(
    request: Request, session: Session, *, is_staff: bool = False, refusal: HttpRefusal | None = None
) -> Response:
    """Return the page of one import; with a `refusal` of what was asked of it, its reasons above it."""
    service, lang, offset, import_id = service_of(request), language_of(request), offset_of(request), path_id(request)
    found = polls.status(
        service.writes, session.company_id, import_id, limit=PAGE_SIZE, offset=offset, with_templates=True
    )
    if found is None:
        raise NotThere
    templates = found["templates"]
    with service.writes.company(session.company_id) as conn:
        reasons, undone_at = queries.reasons(conn, import_id), queries.undone_at(conn, import_id)
        answers, answered_by = linked(conn, import_id)
        chosen = _chosen_reason(request, reasons)
        if chosen is not None:
            faults = queries.faults(
                conn, import_id, code=chosen.code, field=chosen.field, limit=PAGE_SIZE, offset=offset
            )
            templates |= {fault["message"]: fault["template"] for fault in faults if fault["template"]}
            found["errors"] = [*faults]
    failure = found["failure"]
    asks = asked_for_columns(
        dry_run=found["dry_run"],
        failure_code=failure["code"] if failure else None,
        failure_kind=failure.get("kind") if failure else None,
    )
    columns = shown_columns(found["source"])
    columns, folded = (columns, []) if asks else apart(columns)
    return page(
        request,
        "import.html",
        session=session,
        status=200 if refusal is None else refusal.response("").status_code,
        faults=[("", sentence) for sentence in sentences_of(refusal, lang)],
        once=str(uuid4()),
        found=found,
        counted=has_counts(found["status"], found["progress"]["done"]),
        reasons=reasons,
        undone_at=undone_at,
        answers=answers,
        answered_by=answered_by,
        meaning=_meaning_of,
        warned=[(_meaning_of_code(code), number) for code, number in found["warning_counts"].items()],
        field_name=lambda field: changes.path_in_words(field, lang) if field else "",
        chosen=chosen,
        columns=_columns_with_fields(found["source"], lang),
        fields=[(column, field_choices(column, found["source"], lang)) for column in columns],
        folded=[(column, field_choices(column, found["source"], lang)) for column in folded],
        translate=lambda text: said(stored_message(text, templates), lang),
        asks_columns=asks,
        questions=open_questions(found["source"], lang, beside_columns=found["dry_run"]),
        open_count=len(found["source"].get("asked", ())),
        runs=address_of_import_runs(import_id) if is_staff else None,
        offset=offset,
        size=PAGE_SIZE,
        total=chosen.faults if chosen else found["pagination"]["total"],
    )


def sentences_of(refusal: HttpRefusal | None, lang: str) -> list[str]:
    """Return what a refusal names, a sentence each, in a language."""
    if refusal is None:
        return []
    sentences = [issue["message"] for issue in refusal.details or () if "message" in issue]
    return [said(sentence, lang) for sentence in sentences or [refusal.args[0]]]


def _meaning_of(reason: Reason) -> str:
    """Return what a reason's code means; one of its faults describes a code that no table has."""
    known = ISSUE_CODES.get(reason.code)
    return known.meaning if known else reason.message


def _meaning_of_code(code: str) -> str:
    """Return what a code of a warning means; the code itself where no table has it."""
    known = ISSUE_CODES.get(code)
    return known.meaning if known else code


def _chosen_reason(request: Request, reasons: list[Reason]) -> Reason | None:
    """Return the reason that the address names; None for all. Raise `PageRefused` for one that does not exist."""
    code, field = request.query_params.get("code"), request.query_params.get("field") or None
    if not code:
        return None
    matching = [reason for reason in reasons if (reason.code, reason.field) == (code, field)]
    if not matching:
        raise NotThere
    return matching[0]


def _columns_with_fields(source: ImportSource, lang: str) -> list[dict[str, object]]:
    """Return the columns of both tables with the field of each, in the order of the file."""
    parts = source["components"]
    tables: list[tuple[Table, str | None, Sequence[SourceColumn]]] = [("sku", source["sheet"], source["columns"])]
    tables += [("component", parts["sheet"], parts["columns"])] if parts else []
    return [
        {**column, "sheet": sheet, "name": name_of_field(table, column["field"], lang)}
        for table, sheet, columns in tables
        for column in columns
    ]
