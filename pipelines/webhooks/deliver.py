"""Sends what a company's webhooks are due, in rounds: take, send side by side, record.

An attempt is recorded after its answer, so that a process that dies between the two sends it again under the same id. A
run ends after some seconds even where more waits, so that no company keeps a worker from the others.
"""

import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID, uuid4

import anyio
import orjson
import structlog

from pipelines.housekeeping import Proceed
from pipelines.webhooks import secrets
from pipelines.webhooks.sender import GONE, Notice, Outcome, Sender
from schemas.json_values import JsonObject
from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.changes import cursors, feed
from warehouse.clock import Clock
from warehouse.sessions import Connection, Pool
from warehouse.webhooks import deliveries, hooks
from warehouse.webhooks.deliveries import MOST_WAITING, Delivery, New
from warehouse.webhooks.hooks import Hook

TRIES_AFTER: Final = (
    *(timedelta(seconds=seconds) for seconds in (5, 30)),
    *(timedelta(minutes=minutes) for minutes in (2, 10, 30)),
    *(timedelta(hours=hours) for hours in (1, 3, 6, 12, 24, 24)),
)
"""How long after each failed attempt of a delivery the next one is; after the last it has failed."""
_LONGEST_PAUSE: Final = timedelta(hours=1)
"""How long at most a receiver that takes nothing is left alone: it is tried again soon after it came back."""
GIVE_UP_AFTER: Final = timedelta(days=2)
"""How long a receiver may take nothing until its webhook is disabled; shorter than the attempts of a delivery."""
AT_ONCE: Final = 16
"""Messages that a webhook is sent side by side, each of another key."""
RUN_SECONDS: Final = 20.0
_ENQUEUED_AT_ONCE: Final = 500

log = structlog.get_logger(__name__)


class TurnTaken(Exception):  # noqa: N818  (the run is to be asked for again)
    """Another run sends for this company."""


class Attempt(NamedTuple):
    """A delivery that is sent in a round."""

    hook: Hook
    delivery: Delivery
    message: Notice


def deliver_due(pool: Pool, company_id: UUID, sender: Sender, clock: Clock, proceed: Proceed) -> Counter[str]:
    """Send what is due; return how many attempts had which outcome: delivered, tried, failed. Raise `TurnTaken`.

    Raise `Refused` where this process has another key than the deployment: what is due waits for a process that has it.
    """
    outcomes: Counter[str] = Counter()
    until = time.monotonic() + RUN_SECONDS
    with pool.company(company_id) as turn:
        if not deliveries.take_turn(turn, company_id):
            raise TurnTaken
        sender.seal.check(turn)
        while time.monotonic() < until:
            proceed()
            with pool.company(company_id) as conn:
                round_of = _take(conn, company_id, sender, clock.now())
            if not round_of:
                break
            results = anyio.run(_send_all, sender, round_of, clock.now())
            with pool.company(company_id) as conn:
                outcomes += _record(conn, company_id, round_of, results, clock.now())
    return outcomes


def _take(conn: Connection, company_id: UUID, sender: Sender, now: datetime) -> list[Attempt]:
    """Put new changes among the deliveries, and return those that are to be sent now.

    A receiver that took nothing last is sent one message, until it takes one.
    """
    found, unsigned = list[Attempt](), list[Hook]()
    for hook in hooks.due(conn, now):
        _enqueue(conn, company_id, hook, now)
        opened = secrets.of(sender.seal, hook, now)
        if not opened:  # sealed with a key that the deployment has no more: nothing can be signed
            unsigned.append(hook)
            continue
        first = deliveries.first(conn, hook.id, now, limit=1 if hook.failures else AT_ONCE)
        found += [Attempt(hook, each, Notice(hook.url, each.change_id, each.body, opened)) for each in first]
    for hook in unsigned:
        _disable(conn, company_id, hook, "restored", now)
    return found


def _enqueue(conn: Connection, company_id: UUID, hook: Hook, now: datetime) -> None:
    room = MOST_WAITING - deliveries.waiting(conn, hook.id)
    if room <= 0:
        return
    page = feed.behind(conn, hook.position, min(room, _ENQUEUED_AT_ONCE), hook.types)
    behind = cursors.read(page["next_cursor"])
    assert behind is not None, "the feed gives cursors"
    if behind.number == hook.position:
        return
    deliveries.add(conn, company_id, hook.id, [_new(change) for change in page["data"]], at=now)
    deliveries.forget(conn, hook.id, before=now - timedelta(days=deliveries.KEPT_DAYS))
    hooks.move(conn, hook.id, behind.number)


