"""The feed of changes: what changed in the company's data, in the order of the commits, from a cursor on; webhooks.

Nothing is lost or told twice beside writers and imports: see `warehouse.changes.feed`. A webhook says where the changes
are sent; its page shows how sending goes, and they are sent again from a cursor.
"""

from collections.abc import Callable
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import JsonAnswer, in_language, json_of
from api.http.auth import Presented, Writer, admit, answer_page, read_page, read_record
from api.http.parameters import MAX_PAGE, DryRun, Limit, Offset, RecordId, at_most, idempotency_key, one_of
from api.http.requests import fingerprint
from api.http.service import service_of
from api.http.writing import JsonWrite, Write
from api.openapi.document import CHANGE_ERRORS, READ_ERRORS, V1, body_of, operation
from pipelines.changes import Sender
from schemas.changes import (
    ChangeListResponse,
    WebhookDeliveryListResponse,
    WebhookInput,
    WebhookListResponse,
    WebhookPatch,
    WebhookReplayInput,
    WebhookResponse,
    WebhookSecretInput,
    WebhookTestResult,
    WebhookWriteResult,
)
from schemas.json_values import Json
from schemas.messages import Message
from schemas.normalise import Unfit
from schemas.refusals import require
from schemas.skus.inputs import parse_body, validator
from services import changes
from services.changes import Written
from warehouse.changes import feed, webhooks
from warehouse.changes.feed import BEGINNING
from warehouse.operate.sessions import Connection

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
    **operation(
        "Changes behind a cursor",
        answers={200: ChangeListResponse},
        errors=READ_ERRORS,
    ),
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
        page = feed.changes_of(await read_page(request, presented, feed.page(place, limit, from_now=from_now)))
        if page is None:
            raise changes.unknown_cursor()
        return json_of(page)
    write = Write.by_key(request, await admit(request, presented, "read"))

    def read_with_records() -> Response:
        with write.service.writes.company(write.actor.company_id) as conn:
            most = min(limit, MAX_PAGE)
            return json_of(changes.page_with_records(conn, write.actor, place, most, write.service.rulesets))

    return in_language(await run_in_threadpool(read_with_records), write.actor.lang)


webhooks_router = APIRouter(prefix=f"{V1}/webhooks", tags=["Changes"])

_OF_ONE: Final = (*CHANGE_ERRORS, "not_found")


@webhooks_router.get(
    "",
    **operation(
        "List webhooks",
        answers={200: WebhookListResponse},
        errors=READ_ERRORS,
    ),
)
async def list_webhooks(request: Request, presented: Presented, limit: Limit = 50, offset: Offset = 0) -> Response:
    """A page of webhooks, newest first, each with how sending goes."""
    return await answer_page(request, presented, webhooks.page(limit, offset))


@webhooks_router.get(
    "/{id}",
    **operation(
        "Read a webhook",
        answers={200: WebhookResponse},
        errors=(*READ_ERRORS, "not_found"),
    ),
)
async def get_webhook(request: Request, presented: Presented, webhook_id: RecordId) -> Response:
    """The webhook with how sending goes."""
    webhook = require(await read_record(request, presented, webhooks.DETAIL, {"id": webhook_id}))
    return json_of({"data": webhook})


