"""Writes of one SKU, and its way to the archive and back, as REST and pages ask for them."""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from starlette.responses import Response

from api.http.answers import json_of
from api.http.errors import VersionConflict
from api.http.writing import Precondition, Write, fingerprint_for, with_etag, with_reason
from schemas import texts
from schemas.issues import Issue
from schemas.json_values import Json, JsonObject
from schemas.messages import Message
from schemas.refusals import NotThere, Refused
from schemas.skus.inputs import parse_sku
from schemas.skus.types import SkuDetail, SkuPatch
from services.skus import archive as archive_skus
from services.skus.write import WriteOutcome, write_records
from warehouse.operate.sessions import Connection
from warehouse.skus import archive, queries


def write_one(
    conn: Connection,
    write: Write,
    body: Json,
    if_match: Precondition | None = None,
    *,
    create_only: bool = False,
    addressed: UUID | None,
    dry_run: bool,
) -> WriteOutcome:
    """Write the one SKU of a body in the caller's transaction; with `create_only` only where it does not exist.

    `addressed` is the id of the path; None where the SKU is found by its code. Raise `Refused`, `NotThere` or
    `VersionConflict` where it is refused.
    """
    record = _record(conn, body, addressed)
    [row] = write_records(
        conn,
        write.actor,
        {0: record},
        rulesets=write.service.rulesets,
        dry_run=dry_run,
        if_versions={0: 0} if create_only else {},
    ).values()
    if create_only and row.version_before is not None:
        raise VersionConflict(row.version_before, create_only=True)
    return _accepted(row, if_match)


def _accepted(row: WriteOutcome, if_match: Precondition | None) -> WriteOutcome:
    """Return a row that was written; raise `VersionConflict` or `Refused` of one that was not."""
    if if_match is not None:
        if_match.check(row.version_before)
    if row.outcome == "rejected":
        raise Refused(row.errors)
    return row


def _record(conn: Connection, body: Json, addressed: UUID | None) -> SkuPatch:
    """Return the valid record of a body, of the addressed SKU where there is one. Raise `Refused` and `NotThere`."""
    code = None
    if addressed is not None and (code := queries.code_of(conn, addressed) or archive.code_of(conn, addressed)) is None:
        raise NotThere
    record = parse_sku(body)
    if code is not None and texts.code(code) == record["sku_code"]:
        record["sku_code"] = code  # stored before codes had one form, and addressed by its id
    if code not in (None, record["sku_code"]):
        sentence = Message(
            "This SKU has the sku_code “{code}”; a code never changes. Send that code, or POST to /skus.", code=code
        )
        raise Refused([Issue("sku_code_mismatch", sentence, "sku_code")])
    return record


def _result(
    outcome: str, version: int | None, data: SkuDetail, warnings: Sequence[Issue], *, dry_run: bool
) -> JsonObject:
    """Return SkuWriteResult."""
    told = [warning.as_dict() for warning in warnings]
    return {"outcome": outcome, "dry_run": dry_run, "version": version, "data": data, "warnings": told}


def write_answer(row: WriteOutcome, *, lang: str, dry_run: bool) -> Response:
    """Return SkuWriteResult of a row that was accepted, with its entity tag."""
    assert row.detail is not None, "an accepted row can be shown"
    version = row.stored_version(dry_run=dry_run)
    result = _result(row.outcome, version, row.detail(lang=lang), row.warnings, dry_run=dry_run)
    answer = json_of(result, 201 if row.outcome == "created" and not dry_run else 200)
    return answer if dry_run else with_etag(answer, row.version)


def answer_archive(
    write: Write, body: Json, sku_id: UUID, if_match: Precondition | None = None, *, dry_run: bool = False
) -> Response:
    """Archive a SKU, for the reason of the body; return SkuWriteResult.

    Raise `NotThere`, `Refused`, and `VersionConflict` where its version is not one of `if_match`.
    """
    write = with_reason(write, body)
    rulesets, actor = write.service.rulesets, write.actor

    def archive_sku(conn: Connection) -> JsonObject:
        done = archive_skus.archive_sku(conn, actor, sku_id, rules=rulesets.active(conn), dry_run=dry_run)
        if if_match is not None:
            if_match.check(done.version_before)
        data = archive_skus.archived_detail(conn, done.item, rulesets, actor.now, actor.lang)
        version = done.version_before if dry_run else done.item.row["version"]
        return _result(done.outcome, version, data, done.warnings, dry_run=dry_run)

    def show(result: JsonObject) -> Response:
        return json_of(result) if dry_run else with_etag(json_of(result), result["version"])

    return write.answer(fingerprint_for(body, if_match), archive_sku, show, dry_run=dry_run)


def answer_return(
    write: Write, body: Json, sku_id: UUID, if_match: Precondition | None = None, *, dry_run: bool = False
) -> Response:
    """Bring a SKU back, for the reason of the body; raise as `answer_archive` does, and `OverPlan`."""
    write = with_reason(write, body)

    def return_sku(conn: Connection) -> WriteOutcome:
        rulesets = write.service.rulesets
        row = archive_skus.return_sku(conn, write.actor, sku_id, rulesets=rulesets, dry_run=dry_run)
        return _accepted(row, if_match)

    show = partial(write_answer, lang=write.actor.lang, dry_run=dry_run)
    return write.answer(fingerprint_for(body, if_match), return_sku, show, dry_run=dry_run)
