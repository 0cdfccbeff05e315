"""Proof for the declaration of conformity over REST and on pages: by article, by SKU, and as one archive.

Both are here so that a process loads one file less.
"""

from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Annotated, Any, Final  # Any: what a page shows
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import AfterValidator, WithJsonSchema
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from api.http import stored_files
from api.http.answers import csv_answer, json_of
from api.http.auth import Presented, read_as_actor
from api.http.parameters import Limit, Offset, RecordId, one_of, one_of_states
from api.http.service import service_of
from api.openapi.document import READ_ERRORS, V1, operation
from api.pages.forms import offset_of, path_id, read_as_person, write_of
from api.pages.render import PANELS, page
from api.pages.sessions import Viewer
from schemas.actors import Actor
from schemas.files import ARTICLES, EVIDENCE_STATES, EvidencePage, EvidenceResponse
from schemas.refusals import NotThere
from schemas.skus.inputs import validator
from schemas.vocabularies import CONTENTS
from services import evidence
from warehouse.files import key_of
from warehouse.operate.sessions import Connection

router = APIRouter(prefix=V1, tags=["Evidence"])
pages_router = APIRouter()
_READ: Final = (*READ_ERRORS, "not_found")
_ZIP: Final = "application/zip"
_SIZE: Final = 50
_CODES: Final = tuple(map(str, ARTICLES))
OfArticle = Annotated[
    str | None,
    AfterValidator(validator(one_of, _CODES)),
    WithJsonSchema({"type": "integer", "enum": list(ARTICLES)}),
    Query(description="With `state`: in this article, else in any."),
]
InState: Any = one_of_states(
    EVIDENCE_STATES, "Only SKUs in this state, such as those whose evidence is missing; else all."
)


@router.get(
    "/evidence", **operation("Evidence by article", answers={200: EvidencePage}, errors=READ_ERRORS, preview=True)
)
async def list_evidence(
    request: Request,
    presented: Presented,
    *,
    article: OfArticle = None,
    state: InState = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """SKUs by code with the state of each of Articles 5 to 12, and the whole portfolio in sums.

    By Article 39(1) a declaration of conformity states that their requirements are demonstrated. Only technical files
    count whose type says which article they show.
    """
    number = int(article) if article else None
    ask = partial(evidence.page, article=number, state=state, limit=limit, offset=offset)
    return json_of(await read_as_actor(request, presented, ask))


@router.get("/evidence.csv", **operation("File of evidence", files=("text/csv",), errors=READ_ERRORS, preview=True))
async def get_evidence_file(request: Request, presented: Presented) -> Response:
    """A row for each SKU with the state of each article, as CSV."""
    return csv_answer(await read_as_actor(request, presented, evidence.file), "evidence.csv")


@router.get(
    "/skus/{id}/evidence",
    **operation("Evidence of one SKU", answers={200: EvidenceResponse}, errors=_READ, preview=True),
)
async def get_evidence(request: Request, presented: Presented, sku_id: RecordId) -> Response:
    """What each article asks to be shown of a SKU, from when, and by which technical files it is, of SKU and part."""
    return json_of({"data": await read_as_actor(request, presented, partial(evidence.read, sku_id=sku_id))})


@pages_router.get("/evidence")
def get_coverage(request: Request, session: Viewer) -> Response:
    """Show the items by article and state; with `state` those in it, and with `article` in this article."""
    asked, offset = request.query_params, offset_of(request)
    state = asked["state"] if asked.get("state") in EVIDENCE_STATES else None
    article = int(asked["article"]) if asked.get("article") in _CODES else None
    ask = partial(evidence.page, article=article, state=state, limit=_SIZE, offset=offset)
    return page(
        request,
        "evidence.html",
        session=session,
        listed=read_as_person(request, session, ask),
        article=article,
        state=state,
        states=EVIDENCE_STATES,
        offset=offset,
        size=_SIZE,
    )


@pages_router.get("/evidence.csv")
def get_file(request: Request, session: Viewer) -> Response:
    """Download the file."""
    return csv_answer(read_as_person(request, session, evidence.file), "evidence.csv")


@pages_router.get("/documents/{id}/bundle.zip")
def get_bundle(request: Request, session: Viewer) -> Response:
    """Download a ZIP of what an authority may ask of a declaration within ten days (Article 15(10)).

    It has the PDFs, the SKU's record with parts, grade and evidence by article as they are today, its technical files,
    and `index.csv` with the SHA-256 of each. An archive without its table of contents met an altered file. The API does
    not serve bytes of files (decision 0103).
    """
    service, actor = service_of(request), write_of(request, session).actor
    with service.writes.company(actor.company_id) as conn:
        bundle = evidence.bundle(conn, actor, path_id(request), rulesets=service.rulesets)
    files = [(path, key_of(actor.company_id, file_id), sha256) for path, file_id, sha256 in bundle.files]
    chunks = stored_files.archive(service.objects, bundle.documents, files, bundle.table, actor.now)
    first = next(chunks)  # before the answer begins, so that a fault of the store can still be answered
    headers = {
        "Content-Disposition": f'attachment; filename="{bundle.name}.zip"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingResponse(chain([first], chunks), 200, headers, _ZIP)


def _panel(conn: Connection, actor: Actor, sku_id: UUID) -> dict[str, Any]:
    """Return what the page of an item shows of its evidence."""
    record = evidence.read(conn, actor, sku_id)
    return {"record": record, "lacking": evidence.lacking(record), "types": CONTENTS[actor.lang]}


def _panel_of_draft(conn: Connection, actor: Actor, sku_id: UUID) -> dict[str, Any]:
    """Return what the page of a draft shows: nothing of an archived item, whose declaration is not issued."""
    with suppress(NotThere):
        return _panel(conn, actor, sku_id)
    return {"lacking": []}


PANELS["item"].append(("evidence_panel.html", _panel))
PANELS["draft"].append(("evidence_lacking.html", _panel_of_draft))
