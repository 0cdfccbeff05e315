"""GET /me: who asks, and what they may. POST /sandbox/reset: empties the sandbox of a test key (decision 0064)."""

from dataclasses import replace
from importlib.metadata import version
from typing import Final

from fastapi import APIRouter
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import json_of
from api.http.auth import Reader, Writer
from api.http.errors import Forbidden
from api.http.parameters import DryRun
from api.http.requests import fingerprint
from api.http.service import service_of
from api.http.writing import Write
from api.openapi.document import READ_ERRORS, V1, operation
from schemas.companies import MeResponse, SandboxResetResult
from schemas.json_values import JsonObject
from schemas.messages import Message
from services import companies
from services.exports import MOST_OPEN
from warehouse.accounts.keys import Key
from warehouse.changes.webhooks import MOST
from warehouse.companies import queries
from warehouse.companies import sandboxes as stored
from warehouse.operate.sessions import owner_transaction

me_router = APIRouter(prefix=f"{V1}/me", tags=["Access"])


@me_router.get("", **operation("Who asks, and what they may", answers={200: MeResponse}, errors=READ_ERRORS))
async def get_me(request: Request, key: Reader) -> Response:
    """The company with its plan, the credential with its scopes, each limit with what is used of it, and versions."""
    return await run_in_threadpool(_me, request, key)


def _me(request: Request, key: Key) -> Response:
    with service_of(request).writes.company(key.company_id) as conn:
        used, rate = queries.used(conn, key.company_id), request.state.rate
    limits = {
        "requests_per_minute": {"limit": rate.quota, "used": rate.quota - rate.remaining},
        "skus": {"limit": used.sku_limit, "used": used.skus},
        "storage_bytes": {"limit": used.storage_limit, "used": used.stored},
        "open_exports": {"limit": MOST_OPEN, "used": used.open_exports},
        "webhooks": {"limit": MOST, "used": used.webhooks},
        "audit_log": used.audit_log,
    }
    data = {
        "company": {"id": used.id, "name": used.name, "plan": used.plan, "is_sandbox": used.is_sandbox},
        "credential": {"client_id": key.client_id, "name": key.name, "scopes": key.scopes},
        "limits": limits,
        "interface_version": request.app.version,
        "build": version("packaging-compliance-data-service"),
    }
    return json_of({"data": data})


router = APIRouter(prefix=f"{V1}/sandbox", tags=["Access"])

_ONLY_TEST_KEYS: Final = Message("Only a test key, which begins with svc_test_, can reset its sandbox.")


@router.post(
    "/reset",
    **operation(
        "Empty the sandbox",
        answers={200: SandboxResetResult},
        errors=(*READ_ERRORS, "insufficient_scope", "idempotency_key_reuse"),
        preview=True,
    ),
)
async def post_reset(request: Request, key: Writer, dry_run: DryRun) -> Response:
    """Empties the company of a test key: no SKU, file, import, webhook, word, link or entry of the audit log is left.

    Test keys, their request windows and tokens stay. A cursor of `GET /changes` ends with it: begin again without
    `after`. Any other key is refused, with 403. What was there is erased at once after the answer.
    """
    return await run_in_threadpool(_reset, Write.by_key(request, key), dry_run=dry_run)


def _reset(write: Write, *, dry_run: bool) -> Response:
    service, digest = write.service, fingerprint({})
    with service.writes.company(write.actor.company_id) as conn:
        account, skus = queries.account_of(conn, write.actor.company_id), stored.held(conn, write.actor.company_id)
    if account is None:
        raise Forbidden("write", _ONLY_TEST_KEYS)
    if dry_run:
        return write.answer(digest, lambda _: None, lambda _: _reset_answer(write, skus, dry_run=True), dry_run=True)
    if (answered := write.answered(digest, dry_run=False)) is not None:
        return answered
    with owner_transaction(service.database.owner_url) as owner:
        done = companies.reset(owner, account, write.actor)
        # The answer is kept with the reset, and in the new sandbox, where the key of a repeat leads.
        reached = replace(write, actor=replace(write.actor, company_id=done.sandbox))
        answer = reached.answer_in(owner, digest, lambda: _reset_answer(write, done.skus, dry_run=False))
    answer.background = BackgroundTask(companies.erase_left, service.settings, service.database, write.actor.now)
    return answer


def _reset_answer(write: Write, skus: int, *, dry_run: bool) -> Response:
    data: JsonObject = {"reset_at": write.actor.now.isoformat().replace("+00:00", "Z"), "skus_removed": skus}
    return json_of({"dry_run": dry_run, "data": data})
