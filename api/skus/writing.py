"""Writes of one SKU, and its way to the archive and back, as REST and pages ask for them.

POSTs of one caller that come together share a transaction, each answered as if it had come alone (decision 0112).
A body that was read before holds members that no write takes. A write that names its SKU by the id leaves out what is
stored so already, and refuses the others (`_as_sent`).
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final
from uuid import UUID

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from api.http.answers import as_json, json_of
from api.http.errors import VersionConflict
from api.http.service import service_of
from api.http.together import caught
from api.http.writing import (
    Precondition,
    Received,
    Write,
    admitted_each,
    answer_each,
    fingerprint_for,
    with_etag,
    with_reason,
)
from schemas import texts
from schemas.issues import Issue
from schemas.json_values import Json, JsonMapping, JsonObject
from schemas.messages import LANGUAGES, Message
from schemas.refusals import Refused, require
from schemas.skus.answers import READ_ONLY
from schemas.skus.inputs import FreeCodeInput, SkuInput, SkuMergedInput, parse_body, parse_sku
from schemas.skus.types import SkuDetail, SkuPatch
from services.skus import archive as archive_skus
from services.skus import detail
from services.skus.write import WriteOutcome, free_code, keep_former_code, write_records
from warehouse.operate.sessions import Connection
from warehouse.skus import archive, queries, store


def answer_one(
    write: Write,
    body: Json,
    if_match: Precondition | None = None,
    *,
    create_only: bool = False,
    addressed: UUID | None = None,
    dry_run: bool = False,
    merging: bool = False,
) -> Response:
    """Return the answer to a write of one SKU, by its code or also by the id of the path; see `write_one`."""
    return write.answer(
        fingerprint_for(body, if_match, create_only=create_only),
        partial(
            write_one,
            write=write,
            body=body,
            if_match=if_match,
            create_only=create_only,
            addressed=addressed,
            dry_run=dry_run,
            merging=merging,
        ),
        partial(write_answer, lang=write.actor.lang, dry_run=dry_run),
        dry_run=dry_run,
        pipelined=True,
    )


async def answer_post(received: Received) -> Response:
    """Return the answer to a POST without parameters and with a small body, done with others of its caller."""
    caller = (received.credential, "idempotency-key" in received.request.headers)
    answer: Response | Write = await service_of(received.request).together.join(caller, received, _answers)
    return await run_in_threadpool(answer_one, answer, received.body) if isinstance(answer, Write) else answer


def _answers(received: Sequence[Received]) -> Sequence[Response | Write | Exception]:
    """Return the answer to each, what refuses it, or the admitted write of one that is to be done by itself."""
    admitted = admitted_each(received)
    writes = {place: write for place, write in enumerate(admitted) if isinstance(write, Write)}
    if len(received) == 1:
        done = {place: caught(answer_one, write, received[place].body) for place, write in writes.items()}
    else:
        done = _answers_together(writes, received)
    return [done.get(place, write) for place, write in enumerate(admitted)]


def _answers_together(writes: Mapping[int, Write], received: Sequence[Received]) -> dict[int, Response | Exception]:
    """Return the answers that one transaction could give. Of those with one code it has the first alone."""
    parsed = {place: caught(parse_sku, received[place].body, SkuInput) for place in writes}
    if sum(not isinstance(record, Exception) for record in parsed.values()) < 2:
        return {}

    def write_each(conn: Connection, places: Collection[int]) -> Mapping[int, WriteOutcome | Exception]:
        done: dict[int, WriteOutcome | Exception] = {}
        records: dict[str, tuple[int, SkuPatch]] = {}
        for place in places:
            record = parsed[place]
            if isinstance(record, Exception):
                done[place] = record
            else:
                records.setdefault(record["sku_code"], (place, record))
        if records:
            write, origins = writes[min(writes)], {place: each.actor.origin for place, each in writes.items()}
            rows = write_records(
                conn,
                write.actor,
                dict(records.values()),
                rulesets=write.service.rulesets,
                dry_run=False,
                origins=origins,
            )
            done |= {place: caught(accepted, row) for place, row in rows.items()}
        return done

    meanings = {place: (write, fingerprint_for(received[place].body, None)) for place, write in writes.items()}
    return answer_each(meanings, write_each, lambda write, row: write_answer(row, lang=write.actor.lang, dry_run=False))


def write_one(
    conn: Connection,
    write: Write,
    body: Json,
    if_match: Precondition | None = None,
    *,
    create_only: bool = False,
    addressed: UUID | None,
    dry_run: bool,
    merging: bool = False,
) -> WriteOutcome:
    """Write the one SKU of a body in the caller's transaction; with `create_only` only where it does not exist.

    `addressed` is the id of the path; None where the SKU is found by its code. With `merging` the body is a merge patch
    (RFC 7396) of the addressed SKU, which may give it another code. Raise `Refused`, `NotThere` or `VersionConflict`
    where it is refused.
    """
    code = None if addressed is None else _code_of(conn, addressed, locking=merging)
    if addressed is not None and isinstance(body, Mapping):
        body = _as_sent(conn, write, body, addressed, merging=merging)
    record = parse_sku(body, SkuMergedInput if merging else SkuInput)
    renamed: dict[str, str] = {}
    if addressed is not None and code is not None:
        new_code, record["sku_code"] = record.get("sku_code", code), code
        if new_code not in (code, texts.code(code)):  # stored before codes had one form, and addressed by its id
            _check_rename(conn, write, addressed, code, new_code, allowed=merging, dry_run=dry_run)
            renamed = {code: new_code}
    [row] = write_records(
        conn,
        write.actor,
        {0: record},
        rulesets=write.service.rulesets,
        dry_run=dry_run,
        if_versions={0: 0} if create_only else {},
        renamed=renamed,
    ).values()
    if create_only and row.version_before is not None:
        raise VersionConflict(row.version_before, create_only=True)
    return accepted(row, if_match)


def accepted(row: WriteOutcome, if_match: Precondition | None = None) -> WriteOutcome:
    """Return a row that was written; raise `VersionConflict` or `Refused` of one that was not."""
    if if_match is not None:
        if_match.check(row.version_before)
    if row.outcome == "rejected":
        is_former = any(issue.code == _FORMER for issue in row.errors)
        raise Refused(row.errors, _FORMER) if is_former else Refused(row.errors)
    return row


_FORMER: Final = "sku_code_former"


def _code_of(conn: Connection, sku_id: UUID, *, locking: bool) -> str:
    """Return the code of a SKU, archived or not; with `locking` nobody renames it meanwhile. Raise `NotThere`."""
    locked = store.lock_sku(conn, sku_id) if locking else None
    return require((locked and locked.sku_code) or queries.code_of(conn, sku_id) or archive.code_of(conn, sku_id))


def _check_rename(
    conn: Connection, write: Write, sku_id: UUID, code: str, new_code: str, *, allowed: bool, dry_run: bool
) -> None:
    """Prepare that the write gives a SKU another code. Raise `Refused` where it may not have it."""
    if not allowed:
        sentence = Message(
            "This SKU has the sku_code “{code}”. Send that code, POST to /skus, or rename the SKU with PATCH.",
            code=code,
        )
        raise Refused([Issue("sku_code_mismatch", sentence, "sku_code")])
    keep_former_code(conn, write.actor, sku_id, code, new_code, dry_run=dry_run)


_KEPT: Final = ("sku_code", "name")
"""What is sent on as it came: a PUT needs both."""


def _as_sent(conn: Connection, write: Write, body: JsonMapping, sku_id: UUID, *, merging: bool) -> JsonMapping:
    """Return a body without the members that are stored so, where it has read-only ones: it was read before.

    What differs is left to the validation, which refuses read-only members. Each substance of a merge patch is merged
    with what is declared of it.
    """
    was_read, patched = not READ_ONLY.isdisjoint(body), merging and isinstance(body.get("substances"), Mapping)
    if not (was_read or patched):
        return body
    store.lock_sku(conn, sku_id)  # what is compared stays until the write
    shown = _shown(conn, write, sku_id)
    if was_read:
        told = body.get("compliance")
        if told is not None and told != shown["compliance"] and told in _in_languages(conn, write, sku_id):
            shown["compliance"] = told
        body = {n: v for n, v in body.items() if n in _KEPT or n not in shown or v != shown[n]}
    if isinstance(entries := body.get("substances"), Mapping):
        stored = shown["substances"]
        changed = {name: entry for name, entry in entries.items() if name not in stored or entry != stored[name]}
        merged = {name: _merged(stored.get(name), entry) for name, entry in changed.items()} if merging else changed
        body = {**body, "substances": merged}
    return body


def _merged(stored: Json, sent: Json) -> Json:
    """Return a stored object with a merge patch applied (RFC 7396); anything else replaces it."""
    if not isinstance(sent, Mapping):
        return sent
    return {name: value for name, value in {**(stored or {}), **sent}.items() if value is not None}


def _shown(conn: Connection, write: Write, sku_id: UUID, lang: str | None = None) -> JsonObject:
    """Return the JSON of `data` that a GET of a SKU answers, archived or not."""
    now, lang, rulesets = write.actor.now, lang or write.actor.lang, write.service.rulesets
    row = queries.find_sku(conn, sku_id, now.date())
    if row is None:
        item = require(archive.find_archived(conn, sku_id, now.date()))
        data = archive_skus.archived_detail(conn, item, rulesets, now, lang)
    else:
        data = detail.sku_detail(row, detail.rulesets_of(conn, rulesets, row), today=now.date(), lang=lang)
    shown: JsonObject = orjson.loads(as_json(data))
    return shown


def _in_languages(conn: Connection, write: Write, sku_id: UUID) -> list[Json]:
    """Return the compliance of a SKU in each language: its sentences are those of the read."""
    return [_shown(conn, write, sku_id, lang)["compliance"] for lang in LANGUAGES]


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
    """Bring a SKU back, for the reason of the body; raise as `answer_archive` does, and `PlanLimitReached`."""
    write = with_reason(write, body)

    def return_sku(conn: Connection) -> WriteOutcome:
        rulesets = write.service.rulesets
        row = archive_skus.return_sku(conn, write.actor, sku_id, rulesets=rulesets, dry_run=dry_run)
        return accepted(row, if_match)

    show = partial(write_answer, lang=write.actor.lang, dry_run=dry_run)
    return write.answer(fingerprint_for(body, if_match), return_sku, show, dry_run=dry_run)


def answer_free_code(write: Write, body: Json, sku_id: UUID, *, dry_run: bool) -> Response:
    """Free the former code of the body, which a SKU had; return its codes. Raise `NotThere` and `Refused`."""

    def free(conn: Connection) -> JsonObject:
        require(queries.names_of(conn, [sku_id]).get(str(sku_id)))
        sent = parse_body(FreeCodeInput, body)
        actor = write.actor.with_reason(sent.reason)
        outcome = free_code(conn, actor, sku_id, sent.sku_code, dry_run=dry_run)
        former = [code for code in queries.former_codes_of(conn, sku_id) if code != sent.sku_code]
        data = {"id": sku_id, "sku_code": queries.names_of(conn, [sku_id])[str(sku_id)][0], "former_codes": former}
        return {"outcome": outcome, "dry_run": dry_run, "data": data}

    return write.answer(fingerprint_for(body, None), free, json_of, dry_run=dry_run)
