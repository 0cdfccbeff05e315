"""Pages on which people correct the rejected rows of an import: cell by cell, or a text for all its rows at once.

Both are operations of the interface (`api.imports.submissions`, `services.imports.words`), and lead to the page of a
new import.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final  # Any: what REST's own handler takes and returns
from uuid import UUID, uuid4

from fastapi import APIRouter, Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.errors import SHOWN_IN_FORM, HttpRefusal, http_refusal
from api.http.service import service_of
from api.http.writing import Write
from api.imports.columns_pages import EMPTY, field_choices_of
from api.imports.pages import answer_with_id, sentences_of, to_import
from api.imports.submissions import rejected_file, rejected_rows, stored_import, submit_corrected
from api.pages.forms import Form, Sent, SentForm, offset_of, path_id, write_of
from api.pages.render import language_of, page, said
from api.pages.sessions import Editor, Session, Viewer
from pipelines.imports.rejections import Edit
from schemas.imports.inputs import MAX_CORRECTIONS, OwnWordInput, OwnWordsInput
from schemas.imports.types import ImportSource, RejectedHeader, RejectedRow
from schemas.refusals import Refused
from services.imports.words import change_words
from warehouse.imports import queries
from warehouse.imports.queries import UnknownValue
from warehouse.operate.sessions import Connection

router = APIRouter(prefix="/imports")

PAGE_SIZE: Final = 100
_MOST_VALUES: Final = 100
_SentCells = Annotated[Form, Depends(Sent(most_fields=MAX_CORRECTIONS))]
"""A form with the cells of several pages."""


@router.get("/{id}/rejected")
async def get_rejected(request: Request, session: Viewer) -> Response:
    """Show a page of the rejected rows, with an input for each cell that has a fault."""
    return await _rejected_page(request, session)


@router.get("/{id}/rejected.xlsx")
async def get_rejected_workbook(request: Request, session: Viewer) -> Response:
    """Return the rejected rows with their reasons as a workbook, to correct and send on the page Imports."""
    import_id, lang = path_id(request), language_of(request)
    try:
        return await rejected_file(request, session.company_id, import_id, "xlsx", lang=lang, say=said)
    except SHOWN_IN_FORM as refused:
        return await _rejected_page(request, session, refusal=http_refusal(refused))


@router.post("/{id}/rejected")
async def post_rejected(request: Request, session: Editor, form: _SentCells) -> Response:
    """Import the rejected rows again with the cells of the form; of a dry run the whole file, once more as one.

    The step `turn` shows another page of the rows instead, and keeps what was typed on this one.
    """
    if form.get("step") == "turn":
        return await _rejected_page(request, session, form=form)
    try:
        write = await run_in_threadpool(write_of, request, session, form.get("once"))
        answer = await submit_corrected(
            request, write, path_id(request), list(_edits(form)), answer_with_id, dry_run=_said(form)
        )
        return to_import(request, answer)
    except SHOWN_IN_FORM as refused:
        return await _rejected_page(request, session, refusal=http_refusal(refused), form=form)


@router.get("/{id}/values")
def get_values(request: Request, session: Viewer) -> Response:
    """Show the texts that are no codes of their fields, each with the codes that it could mean."""
    return _values_page(request, session)


@router.post("/{id}/values")
async def post_values(request: Request, session: Editor, form: SentForm) -> Response:
    """Keep the chosen meanings as the company's own words, and import the rejected rows again, as corrections do."""
    try:
        write = await run_in_threadpool(write_of, request, session, form.get("once"))
        await run_in_threadpool(_keep_words, write, path_id(request), form)
        answer = await submit_corrected(request, write, path_id(request), (), answer_with_id, dry_run=_said(form))
        return to_import(request, answer)
    except SHOWN_IN_FORM as refused:
        return await run_in_threadpool(_values_page, request, session, refusal=http_refusal(refused), form=form)


async def _rejected_page(
    request: Request, session: Session, *, refusal: HttpRefusal | None = None, form: Mapping[str, str] | None = None
) -> Response:
    lang, offset, import_id = language_of(request), offset_of(request), path_id(request)
    try:
        stored = await run_in_threadpool(stored_import, service_of(request), session.company_id, import_id)
        page_of_rows = await rejected_rows(
            request, session.company_id, stored, lang=lang, offset=offset, limit=PAGE_SIZE, say=said
        )
    except Refused as gone:  # the file is no longer stored
        return await run_in_threadpool(_page, request, session, "rejected.html", http_refusal(gone), grids=[], total=0)
    sent, grids = form or {}, _grids(page_of_rows["data"], page_of_rows["headers"], stored.source)
    here = {cell["name"] for grid in grids for row in grid["rows"] for cell in row["cells"] if cell["name"]}
    elsewhere = {name: text for name, text in sent.items() if name.startswith("cell.") and name not in here}
    values = {"grids": grids, "elsewhere": elsewhere, "offset": offset, "size": PAGE_SIZE, "dry_run": stored.dry_run}
    values |= {"total": page_of_rows["pagination"]["total"], "count": len(page_of_rows["data"])}
    return await run_in_threadpool(_page, request, session, "rejected.html", refusal, sent, **values)


