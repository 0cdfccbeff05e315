"""Lists and changes what the company's imports remember: its own words, and the mappings kept under names.

An import keeps and recalls a mapping (`api.imports.submit`); here it is seen and removed.
"""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import json_of, json_text
from api.http.auth import Presented, Writer, read
from api.http.parameters import DryRun, Limit, Offset, RecordId
from api.http.requests import fingerprint
from api.http.writing import JsonWrite, Write
from api.openapi.document import READ_ERRORS, V1, body_of, operation
from schemas.imports.answers import (
    KeptMappingListResponse,
    KeptMappingRemoval,
    OwnWordListResponse,
    OwnWordsWriteResult,
)
from schemas.imports.inputs import OwnWordsInput
from schemas.json_values import JsonObject
from schemas.refusals import NotThere
from schemas.skus.inputs import parse_body
from services.imports.words import change_words, remove_mapping
from warehouse.imports import words
from warehouse.operate.sessions import Connection

router = APIRouter(prefix=V1, tags=["Imports"])


@router.get(
    "/words",
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
    "/words",
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

    def work(conn: Connection) -> JsonObject:
        sent = parse_body(OwnWordsInput, body)
        changed = change_words(conn, write.actor, sent, dry_run=dry_run)
        return {"dry_run": dry_run, "data": {"stored": changed.stored, "removed": changed.removed}}

    return write.answer(fingerprint(body), work, json_of, dry_run=dry_run)


@router.get(
    "/mappings",
    **operation(
        "List kept mappings",
        answers={200: KeptMappingListResponse},
        errors=READ_ERRORS,
        preview=True,
    ),
)
async def list_mappings(request: Request, presented: Presented, limit: Limit = 50, offset: Offset = 0) -> Response:
    """A page of the mappings that imports recall by their `mapping_name`, the last kept first."""
    (page,) = await read(request, presented, words.page_of_mappings(limit, offset), {})
    return json_text(page)


@router.delete(
    "/mappings/{id}",
    **operation(
        "Remove a kept mapping",
        answers={200: KeptMappingRemoval},
        errors=(*READ_ERRORS, "idempotency_key_reuse", "not_found"),
        preview=True,
    ),
)
def delete_mapping(request: Request, key: Writer, mapping_id: RecordId, dry_run: DryRun) -> Response:
    """No later import can use the mapping; earlier ones stay. The answer contains it, to be stored again."""
    write = Write.by_key(request, key)

    def work(conn: Connection) -> JsonObject:
        removed = remove_mapping(conn, write.actor, mapping_id, dry_run=dry_run)
        if removed is None:
            raise NotThere
        return {"dry_run": dry_run, "data": removed._asdict()}

    return write.answer(fingerprint(None), work, json_of, dry_run=dry_run)
