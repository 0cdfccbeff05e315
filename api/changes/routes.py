"""The feed of changes: what changed in the company's data, in the order of the commits, from a cursor on.

Nothing is lost or told twice beside writers and imports: see `warehouse.changes.feed`.
"""

from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import accepted_language, in_language, json_of, json_text
from api.http.auth import Presented, admit, read
from api.http.parameters import MAX_PAGE, at_most, one_of
from api.http.service import service_of
from api.openapi.document import READ_ERRORS, V1, operation
from schemas.changes import ChangeListResponse
from schemas.messages import Message
from schemas.normalise import Unfit
from schemas.skus.inputs import validator
from services import changes
from warehouse.changes import feed
from warehouse.changes.feed import BEGINNING

router = APIRouter(prefix=V1, tags=["Changes"])

_NOW: Final = "now"
_MOST: Final = 1_000
"""Most changes of a page without records, which have `MAX_PAGE`."""


def _checked(value: str) -> str:
    if value != _NOW and feed.read_cursor(value) is None:
        raise Unfit("invalid_format", Message("Send a cursor as the service gave it, in `next_cursor` or `cursor`."))
    return value


After = Annotated[
    str | None,
    AfterValidator(validator(_checked)),
    WithJsonSchema({"type": "string", "pattern": "^(now|[A-Za-z0-9_-]{22})$"}),
    Query(
        description="Only changes behind this cursor. Without it: from the first change on. `now`: none, with a cursor "
        "for the changes from now on."
    ),
]
FeedLimit = Annotated[
    int,
    BeforeValidator(validator(at_most, _MOST)),
    Query(description=f"Page size; values outside 1 to {_MOST} are clamped, with records to {MAX_PAGE}."),
]
Include = Annotated[
    str | None,
    BeforeValidator(validator(one_of, ("records",))),
    WithJsonSchema({"type": "string", "enum": ["records"]}),
    Query(description="`records`: each change with the SKU that it is about as it is now (`record`)."),
]


@router.get(
    "/changes",
    **operation("Changes behind a cursor", answers={200: ChangeListResponse}, errors=READ_ERRORS, preview=True),
)
async def list_changes(
    request: Request, presented: Presented, after: After = None, limit: FeedLimit = 100, include: Include = None
) -> Response:
    """What changed, in the order in which it was stored: SKUs, volumes, declarations, files, shared records, imports.

    Store `next_cursor` once the page is processed, and send it as `after`. A change is there once, seconds after its
    write at most. A cursor never expires; one of another company, or from before a sandbox was reset or a backup
    restored, is a 400 with the code `unknown_cursor`.
    """
    from_now, place = after == _NOW, feed.read_cursor(after or "") or BEGINNING
    if include is None or from_now:
        query = feed.page(limit, from_now=from_now)
        known, page = await read(request, presented, query, feed.parameters(place))
        if not known:
            raise changes.unknown_cursor("after")
        return json_text(page)
    key = await admit(request, presented, "read")
    service, lang = service_of(request), accepted_language(request)

    def work() -> Response:
        with service.writes.company(key.company_id) as conn:
            found = changes.page_with_records(
                conn,
                place,
                min(limit, MAX_PAGE),
                rulesets=service.rulesets,
                today=service.clock.today(),
                lang=lang,
            )
        return in_language(json_of(found), lang)

    return await run_in_threadpool(work)
