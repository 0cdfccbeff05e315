"""Lists and changes the company's own words, which its imports read as values."""

from typing import Any

from fastapi import APIRouter
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_of, json_text
from api.auth import Presented
from api.bodies import fingerprint
from api.document import READ_ERRORS, V1, body_of, operation
from api.errors import InvalidBody
from api.parameters import DryRun, Limit, Offset
from api.reading import read
from api.writing import JsonWrite
from schemas.import_inputs import OwnWordsInput
from schemas.models import issues_of
from schemas.responses import OwnWordListResponse, OwnWordsWriteResult
from services.own_words import WordsRefused, change_words
from warehouse.imports import words
from warehouse.sessions import Connection

router = APIRouter(prefix=f"{V1}/words", tags=["Imports"])


@router.get(
    "",
    **operation(
        "List the company's own words",
        answers={200: OwnWordListResponse},
        errors=READ_ERRORS,
        preview=True,
    ),
)
async def list_words(request: Request, presented: Presented, limit: Limit = 50, offset: Offset = 0) -> Response:
    """A page of words, sorted by field and word: in a file, `text` in the field's column is read as `value`.

    A null value is an empty cell. Every import reads them; the values of a mapping count before them.
    """
    (page,) = await read(request, presented, words.page(limit, offset), {})
    return json_text(page)


@router.put(
    "",
    **operation(
        "Store and remove own words",
        body=body_of(OwnWordsInput),
        answers={200: OwnWordsWriteResult},
        errors=(*READ_ERRORS, "idempotency_key_reuse", "payload_too_large"),
        preview=True,
    ),
)
def put_words(received: JsonWrite, dry_run: DryRun) -> Response:
    """Stores `words`, each in place of an earlier one of its field and text, and removes those of `remove`.

    A value is checked like one of a mapping. Words that are not sent stay; rows that are stored already do not change.
    """
    write, body = received.admitted()

    def work(conn: Connection) -> dict[str, Any]:
        try:
            sent = OwnWordsInput.model_validate(body)
            changed = change_words(conn, write.company_id, sent, origin=write.origin, now=write.now, dry_run=dry_run)
        except ValidationError as error:
            raise InvalidBody(issues_of(error)) from None
        except WordsRefused as refused:
            raise InvalidBody(refused.issues) from None
        return {"dry_run": dry_run, "data": {"stored": changed.stored, "removed": changed.removed}}

    return write.answer(fingerprint(body), work, json_of, dry_run=dry_run)
