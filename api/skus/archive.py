"""Archive endpoints: a SKU leaves lists, gaps and the plan's count, and comes back; nothing of it is removed."""

from functools import partial
from typing import Final, NamedTuple
from uuid import UUID

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import json_of, json_text
from api.http.auth import Presented, read
from api.http.errors import WrongMethod
from api.http.parameters import DryRun, Limit, Offset, RecordId
from api.http.writing import ETAG, IfMatch, JsonWrite, Precondition, Write, fingerprint_for, with_etag, with_reason
from api.openapi.document import READ_ERRORS, V1, WRITE_ERRORS, body_of, operation
from schemas.json_values import Json, JsonObject
from schemas.refusals import Refused
from schemas.skus.answers import ArchivedSkuListResponse, SkuWriteResult
from schemas.skus.inputs import ReasonInput
from services.skus import archive as archive_skus
from services.skus.write import WriteOutcome
from warehouse.operate.sessions import Connection
from warehouse.skus import archive

router = APIRouter(prefix=f"{V1}/skus", tags=["SKUs"])

_ERRORS: Final = (*(code for code in WRITE_ERRORS if code != "plan_limit_reached"), "not_found")


@router.get(
    "/archived",
    **operation("List archived SKUs", answers={200: ArchivedSkuListResponse}, errors=READ_ERRORS, preview=True),
)
async def list_archived(request: Request, presented: Presented, limit: Limit = 50, offset: Offset = 0) -> Response:
    """A page of the archived SKUs, the last archived first. `GET /skus/{id}` has the whole record of each."""
    (page,) = await read(request, presented, archive.page(limit, offset), {})
    return json_text(page)


@router.post(
    "/{id}/archive",
    **operation(
        "Archive a SKU",
        body=body_of(ReasonInput),
        answers={200: SkuWriteResult},
        errors=(*_ERRORS, "version_conflict"),
        headers=ETAG,
        preview=True,
    ),
)
def post_archive(received: JsonWrite, sku_id: RecordId, dry_run: DryRun, if_match: IfMatch = None) -> Response:
    """Takes a SKU out of lists, gaps and the plan's count. Its history, files and declarations stay.

    What was placed of it stays in the figures, which is warned of. `GET /skus/{id}` still answers it, with
    `archived_at`. A write with its `sku_code` brings it back.
    """
    write, body = received.admitted()
    return answer_archive(write, body, sku_id, if_match, dry_run=dry_run)


@router.post(
    "/{id}/return",
    **operation(
        "Bring an archived SKU back",
        body=body_of(ReasonInput),
        answers={200: SkuWriteResult},
        errors=(*WRITE_ERRORS, "not_found", "version_conflict"),
        headers=ETAG,
        preview=True,
    ),
)
def post_return(received: JsonWrite, sku_id: RecordId, dry_run: DryRun, if_match: IfMatch = None) -> Response:
    """Puts an archived SKU back as it was, graded by the rules of the day; it takes a place of the plan again."""
    write, body = received.admitted()
    return answer_return(write, body, sku_id, if_match, dry_run=dry_run)


def answer_archive(
    write: Write, body: Json, sku_id: UUID, if_match: Precondition | None = None, *, dry_run: bool = False
) -> Response:
    """Archive a SKU, for the reason of the body; return SkuWriteResult.

    Raise `NotThere`, `Refused`, and `VersionConflict` where its version is not one of `if_match`.
    """
    write = with_reason(write, body)

    def work(conn: Connection) -> _Archived:
        done = archive_skus.archive_sku(
            conn,
            write.actor,
            sku_id,
            rules=write.service.rulesets.active(conn),
            dry_run=dry_run,
        )
        if if_match is not None:
            if_match.check(done.version_before)
        data = archive_skus.archived_detail(conn, done.found, write.service.rulesets, write.actor.now, write.actor.lang)
        version = done.version_before if dry_run else done.found.row["version"]
        warnings = [warning.as_dict() for warning in done.warnings]
        shown: JsonObject = {
            "outcome": done.outcome,
            "dry_run": dry_run,
            "version": version,
            "data": data,
            "warnings": warnings,
        }
        return _Archived(shown, None if dry_run else version)

    return write.answer(fingerprint_for(body, if_match), work, _rested, dry_run=dry_run)


class _Archived(NamedTuple):
    """The answer about an archived SKU, and the version that it rests as; None in a dry run."""

    shown: JsonObject
    version: int | None


def _rested(archived: _Archived) -> Response:
    return with_etag(json_of(archived.shown), archived.version)


def answer_return(
    write: Write, body: Json, sku_id: UUID, if_match: Precondition | None = None, *, dry_run: bool = False
) -> Response:
    """Bring a SKU back, for the reason of the body; raise as `answer_archive` does, and `OverPlan`."""
    write = with_reason(write, body)
    work = partial(_returned, write, sku_id, if_match, dry_run=dry_run)
    show = partial(_shown, write, dry_run=dry_run)
    return write.answer(fingerprint_for(body, if_match), work, show, dry_run=dry_run)


def _returned(
    write: Write, sku_id: UUID, if_match: Precondition | None, conn: Connection, *, dry_run: bool
) -> WriteOutcome:
    row = archive_skus.return_sku(
        conn,
        write.actor,
        sku_id,
        rulesets=write.service.rulesets,
        dry_run=dry_run,
    )
    if if_match is not None:
        if_match.check(row.version_before)
    if row.outcome == "rejected":
        raise Refused(row.errors)
    return row


def _shown(write: Write, row: WriteOutcome, *, dry_run: bool) -> Response:
    assert row.detail is not None, "an accepted row can be shown"
    warnings = [warning.as_dict() for warning in row.warnings]
    shown = {
        "outcome": row.outcome,
        "dry_run": dry_run,
        "version": row.stored_version(dry_run=dry_run),
        "data": row.detail(lang=write.actor.lang),
        "warnings": warnings,
    }
    return with_etag(json_of(shown), None if dry_run else row.version)


@router.post("/archived", include_in_schema=False)
@router.put("/archived", include_in_schema=False)
def wrong_method_of_archived() -> Response:
    """Refuse POST and PUT; without these routes the path would be read as that of a SKU with the id “archived”."""
    raise WrongMethod(["GET"])
