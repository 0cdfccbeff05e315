"""Takes a technical file as it arrives, for REST and pages, and returns one to a person."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final
from urllib.parse import quote
from uuid import UUID

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from uuid_utils import uuid7

from api.http import stored_files
from api.http.answers import json_of
from api.http.errors import REFUSALS
from api.http.requests import FileForm, fingerprint, judge_file, unreadable
from api.http.service import service_of
from api.http.writing import Write
from pipelines.writing import write as write_writing
from schemas.files import FIELDS, TechnicalFileUploadResponse, name_as, visible
from schemas.messages import Message
from schemas.refusals import NotThere, require
from warehouse import files
from warehouse.files import File, key_of, record
from warehouse.operate.objects import NoSuchObject
from warehouse.operate.sessions import Connection
from warehouse.skus import queries as skus

_SLOWEST_SECONDS: Final = 1800.0
"""Longest time for a body: less than the age at which housekeeping removes files, so that it removes no upload in
progress.
"""
_DOWNLOADED: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cache-Control": "no-store",
}
"""Headers of a file from outside: it is saved and never shown as a page of ours."""


def download(request: Request, company_id: UUID, sku_id: UUID, file_id: UUID) -> Response:
    """Return the bytes of a file of a SKU, to be saved and never shown as a page of ours. Raise `NotThere`."""
    service = service_of(request)
    with service.writes.company(company_id) as connection:
        file = files.one(connection, sku_id, file_id)
    if file is None:
        raise NotThere
    disposition = f"attachment; filename*=UTF-8''{quote(visible(file.filename), safe='')}"
    try:
        data = stored_files.read(service.objects, key_of(company_id, file_id), file.sha256)
    except NoSuchObject:  # a restored database whose objects were not restored with it
        raise NotThere from None
    return Response(data, media_type=file.media_type, headers={**_DOWNLOADED, "Content-Disposition": disposition})


async def receive(
    request: Request,
    company_id: UUID,
    sku_id: UUID,
    form: FileForm,
    write_of: Callable[[], Write],
    *,
    dry_run: bool = False,
) -> Response:
    """Store the file of a form as it arrives, check its bytes, and record it; return the contract's answer.

    `write_of` returns the write once the form is read; it may refuse the form. Raise the refusals of the contract.
    """
    require(await run_in_threadpool(_code, request, company_id, sku_id))  # before the body is read
    file_id = UUID(str(uuid7()))
    objects, object_key = service_of(request).objects, key_of(company_id, file_id)
    try:
        async with asyncio.timeout(_SLOWEST_SECONDS):
            await objects.put_stream(object_key, form.file())
    except TimeoutError:
        raise unreadable(
            Message("The body did not arrive within {seconds} seconds.", seconds=f"{_SLOWEST_SECONDS:.0f}")
        ) from None
    try:
        write = await run_in_threadpool(write_of)
    except Exception:
        await run_in_threadpool(objects.remove, object_key)
        raise
    return await _settle(request, write, sku_id, file_id, form, dry_run=dry_run)


def _code(request: Request, company_id: UUID, sku_id: UUID) -> str | None:
    with service_of(request).writes.company(company_id) as conn:
        return skus.code_of(conn, sku_id)


async def _settle(
    request: Request, write: Write, sku_id: UUID, file_id: UUID, form: FileForm, *, dry_run: bool
) -> Response:
    """Check the bytes that have arrived and record them; remove bytes that no record names.

    Where the commit is in doubt the bytes stay: housekeeping removes them if there is no record.
    """
    objects, actor, is_new = write.service.objects, write.actor, False
    object_key = key_of(actor.company_id, file_id)

    def store(connection: Connection) -> TechnicalFileUploadResponse:
        nonlocal is_new
        is_new = True
        if not dry_run:
            write_writing.admit(connection, objects, actor.company_id, new_bytes=file.size_bytes, now=actor.now)
        return {"dry_run": dry_run, "data": record(connection, actor, sku_id, file, dry_run=dry_run)}

    try:
        kind = await judge_file(request, actor.company_id, "company", object_key, form)
        name = name_as(form.filename, kind)
        file = File(file_id, name, kind.media_type, form.size_bytes, form.sha256, **form.fields)
        meaning = {"filename": file.filename, "media_type": file.media_type, "sha256": file.sha256}
        meaning |= {name: getattr(file, name) for name in FIELDS}
        show = partial(json_of, status=200 if dry_run else 201)
        response = await run_in_threadpool(write.answer, fingerprint(meaning), store, show, dry_run=dry_run)
    except REFUSALS:
        await run_in_threadpool(objects.remove, object_key)
        raise
    if dry_run or not is_new:  # a dry run, or the answer of an earlier request
        await run_in_threadpool(objects.remove, object_key)
    return response
