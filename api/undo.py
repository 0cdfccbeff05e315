"""POST /imports/{id}/undo: the writes of an import are taken back where nothing has touched their SKUs since."""

from functools import partial
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from api.answers import json_of
from api.bodies import fingerprint
from api.document import V1, WRITE_ERRORS, body_of, operation
from api.errors import RateLimited
from api.parameters import DryRun, RecordId
from api.reasons import with_reason
from api.writing import JsonWrite, Write
from pipelines.imports.undo import NotEnded, UnderWay, Undone, undo
from schemas.issues import Issue
from schemas.json_values import Json
from schemas.messages import Message
from schemas.reasons import ReasonInput
from schemas.refusals import Refused
from schemas.responses import ImportUndoResult
from warehouse.sessions import Connection

router = APIRouter(prefix=f"{V1}/imports", tags=["Imports"])

_SHOWN: Final = 100
"""SKUs that an answer names of those that stay as they are."""
_AGAIN_SECONDS: Final = 5
"""After which a company whose import is being undone may ask again; 50 000 SKUs take two to three seconds."""
_ERRORS: Final = (*(code for code in WRITE_ERRORS if code != "plan_limit_reached"), "not_found")


@router.post(
    "/{id}/undo",
    **operation(
        "Undo an import", body=body_of(ReasonInput), answers={200: ImportUndoResult}, errors=_ERRORS, preview=True
    ),
)
def post_undo(received: JsonWrite, import_id: RecordId, dry_run: DryRun) -> Response:
    """Puts each SKU that the import changed back to the version before it, and archives those that it created.

    A SKU that was changed or archived since stays, and is named in `kept`. All of it happens at once, or nothing.
    Refused with `invalid_format` for a dry run, and as long as the import is worked on; with `rate_limited` while an
    import of the company is being undone.
    """
    write, body = received.admitted()
    return answer_undo(write, body, import_id, dry_run=dry_run)


def answer_undo(write: Write, body: Json, import_id: UUID, *, dry_run: bool) -> Response:
    """Undo an import, for the reason of the body; return ImportUndoResult. Raise `NotThere` and `Refused`."""
    work = partial(_undone, with_reason(write, body), import_id, dry_run=dry_run)
    return write.answer(fingerprint(body), work, partial(_shown, dry_run=dry_run), dry_run=dry_run)


def _undone(write: Write, import_id: UUID, conn: Connection, *, dry_run: bool) -> Undone:
    try:
        return undo(
            conn,
            write.company_id,
            import_id,
            origin=write.origin,
            now=write.now,
            rules=write.service.rulesets.active(conn),
            dry_run=dry_run,
        )
    except UnderWay:
        raise RateLimited(_AGAIN_SECONDS) from None
    except NotEnded:
        sentence = Message("Only an import that has written and has ended can be undone; this one has not.")
        raise Refused([Issue("invalid_format", sentence, "id")]) from None


def _shown(done: Undone, *, dry_run: bool) -> Response:
    counts = {name: getattr(done, name) for name in ("restored", "archived", "unchanged")} | {"kept": len(done.kept)}
    return json_of({"dry_run": dry_run, "counts": counts, "kept": [sku._asdict() for sku in done.kept[:_SHOWN]]})