def _new(change: JsonObject) -> New:
    place = cursors.read(change["cursor"])
    assert place is not None, "the feed gives cursors"
    body = orjson.dumps({"type": change["type"], "timestamp": change["at"], "data": change}).decode()
    key = change["sku_id"] or f"{change['resource_type']}/{change['resource_id']}"
    return New(place.number, change["id"], change["type"], key, change["sku_code"], body)


async def _send_all(sender: Sender, round_of: Sequence[Attempt], now: datetime) -> list[Outcome]:
    results: list[Outcome] = [Outcome(None, "no_connection")] * len(round_of)

    async def send(at: int) -> None:
        results[at] = await sender.send(round_of[at].message, now)

    async with anyio.create_task_group() as tasks:
        for at in range(len(round_of)):
            tasks.start_soon(send, at)
    return results


def _record(
    conn: Connection, company_id: UUID, round_of: Sequence[Attempt], results: Sequence[Outcome], now: datetime
) -> Counter[str]:
    """Record what came of each attempt, and for each webhook whether anything was taken."""
    outcomes: Counter[str] = Counter()
    of_hooks: dict[UUID, tuple[Hook, list[Outcome]]] = {}
    for attempt, result in zip(round_of, results, strict=True):
        outcomes[_record_one(conn, attempt.delivery, result, now)] += 1
        of_hooks.setdefault(attempt.hook.id, (attempt.hook, []))[1].append(result)
    given_up = [(hook, reason) for hook, found in of_hooks.values() if (reason := _record_hook(conn, hook, found, now))]
    for hook, reason in given_up:  # last, as the ledger's lock comes after every webhook's
        _disable(conn, company_id, hook, reason, now)
    return outcomes


def _record_one(conn: Connection, delivery: Delivery, result: Outcome, now: datetime) -> str:
    if result.fault is None:
        deliveries.end(conn, delivery.id, "delivered", status=result.status, fault=None, at=now)
        return "delivered"
    if result.status is not None and delivery.tries >= len(TRIES_AFTER):
        deliveries.end(conn, delivery.id, "failed", status=result.status, fault=result.fault, at=now)
        return "failed"
    due_at = now + TRIES_AFTER[min(delivery.tries, len(TRIES_AFTER) - 1)]
    if result.status is None:  # the receiver is away, whatever it is sent: the webhook waits, not this delivery
        due_at = now
    deliveries.try_later(conn, delivery.id, status=result.status, fault=result.fault, due_at=due_at)
    return "tried"


def _record_hook(conn: Connection, hook: Hook, found: Sequence[Outcome], now: datetime) -> str | None:
    """Record whether a webhook's receiver took anything; return the reason for which it is to be disabled."""
    fault = next((result.fault for result in found if result.fault is not None), None)
    if any(result.status == GONE for result in found):
        return "gone"
    if any(result.fault is None for result in found):
        hooks.taken(conn, hook.id, fault=fault, at=now)
        return None
    assert fault is not None, "nothing was taken"
    log.warning("webhook.not_taken", webhook_id=str(hook.id), fault=fault)
    pause = min(TRIES_AFTER[min(hook.failures, len(TRIES_AFTER) - 1)], _LONGEST_PAUSE)
    hooks.failed(conn, hook.id, fault=fault, next_at=now + pause, at=now)
    is_over = hook.failing_since is not None and now - hook.failing_since >= GIVE_UP_AFTER
    return "not_delivered" if is_over else None


def _disable(conn: Connection, company_id: UUID, hook: Hook, reason: str, now: datetime) -> None:
    if hooks.disable(conn, hook.id, reason=reason, at=now):
        origin = Origin("system", None, "webhooks", correlation_id=str(uuid4()))
        after = {"state": "disabled", "disabled_reason": reason}
        before = {"state": "active", "disabled_reason": None}
        ledger.enter(conn, company_id, "webhook.disabled", hook.id, origin=origin, now=now, before=before, after=after)
