"""Exports of the whole portfolio: asked for, polled, and downloaded. A run writes the file (`pipelines.exports`)."""

from functools import partial
from itertools import chain
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from api.http import stored_files
from api.http.answers import accepted_language, in_language, is_current, json_of, revalidated
from api.http.auth import Presented, Reader, Writer, read_page, read_record
from api.http.errors import RateLimited
from api.http.parameters import DryRun, ImportStatus, Limit, Offset, RecordId
from api.http.requests import fingerprint, json_body
from api.http.service import service_of
from api.http.writing import Write
from api.openapi.document import CHANGE_ERRORS, READ_ERRORS, V1, body_of, operation
from api.operate.launching import Launch, launch_of_export
from schemas.exports import EXTENSIONS, MEDIA_TYPES, ExportInput, ExportListResponse, ExportResponse
from schemas.refusals import NotThere, Refused, require
from schemas.skus.inputs import parse_body
from services import exports as exports_services
from warehouse import exports
from warehouse.companies import queries as queries_companies
from warehouse.operate.objects import NoSuchObject
from warehouse.operate.sessions import Connection

router = APIRouter(prefix=f"{V1}/exports", tags=["Exports"])

_AGAIN_SECONDS: Final = 30
_FILE: Final = {"Content-Disposition": "Names the file."}


@router.post(
    "",
    **operation(
        "Export the whole portfolio",
        body=body_of(ExportInput),
        answers={200: ExportResponse, 202: ExportResponse},
        errors=CHANGE_ERRORS,
        reads=True,
    ),
)
async def post_export(request: Request, key: Writer, dry_run: DryRun) -> Response:
    """Queues a file of all SKUs, components, volumes and grades: 202, or 200 with `dry_run`, which queues nothing.

    Poll `GET /exports/{id}` until `status` is completed or failed, then fetch `file_url`. File and record are kept for
    seven days, less where the plan's storage is full: exports make room for other files first. At most five exports of
    a company wait at a time.
    """
    sent = parse_body(ExportInput, await json_body(request))
    write = await run_in_threadpool(Write.by_key, request, key)
    response, launch = await run_in_threadpool(_accept, write, sent, dry_run=dry_run)
    if launch is not None:
        request.app.state.launching.soon(launch)
    return response


def _accept(write: Write, sent: ExportInput, *, dry_run: bool) -> tuple[Response, Launch | None]:
    """Queue the export; return the answer, and the run that it needs unless it was asked for before."""
    actor = write.actor
    launch: Launch | None = None

    def queue(conn: Connection) -> ExportResponse:
        nonlocal launch
        try:
            export = exports_services.queue(conn, actor, sent, dry_run=dry_run)
        except Refused:
            raise RateLimited(_AGAIN_SECONDS) from None
        if (export_id := export["id"]) is not None:
            slug = queries_companies.own(conn, actor.company_id)
            launch = launch_of_export(export_id, actor.company_id, slug, export["skus_total"])
        return {"dry_run": dry_run, "data": export}

    show = partial(json_of, status=200 if dry_run else 202)
    return write.answer(fingerprint(sent.model_dump()), queue, show, dry_run=dry_run), launch


@router.get("", **operation("List exports", answers={200: ExportListResponse}, errors=READ_ERRORS))
async def list_exports(
    request: Request, presented: Presented, *, status: ImportStatus = None, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """The exports that are kept, newest first."""
    listing = exports.page(limit, offset, now=service_of(request).clock.now(), status=status)
    page = await read_page(request, presented, listing)
    templates = dict(chain.from_iterable(exports.templates_of(export).items() for export in page["data"]))
    return in_language(json_of(page), accepted_language(request), templates)


@router.get(
    "/{id}",
    **operation("One export", answers={200: ExportResponse}, errors=(*READ_ERRORS, "not_found"), revalidated=True),
)
async def get_export(request: Request, presented: Presented, export_id: RecordId) -> Response:
    """Poll until `status` is completed or failed; `skus_done` of `skus_total` are written."""
    parameters = {"id": export_id, "now": service_of(request).clock.now()}
    export = require(await read_record(request, presented, exports.ONE, parameters))
    templates = exports.templates_of(export)
    return revalidated(request, in_language(json_of({"data": export}), accepted_language(request), templates))


@router.get(
    "/{id}/file",
    **operation(
        "Download the file of an export",
        files=sorted(set(MEDIA_TYPES.values())),
        revalidated=True,
        errors=(*READ_ERRORS, "not_found"),
        headers=_FILE,
    ),
)
async def get_export_file(request: Request, key: Reader, export_id: RecordId) -> Response:
    """The file of a completed export: 404 before it is complete, and once it is no longer kept."""
    return await run_in_threadpool(_download, request, key.company_id, export_id)


def _download(request: Request, company_id: UUID, export_id: UUID) -> Response:
    service = service_of(request)
    with service.writes.company(company_id) as conn:
        file_record = require(exports.file_of(conn, export_id, service.clock.now()))
    name = f"portfolio-{file_record.created_at:%Y-%m-%d}.{EXTENSIONS[file_record.format]}"
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Length": str(file_record.size_bytes),
        "ETag": f'"{file_record.sha256}"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    if is_current(request, headers["ETag"]):
        return Response(status_code=304, headers={"ETag": headers["ETag"]})
    try:
        file = service.objects.open(file_record.object_key)
    except NoSuchObject:  # it made room for another file meanwhile, or a backup was restored without it
        raise NotThere from None
    chunks = stored_files.chunks(file, file_record.object_key, file_record.sha256)
    first = next(chunks)  # before the answer begins, so that a fault of the store can still be answered
    return StreamingResponse(
        chain([first], chunks), 200, headers, MEDIA_TYPES[file_record.format], BackgroundTask(file.close)
    )
