"""What is printed on packs over REST and on pages: marks that must go, labels that come, claims, and their file.

Both are here so that a process loads one file less.
"""

from functools import partial
from typing import Any, Final, get_args  # Any: what a page shows
from uuid import UUID

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import csv_answer, json_of
from api.http.auth import Presented, read_as_actor
from api.http.parameters import DryRun, Limit, Offset, RecordId, one_of_states
from api.http.requests import fingerprint
from api.http.service import service_of
from api.http.writing import JsonWrite
from api.openapi.document import CHANGE_ERRORS, READ_ERRORS, V1, body_of, operation
from api.pages import forms
from api.pages.forms import Form, SentForm, path_id, write_of
from api.pages.render import PANELS, language_of, link, page, redirect, text
from api.pages.sessions import Editor, Session, Viewer
from compliance import marks as rules
from schemas.actors import Actor
from schemas.marks import (
    CHOICES,
    MOST,
    STATES,
    MarksInput,
    MarksPage,
    MarksResponse,
    MarksWriteResult,
)
from schemas.refusals import Refused
from schemas.skus.inputs import parse_body
from services import marks, registers
from warehouse.operate.sessions import Connection

router = APIRouter(prefix=V1, tags=["Marks"])
pages_router = APIRouter()
_OPEN: Final = ("change", "depends")
_SIZE: Final = 50
_ARTWORK: Final = ("artwork_reference", "artwork_state", "changes_on")
_TRUTH: Final = ("of_epr", "exceeds")
InState: Any = one_of_states(STATES, "Only SKUs in this state, such as those that must change; else all.")


@router.get("/marks", **operation("Marks that must change", answers={200: MarksPage}, errors=READ_ERRORS, preview=True))
async def list_marks(
    request: Request, presented: Presented, *, state: InState = None, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """SKUs by what is printed on their packs, by code, and the whole portfolio in sums.

    By Article 12(9) a printed symbol of producer responsibility must be gone by 12 February 2027; deposit marks,
    sorting instructions and material codes are none. Beside them the labels of Article 12 that come, and the claims of
    Article 14 with what they lack.
    """
    states = [state] if state else STATES
    ask = partial(marks.page, states=states, limit=limit, offset=offset)
    return json_of(await read_as_actor(request, presented, ask))


@router.get("/marks.csv", **operation("File of marks", files=("text/csv",), errors=READ_ERRORS, preview=True))
async def get_marks_file(request: Request, presented: Presented) -> Response:
    """A row for each SKU that is sold in the Union, or may be: what must change and how far the artwork is, as CSV."""
    return csv_answer(await read_as_actor(request, presented, marks.file), "marks.csv")


@router.get(
    "/marks/{id}",
    **operation("Marks on one pack", answers={200: MarksResponse}, errors=(*READ_ERRORS, "not_found"), preview=True),
)
async def get_marks(request: Request, presented: Presented, record_id: RecordId) -> Response:
    """What is printed on the packs of a SKU or a brand, by the id of either, and what Articles 12 and 14 make of it.

    A SKU that has no record of its own has that of its brand.
    """
    return json_of({"data": await read_as_actor(request, presented, partial(marks.read, record_id=record_id))})


@router.put(
    "/marks/{id}",
    **operation(
        "Record what is printed on a pack",
        body=body_of(MarksInput),
        answers={200: MarksWriteResult},
        errors=(*CHANGE_ERRORS, "version_conflict", "not_found"),
        preview=True,
    ),
)
def put_marks(received: JsonWrite, record_id: RecordId, dry_run: DryRun) -> Response:
    """Replaces what is recorded of the packs of a SKU, or of a brand for all its SKUs that have no record of their own.

    A mark that the table does not know is kept as it was sent and asked about. A body that says nothing removes the
    record.
    """
    write, body = received.admitted()

    def put(conn: Connection) -> Any:
        return marks.write(conn, write.actor, record_id, parse_body(MarksInput, body).model_dump(), dry_run=dry_run)

    return write.answer(
        fingerprint(body), put, lambda record: json_of({"dry_run": dry_run, "data": record}), dry_run=dry_run
    )


@pages_router.get("/marks")
def get_list(request: Request, session: Viewer) -> Response:
    """Show what must change, or with `state` the items in it, and what comes."""
    state, offset = request.query_params.get("state"), forms.offset_of(request)
    states = [state] if state in STATES else _OPEN
    listed = forms.read_as_person(request, session, partial(marks.page, states=states, limit=_SIZE, offset=offset))
    state = state if state in STATES else ""
    return page(request, "marks.html", session=session, listed=listed, state=state, offset=offset, size=_SIZE)


@pages_router.get("/marks/file.csv")
def get_file(request: Request, session: Viewer) -> Response:
    """Download the file."""
    return csv_answer(forms.read_as_person(request, session, marks.file), "marks.csv")


@pages_router.get("/marks/{id}")
def get_pack(request: Request, session: Viewer) -> Response:
    """Show what is printed on the packs of an item or a brand, with the form."""
    return _page(request, session)


@pages_router.post("/marks/{id}")
def post_pack(request: Request, session: Editor, form: SentForm) -> Response:
    """Store what is printed on the packs of an item or a brand; empty lines of the form say nothing."""
    write, lang, body, record_id = write_of(request, session), language_of(request), _body_of(form), path_id(request)
    try:
        write.do(lambda conn: marks.write(conn, write.actor, record_id, parse_body(MarksInput, body).model_dump()))
    except Refused as refused:
        return _page(request, session, forms.faults_of(refused, lang), form if refused.code == "invalid_body" else None)
    return redirect(link(request, f"/marks/{record_id}", saved="yes"))


def _body_of(form: Form) -> dict[str, Any]:
    """Return the form as the body of the operation: without a mark nobody has looked, unless nothing is printed."""
    parts = forms.parts_sent(form, _TRUTH)
    named = [line for line in forms.lines_sent(parts, "marks") if "mark" in line]
    artwork = {name: value for name, value in parts.get("", {}).items() if name in _ARTWORK}
    marks_sent = named if named or "nothing" in form else None
    version = forms.version_of(form.get("version")) or 0
    return {"marks": marks_sent, "claims": forms.lines_sent(parts, "claims"), "if_version": version, **artwork}


def _page(
    request: Request, session: Session, faults: list[tuple[str, str]] | None = None, sent: Form | None = None
) -> Response:
    lang, record_id = language_of(request), path_id(request)
    with service_of(request).writes.company(session.company_id) as conn:
        pack = marks.read(conn, write_of(request, session).actor, record_id)
        files = registers.proof_choices(conn)
    own = pack if pack["recorded_for"] == pack["id"] else None
    nothing = [("nothing", "yes")] if own and own["marks"] == [] else []
    codes = {name: get_args(of) for name, of in CHOICES.items()}
    return page(
        request,
        "pack.html",
        session=session,
        faults=faults or (),
        given=sent or Form([*forms.shown_parts(own or {}), *nothing]),
        pack=pack,
        own=own,
        files=files,
        known=[row[lang] for row in rules.table().values()],
        words={name: [(code, text(f"marks.{name}.{code}", lang)) for code in of] for name, of in codes.items()},
        most=MOST,
        saved=request.query_params.get("saved") == "yes",
    )


def _panel(conn: Connection, actor: Actor, sku_id: UUID) -> dict[str, Any]:
    """Return what the page of an item shows of its marks."""
    return {"pack": marks.read(conn, actor, sku_id), "change_by": rules.deadline()}


PANELS["item"].append(("marks_panel.html", _panel))
