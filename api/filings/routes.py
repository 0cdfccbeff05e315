"""Declarations over REST: made of the newest snapshot, kept as filed, read and downloaded. They never change.

`services.filings.filing` makes and keeps them.
"""

from functools import partial
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BeforeValidator, WithJsonSchema
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.figures.routes import Half, Market, Year
from api.http.answers import file_answer, json_of
from api.http.auth import Presented, read, read_as_actor, read_record
from api.http.parameters import DryRun, Limit, Offset, RecordId
from api.http.requests import fingerprint
from api.http.writing import JsonWrite
from api.openapi.document import READ_ERRORS, V1, WRITE_ERRORS, body_of, operation
from api.pages.concurrency import run_limited
from schemas.actors import Actor
from schemas.filings import (
    Declaration,
    DeclarationDetailResponse,
    DeclarationInput,
    DeclarationListResponse,
    DeclarationWriteResult,
    parse_declaration,
)
from schemas.messages import Message
from schemas.normalise import Unfit
from schemas.pages import Page
from schemas.refusals import NotThere
from schemas.skus.inputs import validator
from services.filings import filing
from warehouse import filings
from warehouse.catalogue import kept_market
from warehouse.filings import PARTS, Part
from warehouse.operate.sessions import Connection

router = APIRouter(prefix=f"{V1}/declarations", tags=["Kept declarations"])

_CONTENT: Final = operation(
    "The bytes of a kept declaration",
    answers={200: DeclarationDetailResponse},
    errors=(*READ_ERRORS, "not_found"),
    preview=True,
)
_CONTENT["response_class"] = Response  # else the framework publishes a JSON answer besides
_CONTENT["responses"][200] = {
    "description": "The bytes as they were kept.",
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    "headers": {
        "Repr-Digest": {
            "description": "Their SHA-256 (RFC 9530): `sha-256=:…:`, in Base64.",
            "schema": {"type": "string"},
        },
        "Content-Disposition": {"description": "The name of the file.", "schema": {"type": "string"}},
    },
}


def _part(value: str) -> str:
    if value not in PARTS:
        raise Unfit("not_in_vocabulary", Message("This parameter is one of {allowed}.", allowed=", ".join(PARTS)))
    return value


PartName = Annotated[
    Part,
    BeforeValidator(validator(_part)),
    WithJsonSchema({"type": "string", "enum": list(PARTS)}),
    Query(description="The declaration, or a list beside it: of SKUs not counted, or of scopes not decided."),
]


@router.get(
    "", **operation("List kept declarations", answers={200: DeclarationListResponse}, errors=READ_ERRORS, preview=True)
)
async def list_declarations(
    request: Request,
    presented: Presented,
    *,
    market: Market = None,
    year: Year = None,
    half: Half = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """A page of declarations as they were filed, newest first. A correction names the one that it corrects."""

    def ask(conn: Connection, _: Actor) -> Page[Declaration]:
        filters = {"market": None if market is None else kept_market(conn, market), "year": year, "half": half}
        wanted = {name: value for name, value in filters.items() if value is not None}
        return filings.page(limit, offset, wanted).read(conn)

    return json_of(await read_as_actor(request, presented, ask))


@router.get(
    "/{id}",
    **operation(
        "One kept declaration",
        answers={200: DeclarationDetailResponse},
        errors=(*READ_ERRORS, "not_found"),
        preview=True,
    ),
)
async def get_declaration(request: Request, presented: Presented, declaration_id: RecordId) -> Response:
    """What it is of, what it was made from, who kept it and when, and what the producer stated."""
    declaration = await read_record(request, presented, filings.DETAIL, {"id": declaration_id})
    if declaration is None:
        raise NotThere
    return json_of({"data": declaration})


@router.get("/{id}/content", **_CONTENT)
async def get_content(
    request: Request, presented: Presented, declaration_id: RecordId, part: PartName = "declaration"
) -> Response:
    """The file as it was kept, to the byte. 404 where the declaration has no such list beside it."""
    filename, _, data, sha256 = await read(request, presented, filings.content_of(part), {"id": declaration_id})
    if data is None:
        raise NotThere
    return file_answer(filename, "application/octet-stream", data, sha256)


@router.post(
    "",
    **operation(
        "Make a declaration and keep it",
        body=body_of(DeclarationInput),
        answers={200: DeclarationWriteResult, 201: DeclarationWriteResult},
        errors=(*WRITE_ERRORS, "already_declared"),
        preview=True,
    ),
)
async def post_declaration(request: Request, received: JsonWrite, dry_run: DryRun) -> Response:
    """Makes a declaration from the newest snapshot: 201 when it is kept, 200 with `dry_run`, which only shows it.

    Send the `sha256` of a dry run to keep exactly what it showed; where the file has changed since, nothing is kept.
    Nothing changes or removes a kept declaration: a correction is a new one whose `corrects` is the id of the first.
    A second first declaration of the same market, period, format and organisation is refused (409), a dry run too.
    """
    write, body = await run_in_threadpool(received.admitted)
    digest = fingerprint(body)
    if earlier := await run_in_threadpool(write.answered, digest, dry_run=dry_run):
        return earlier
    service, wanted = write.service, parse_declaration(body)
    prepare = partial(filing.prepare, data_dir=service.settings.data_dir, rulesets=service.rulesets)
    prepared = await run_in_threadpool(prepare, service.writes, write.actor, wanted)
    made = await run_limited(request, "portfolio", filing.make, prepared.inputs, wanted)

    def keep(conn: Connection) -> UUID | None:
        return None if dry_run else filing.keep(conn, write.actor, made)

    def render(declaration_id: UUID | None) -> Response:
        answer = {
            "outcome": "created",
            "dry_run": dry_run,
            "newer_writes": prepared.newer_writes,
            "data": filing.declaration_of(made, declaration_id, write.actor),
            "left_out": made.uncounted,
        }
        return json_of(answer, 200 if dry_run else 201)

    return await run_in_threadpool(write.answer, digest, keep, render, dry_run=dry_run)