def _grids(
    rows: Sequence[RejectedRow], headers: Sequence[RejectedHeader], source: ImportSource
) -> list[dict[str, Any]]:
    """Return a grid for each sheet with rows: its columns that are read or have a fault, and the cells of each row.

    A cell has the name of its input where it can be the fault: it has one, or its row as a whole has.
    """
    parts = source["components"]
    read = {column["column"] for table in (source, parts) if table for column in table["columns"]}
    grids = []
    for sheet in dict.fromkeys(row["sheet"] for row in rows):
        of_sheet = [row for row in rows if row["sheet"] == sheet]
        labels = next((header["cells"] for header in headers if header["sheet"] == sheet), {})
        faulty = {str(fault["column"]) for row in of_sheet for fault in row["errors"] if fault["column"]}
        whole = any(not fault["column"] for row in of_sheet for fault in row["errors"])
        letters = {*faulty, *(labels if whole else read & labels.keys())}
        columns = [(at, labels.get(at, at)) for at in sorted(letters, key=lambda at: (len(at), at))]
        grids.append({"sheet": sheet, "columns": columns, "rows": [_grid_row(row, columns) for row in of_sheet]})
    return grids


def _grid_row(row: RejectedRow, columns: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return a row's line, the faults of no cell, and its cells with theirs."""
    faults = [(fault["column"], fault["message"]) for fault in row["errors"]]
    whole = [message for column, message in faults if not column]
    cells = []
    for at, label in columns:
        own = [message for column, message in faults if column == at]
        cell = {"at": at, "label": label, "text": row["cells"].get(at, ""), "faults": own}
        cells.append(cell | {"name": _name(row, at) if own or whole else ""})
    return {"line": row["line"], "is_right": not faults, "faults": whole, "cells": cells}


def _values_page(
    request: Request, session: Session, *, refusal: HttpRefusal | None = None, form: Form | None = None
) -> Response:
    lang, import_id = language_of(request), path_id(request)
    dry_run = stored_import(service_of(request), session.company_id, import_id).dry_run
    with service_of(request).writes.company(session.company_id) as conn:
        unknown = queries.unknown_values(conn, import_id, limit=_MOST_VALUES)
    values = [
        {"name": value.field, "text": value.value, "rows": value.rows, "field": label, "choices": choices}
        for value in unknown
        for label, choices in [field_choices_of(value.field, lang)]
        if choices
    ]
    return _page(request, session, "values.html", refusal, form, values=values, empty=EMPTY, dry_run=dry_run)


def _page(
    request: Request,
    session: Session,
    template: str,
    refusal: HttpRefusal | None,
    form: Mapping[str, str] | None = None,
    **values: Any,  # what a template takes is not typed
) -> Response:
    """Return a page of corrections, after a refusal with its sentences and what was sent."""
    return page(
        request,
        template,
        session=session,
        status=200 if refusal is None else refusal.response("").status_code,
        faults=[("", sentence) for sentence in sentences_of(refusal, language_of(request))],
        given=form or {},
        once=str(uuid4()),
        back=f"/imports/{path_id(request)}",
        **values,
    )


def _said(form: Form) -> bool | None:
    """Return whether the form asks for an import: its second button does, beside a dry run; None as the import was."""
    return False if form.get("step") == "import" else None


def _keep_words(write: Write, import_id: UUID, form: Form) -> None:
    """Keep the chosen words as the company's own."""
    stored_import(write.service, write.actor.company_id, import_id)

    def keep(conn: Connection) -> None:
        chosen = list(_chosen_words(form, queries.unknown_values(conn, import_id, limit=_MOST_VALUES)))
        change_words(conn, write.actor, OwnWordsInput(words=chosen))

    write.do(keep)


def _chosen_words(form: Form, unknown: list[UnknownValue]) -> Iterator[OwnWordInput]:
    """Yield a word for each text with a chosen meaning; the form names a text by its field and itself."""
    pairs = {(value.field, value.value) for value in unknown}
    at = 0
    while (field := form.get(f"field.{at}")) is not None:
        text, value = form.get(f"text.{at}", ""), form.get(f"value.{at}", "")
        if value and (field, text) in pairs:
            yield OwnWordInput(field=field, text=text, value=None if value == EMPTY else value)
        at += 1


def _edits(form: Form) -> Iterator[Edit]:
    """Yield the cells of the form; an input is named after its line, column and sheet."""
    for name, text in form.items():
        kind, _, place = name.partition(".")
        line, _, rest = place.partition(".")
        column, dot, sheet = rest.partition(".")
        if kind == "cell" and line.isdecimal():
            yield Edit(sheet if dot else None, int(line), column, text)


def _name(row: RejectedRow, column: str) -> str:
    """Return the name of a cell's input."""
    return f"cell.{row['line']}.{column}" + ("" if row["sheet"] is None else f".{row['sheet']}")