@webhooks_router.get(
    "/{id}/deliveries",
    **operation(
        "List what was sent to a webhook",
        answers={200: WebhookDeliveryListResponse},
        errors=(*READ_ERRORS, "not_found"),
    ),
)
async def list_deliveries(
    request: Request, presented: Presented, webhook_id: RecordId, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """A page of what was sent or waits, the newest change first; what ended is kept for 30 days."""
    page = await read_page(request, presented, webhooks.page_of_deliveries(webhook_id, limit, offset))
    return json_of(webhooks.deliveries_of(page))


@webhooks_router.post(
    "",
    **operation(
        "Add a webhook",
        body=body_of(WebhookInput),
        answers={200: WebhookWriteResult, 201: WebhookWriteResult},
        errors=CHANGE_ERRORS,
    ),
)
def post_webhook(received: JsonWrite, dry_run: DryRun) -> Response:
    """Sends all later changes to an address, signed with the `secret` of this answer (Standard Webhooks).

    Each change is a POST with the header `webhook-id`, which is the same when it is sent again. Answer 2xx within ten
    seconds. Changes of one SKU come in their order. A company has at most ten webhooks.
    """
    write, body = received.admitted()
    sender = Sender.from_settings(write.service.settings)

    def add(conn: Connection) -> Written:
        return changes.add(conn, write.actor, sender, parse_body(WebhookInput, body), dry_run=dry_run)

    return _answer(write, body, add, dry_run=dry_run, status=200 if dry_run else 201)


@webhooks_router.patch(
    "/{id}",
    **operation(
        "Change, pause or take up a webhook",
        body=body_of(WebhookPatch),
        answers={200: WebhookWriteResult},
        errors=_OF_ONE,
    ),
)
def patch_webhook(received: JsonWrite, webhook_id: RecordId, dry_run: DryRun) -> Response:
    """A field that is left out stays. What came while it was paused or disabled is sent when it is active again."""
    write, body = received.admitted()
    sender = Sender.from_settings(write.service.settings)

    def change(conn: Connection) -> Written:
        return changes.change(conn, write.actor, sender, webhook_id, parse_body(WebhookPatch, body), dry_run=dry_run)

    return _answer(write, body, change, dry_run=dry_run)


@webhooks_router.delete(
    "/{id}",
    **operation(
        "Remove a webhook",
        answers={200: WebhookWriteResult},
        errors=_OF_ONE,
    ),
)
def delete_webhook(request: Request, key: Writer, webhook_id: RecordId, dry_run: DryRun) -> Response:
    """Removes the webhook with its secret. What waits to be sent is dropped."""
    write = Write.by_key(request, key)
    return _answer(
        write, None, lambda conn: changes.remove(conn, write.actor, webhook_id, dry_run=dry_run), dry_run=dry_run
    )


@webhooks_router.post(
    "/{id}/roll-secret",
    **operation(
        "Give a webhook another secret",
        body=body_of(WebhookSecretInput),
        answers={200: WebhookWriteResult},
        errors=_OF_ONE,
    ),
)
def post_roll_secret(received: JsonWrite, webhook_id: RecordId, dry_run: DryRun) -> Response:
    """The new `secret` signs from now on, and the one before beside it for `overlap_hours`, 24 where it is left out."""
    write, body = received.admitted()
    sender = Sender.from_settings(write.service.settings)

    def roll(conn: Connection) -> Written:
        sent = parse_body(WebhookSecretInput, body)
        return changes.roll_secret(conn, write.actor, sender, webhook_id, sent, dry_run=dry_run)

    return _answer(write, body, roll, dry_run=dry_run)


@webhooks_router.post(
    "/{id}/replay",
    **operation(
        "Send changes to a webhook again",
        body=body_of(WebhookReplayInput),
        answers={200: WebhookWriteResult},
        errors=_OF_ONE,
    ),
)
def post_replay(received: JsonWrite, webhook_id: RecordId, dry_run: DryRun) -> Response:
    """Sends every change behind a cursor of `GET /changes` again, under the ids that they had.

    `waiting` says how many changes that is, in a dry run, too. `outcome` is `unchanged` where the webhook has not come
    to that cursor yet.
    """
    write, body = received.admitted()

    def replay(conn: Connection) -> Written:
        after = parse_body(WebhookReplayInput, body).after
        return changes.replay(conn, write.actor, webhook_id, after, dry_run=dry_run)

    return _answer(write, body, replay, dry_run=dry_run)


@webhooks_router.post(
    "/{id}/test",
    **operation(
        "Try a webhook",
        answers={200: WebhookTestResult},
        errors=(*READ_ERRORS, "not_found"),
    ),
)
async def post_test(request: Request, key: Writer, webhook_id: RecordId) -> Response:
    """Sends a message of the type `webhook.test` at once and says what came of it.

    Nothing is stored, so that each request sends one, also with the Idempotency-Key of another.
    """
    idempotency_key(request)  # refused where it is none, as in every write
    service = service_of(request)
    sender = Sender.from_settings(service.settings)
    outcome = await changes.send_test(service.writes, key.company_id, webhook_id, sender, service.clock.now())
    return json_of({"delivered": outcome.fault is None, **outcome._asdict()})


def _answer(
    write: Write, body: Json, operation: Callable[[Connection], Written], *, dry_run: bool, status: int = 200
) -> Response:
    def render(written: Written) -> JsonAnswer:
        result = {"outcome": written.outcome, "dry_run": dry_run, "data": written.webhook, "secret": written.secret}
        return json_of(result, status)

    return write.answer_with_secret(fingerprint(body), operation, render, ["secret"], dry_run=dry_run)
