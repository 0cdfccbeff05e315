"""Webhooks: where the company's changes are sent; how sending goes; again from a cursor."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, TypeVar  # Any: a message, as `services.changes` prepares it
from uuid import UUID

import orjson
from fastapi import APIRouter
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import in_language, json_of, json_text
from api.http.auth import Presented, Writer, read
from api.http.parameters import DryRun, Limit, Offset, RecordId, idempotency_key
from api.http.requests import fingerprint
from api.http.service import Service, service_of
from api.http.writing import JsonWrite, Write
from api.openapi.document import READ_ERRORS, V1, WRITE_ERRORS, body_of, operation
from pipelines.changes import Outcome, Sender
from schemas.changes import (
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
from schemas.json_values import Json, JsonObject
from schemas.refusals import NotThere
from schemas.skus.inputs import parse_body
from services import changes
from services.changes import Act
from warehouse.changes import webhooks as webhooks_changes
from warehouse.operate.sessions import Connection

router = APIRouter(prefix=f"{V1}/webhooks", tags=["Changes"])

Sent = TypeVar("Sent", bound=BaseModel)
_ERRORS: Final = tuple(code for code in WRITE_ERRORS if code != "plan_limit_reached")
_OF_ONE: Final = (*_ERRORS, "not_found")


@router.get("", **operation("List webhooks", answers={200: WebhookListResponse}, errors=READ_ERRORS, preview=True))
async def list_webhooks(request: Request, presented: Presented, limit: Limit = 50, offset: Offset = 0) -> Response:
    """A page of webhooks, newest first, each with how sending goes."""
    (page,) = await read(request, presented, webhooks_changes.page(limit, offset), {})
    return json_text(page)


@router.get(
    "/{id}",
    **operation("Read a webhook", answers={200: WebhookResponse}, errors=(*READ_ERRORS, "not_found"), preview=True),
)
async def get_webhook(request: Request, presented: Presented, webhook_id: RecordId) -> Response:
    """The webhook with how sending goes."""
    (found,) = await read(request, presented, webhooks_changes.DETAIL, {"id": webhook_id})
    if found is None:
        raise NotThere
    return json_text(f'{{"data":{found}}}')


@router.get(
    "/{id}/deliveries",
    **operation(
        "List what was sent to a webhook",
        answers={200: WebhookDeliveryListResponse},
        errors=(*READ_ERRORS, "not_found"),
        preview=True,
    ),
)
async def list_deliveries(
    request: Request, presented: Presented, webhook_id: RecordId, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """A page of what was sent or waits, the newest change first; what ended is kept for 30 days."""
    (page,) = await read(request, presented, webhooks_changes.page_of_deliveries(limit, offset), {"id": webhook_id})
    if page is None:
        raise NotThere
    return json_text(page)


@router.post(
    "",
    **operation(
        "Add a webhook",
        body=body_of(WebhookInput),
        answers={200: WebhookWriteResult, 201: WebhookWriteResult},
        errors=_ERRORS,
        preview=True,
    ),
)
def post_webhook(received: JsonWrite, dry_run: DryRun) -> Response:
    """Sends all later changes to an address, signed with the `secret` of this answer (Standard Webhooks).

    Each change is a POST with the header `webhook-id`, which is the same when it is sent again. Answer 2xx within ten
    seconds. Changes of one SKU come in their order. A company has at most ten webhooks.
    """
    return add_webhook(*received.admitted(), dry_run=dry_run)


def add_webhook(write: Write, body: Json, *, dry_run: bool = False) -> Response:
    """Add the webhook of a body; the page of webhooks does it by this function too, as with those below."""
    secret: JsonObject = {}

    def work(act: Act) -> JsonObject:
        made = changes.add(act, parse_body(WebhookInput, body))
        secret["secret"] = None if made is None else made.secret
        return {"outcome": "created", **_shown(act, made and made.id)}

    return _answer(write, body, work, secret, dry_run=dry_run, status=200 if dry_run else 201)


@router.patch(
    "/{id}",
    **operation(
        "Change, pause or take up a webhook",
        body=body_of(WebhookPatch),
        answers={200: WebhookWriteResult},
        errors=_OF_ONE,
        preview=True,
    ),
)
def patch_webhook(received: JsonWrite, webhook_id: RecordId, dry_run: DryRun) -> Response:
    """A field that is left out stays. What came while it was paused or disabled is sent when it is active again."""
    write, body = received.admitted()
    return change_webhook(write, webhook_id, body, dry_run=dry_run)


def change_webhook(write: Write, webhook_id: UUID, body: Json, *, dry_run: bool = False) -> Response:
    """Change a webhook as a body says."""

    def work(act: Act) -> JsonObject:
        changed = changes.change(act, webhook_id, parse_body(WebhookPatch, body))
        return {"outcome": "updated" if changed else "unchanged", **_shown(act, webhook_id)}

    return _answer(write, body, work, dry_run=dry_run)


@router.delete(
    "/{id}",
    **operation("Remove a webhook", answers={200: WebhookWriteResult}, errors=_OF_ONE, preview=True),
)
def delete_webhook(request: Request, key: Writer, webhook_id: RecordId, dry_run: DryRun) -> Response:
    """Removes the webhook with its secret. What waits to be sent is dropped."""
    return remove_webhook(Write.by_key(request, key), webhook_id, dry_run=dry_run)


def remove_webhook(write: Write, webhook_id: UUID, *, dry_run: bool = False) -> Response:
    """Remove a webhook."""

    def work(act: Act) -> JsonObject:
        changes.remove(act, webhook_id)
        return {"outcome": "updated", **_shown(act, webhook_id)}

    return _answer(write, None, work, dry_run=dry_run)


@router.post(
    "/{id}/roll-secret",
    **operation(
        "Give a webhook another secret",
        body=body_of(WebhookSecretInput),
        answers={200: WebhookWriteResult},
        errors=_OF_ONE,
        preview=True,
    ),
)
def post_roll_secret(received: JsonWrite, webhook_id: RecordId, dry_run: DryRun) -> Response:
    """The new `secret` signs from now on, and the one before beside it for `overlap_hours`, 24 where it is left out."""
    write, body = received.admitted()
    return roll_secret(write, webhook_id, body, dry_run=dry_run)


def roll_secret(write: Write, webhook_id: UUID, body: Json, *, dry_run: bool = False) -> Response:
    """Give a webhook another secret, which is in the answer."""
    secret: JsonObject = {}

    def work(act: Act) -> JsonObject:
        overlap = timedelta(hours=parse_body(WebhookSecretInput, body).overlap_hours)
        secret["secret"] = changes.roll_secret(act, webhook_id, overlap)
        return {"outcome": "updated", **_shown(act, webhook_id)}

    return _answer(write, body, work, secret, dry_run=dry_run)


@router.post(
    "/{id}/replay",
    **operation(
        "Send changes to a webhook again",
        body=body_of(WebhookReplayInput),
        answers={200: WebhookWriteResult},
        errors=_OF_ONE,
        preview=True,
    ),
)
def post_replay(received: JsonWrite, webhook_id: RecordId, dry_run: DryRun) -> Response:
    """Sends every change behind a cursor of `GET /changes` again, under the ids that they had.

    `outcome` is `unchanged` where the webhook has not come to that cursor yet.
    """
    write, body = received.admitted()

    def work(act: Act) -> JsonObject:
        replayed = changes.replay(act, webhook_id, parse_body(WebhookReplayInput, body).after)
        return {"outcome": "updated" if replayed else "unchanged", **_shown(act, webhook_id)}

    return _answer(write, body, work, dry_run=dry_run)


@router.post(
    "/{id}/test",
    **operation(
        "Try a webhook",
        answers={200: WebhookTestResult},
        errors=(*READ_ERRORS, "not_found"),
        preview=True,
    ),
)
async def post_test(request: Request, key: Writer, webhook_id: RecordId) -> Response:
    """Sends a message of the type `webhook.test` at once and says what came of it.

    Nothing is stored, so that each request sends one, also with the Idempotency-Key of another.
    """
    idempotency_key(request)  # refused where it is none, as in every write
    outcome = await try_webhook(service_of(request), key.company_id, webhook_id)
    return json_of({"delivered": outcome.fault is None, **outcome._asdict()})


async def try_webhook(service: Service, company_id: UUID, webhook_id: UUID) -> Outcome:
    """Send a message of the type `webhook.test`, and return what came of it. Raise `NotThere`."""
    now, sender = service.clock.now(), Sender.of(service.settings)
    shown = now.isoformat().replace("+00:00", "Z")
    text = orjson.dumps({"type": "webhook.test", "timestamp": shown, "data": {"webhook_id": webhook_id}}).decode()

    def prepared() -> Any:
        with service.writes.company(company_id) as conn:
            return changes.test_message(conn, webhook_id, sender, now, text)

    return await sender.send(await run_in_threadpool(prepared), now)


def _answer(
    write: Write,
    body: Json,
    work: Callable[[Act], JsonObject],
    secret: JsonObject | None = None,
    *,
    dry_run: bool,
    status: int = 200,
) -> Response:
    """Return the answer to a write; `secret` is in what is sent, and not in what is stored for a repeat."""
    sender = Sender.of(write.service.settings)

    def once(conn: Connection) -> JsonObject:
        return work(Act(conn, write.actor.company_id, write.actor.origin, write.actor.now, sender, dry_run)) | {
            "secret": None
        }

    response = write.answer(fingerprint(body), once, lambda shown: json_of(shown, status), dry_run=dry_run)
    if not secret or "Idempotent-Replayed" in response.headers:
        return response
    return in_language(json_of(json.loads(bytes(response.body)) | secret, response.status_code), write.actor.lang)


def _shown(act: Act, webhook_id: UUID | None) -> JsonObject:
    found = None if webhook_id is None else webhooks_changes.detail(act.conn, webhook_id)
    return {"dry_run": act.dry_run, "data": None if found is None else json.loads(found)}
