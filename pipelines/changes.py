"""Sends what a company's webhooks are due, each in rounds of its own: take, send side by side, record.

An attempt is recorded after its answer, so that a process that dies between the two sends it again under the same id. A
run ends after some seconds even where more waits, so that no company keeps a worker from the others.
"""

import asyncio
import secrets
import ssl
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple, Self
from urllib.parse import SplitResult, urlsplit
from uuid import UUID, uuid4

import anyio
import httpx2
import orjson
import structlog
from standardwebhooks import Webhook

from pipelines.operate import Proceed
from pipelines.public_hosts import Address, Unreachable, is_public, place_of, resolved
from schemas.actors import Actor, Origin
from schemas.changes import Change
from schemas.json_values import JsonMapping
from warehouse.audit import ledger
from warehouse.changes import feed, webhooks
from warehouse.changes.webhooks import MOST_WAITING, Delivery, Hook, New
from warehouse.operate import keys
from warehouse.operate.clock import Clock
from warehouse.operate.keys import WEBHOOKS, Seal
from warehouse.operate.sessions import Connection, Pool
from warehouse.operate.settings import Settings

_BYTES: Final = 32
_PREFIX: Final = "whsec_"


def seal_of(settings: Settings) -> Seal:
    """Return the seal of the deployment's webhooks. Raise `Refused` where this program was not given the key."""
    return Seal(keys.every(settings), WEBHOOKS)


def new_secret() -> bytes:
    """Return a new secret."""
    return secrets.token_bytes(_BYTES)


def secret_text(secret: bytes) -> str:
    """Return a secret as receivers' libraries take it."""
    return _PREFIX + b64encode(secret).decode()


def bound_to(webhook_id: UUID) -> bytes:
    """Return what a webhook's secrets are sealed for."""
    return webhook_id.bytes


def signing_secrets(seal: Seal, hook: Hook, now: datetime) -> tuple[bytes, ...]:
    """Return the secrets that sign now, the newest first: none where they were sealed with a key that is lost."""
    sealed = [hook.secret]
    if hook.old_secret is not None and hook.old_secret_until is not None and now < hook.old_secret_until:
        sealed.append(hook.old_secret)
    opened = [seal.unseal(secret, bound_to(hook.id)) for secret in sealed]
    return tuple(secret for secret in opened if secret is not None)


ANSWER_SECONDS: Final = 10.0
"""How long the receiver may take, from its name's resolution to the answer's status."""
_PORTS: Final = {"https": 443, "http": 80}
GONE: Final = 410


class Notice(NamedTuple):
    """What is sent: `id` is the same at every attempt, and each of the secrets signs."""

    url: str
    id: str
    body: str
    secrets: tuple[bytes, ...]


class Outcome(NamedTuple):
    """What came of an attempt: the answer's status, and why it counts as failed."""

    status: int | None
    fault: str | None


class Sender:
    """Sends messages for a deployment."""

    def __init__(self, seal: Seal, *, to_loopback: bool = False, trust: ssl.SSLContext | None = None) -> None:
        """`trust` are the certificates to trust, else those of the system."""
        self.seal, self.to_loopback, self._trust = seal, to_loopback, trust or ssl.create_default_context()

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Return the sender of the settings."""
        return cls(seal_of(settings), to_loopback=settings.webhooks_to_loopback)

    def may_reach(self, address: Address) -> bool:
        """Return whether messages may go to an address."""
        return is_public(address) or (self.to_loopback and address.is_loopback)

    async def send(self, message: Notice, now: datetime) -> Outcome:
        """Send a message once; never raise for what the other side does."""
        url = urlsplit(message.url)
        try:
            with anyio.fail_after(ANSWER_SECONDS):
                port = url.port or _PORTS[url.scheme]
                address = await resolved(url.hostname or "", port, self.may_reach)
                status = await self._post(url, address, port, message, now)
        except Unreachable:
            return Outcome(None, "no_public_address")
        except (TimeoutError, httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError):
            return Outcome(None, "no_answer")  # it took the connection
        except (OSError, UnicodeError, ValueError, httpx2.HTTPError, httpx2.InvalidURL):
            return Outcome(None, "no_connection")
        return Outcome(status, None if 200 <= status < 300 else "not_taken")

    async def _post(self, url: SplitResult, address: Address, port: int, message: Notice, now: datetime) -> int:
        target = f"{url.scheme}://{place_of(address)}:{port}{url.path or '/'}" + (f"?{url.query}" if url.query else "")
        headers = {"Host": url.netloc, "Content-Type": "application/json", **signed(message, now)}
        extensions = {"sni_hostname": url.hostname} if url.scheme == "https" else {}
        async with (
            httpx2.AsyncClient(verify=self._trust, trust_env=False, follow_redirects=False, timeout=None) as client,
            client.stream("POST", target, content=message.body, headers=headers, extensions=extensions) as answer,
        ):
            return answer.status_code


def signed(message: Notice, now: datetime) -> dict[str, str]:
    """Return the headers that identify and sign a message."""
    signatures = [Webhook(secret).sign(message.id, now, message.body) for secret in message.secrets]
    return {
        "webhook-id": message.id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
        "User-Agent": "pcds-webhooks/1",
    }


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
_LOOK_SECONDS: Final = 1.0
"""How long what becomes due waits at most while a slow receiver is waited for."""
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
    with pool.turn(webhooks.turn_of(company_id)) as is_ours:
        if not is_ours:
            raise TurnTaken
        with pool.company(company_id) as conn:
            sender.seal.check(conn)
        return asyncio.run(_rounds(pool, company_id, sender, clock, proceed))


async def _rounds(pool: Pool, company_id: UUID, sender: Sender, clock: Clock, proceed: Proceed) -> Counter[str]:
    """Send what is due; a receiver that is slow keeps its own webhook waiting, and no other."""
    outcomes, sending = Counter[str](), dict[asyncio.Task[list[Outcome]], list[Attempt]]()

    def record(ended: Iterable[asyncio.Task[list[Outcome]]]) -> None:
        for task in ended:
            with pool.company(company_id) as conn:
                outcomes.update(_record(conn, company_id, sending.pop(task), task.result(), clock.now()))

    until = time.monotonic() + RUN_SECONDS
    try:
        while time.monotonic() < until:
            proceed()
            busy = {attempts[0].hook.id for attempts in sending.values()}
            with pool.company(company_id) as conn:
                taken = _take(conn, company_id, sender, clock.now(), busy)
            sending |= {asyncio.create_task(_send_all(sender, round_of, clock.now())): round_of for round_of in taken}
            if not sending:
                break
            record((await asyncio.wait(sending, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED))[0])
    finally:  # what was sent is recorded, so that it is not sent again
        if sending:
            record((await asyncio.wait(sending))[0])
    return outcomes


def _take(
    conn: Connection, company_id: UUID, sender: Sender, now: datetime, busy: Container[UUID]
) -> list[list[Attempt]]:
    """Put new changes among the deliveries, and return those that are to be sent now, of each webhook but the `busy`.

    A receiver that took nothing last is sent one message, until it takes one.
    """
    rounds, unsigned = list[list[Attempt]](), list[Hook]()
    for hook in webhooks.due(conn, now):
        if hook.id in busy:
            continue
        _enqueue(conn, company_id, hook, now)
        opened = signing_secrets(sender.seal, hook, now)
        if not opened:  # sealed with a key that the deployment has no more: nothing can be signed
            unsigned.append(hook)
            continue
        first = webhooks.first(conn, hook.id, now, limit=1 if hook.failures else AT_ONCE)
        if first:
            rounds += [[Attempt(hook, each, Notice(hook.url, each.change_id, each.body, opened)) for each in first]]
    for hook in unsigned:
        _disable(conn, company_id, hook, "restored", now)
    return rounds


def _enqueue(conn: Connection, company_id: UUID, hook: Hook, now: datetime) -> None:
    room = MOST_WAITING - webhooks.waiting(conn, hook.id)
    if room <= 0:
        return
    page = feed.behind(conn, hook.position, min(room, _ENQUEUED_AT_ONCE), hook.types)
    behind = feed.read_cursor(page["next_cursor"])
    assert behind is not None, "the feed gives cursors"
    if behind.number == hook.position:
        return
    webhooks.add_deliveries(conn, company_id, hook.id, [_new(change) for change in page["data"]], at=now)
    webhooks.forget(conn, hook.id, before=now - timedelta(days=webhooks.KEPT_DAYS))
    webhooks.change(conn, hook.id, {"position": behind.number})


def body_of(message: JsonMapping) -> str:
    """Return the body of a message."""
    return orjson.dumps(message, option=orjson.OPT_UTC_Z).decode()


def _new(change: Change) -> New:
    place = feed.read_cursor(change["cursor"])
    assert place is not None, "the feed gives cursors"
    key = str(change["sku_id"] or f"{change['resource_type']}/{change['resource_id']}")
    body = body_of({"type": change["type"], "timestamp": change["at"], "data": change})
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
    """Record what came of each attempt of a webhook's round, and whether anything was taken."""
    pairs = zip(round_of, results, strict=True)
    outcomes = Counter(_record_one(conn, attempt.delivery, result, now) for attempt, result in pairs)
    hook = round_of[0].hook
    if reason := _record_hook(conn, hook, results, now):  # last, as the ledger's lock comes after every webhook's
        _disable(conn, company_id, hook, reason, now)
    return outcomes


def _record_one(conn: Connection, delivery: Delivery, result: Outcome, now: datetime) -> str:
    if result.fault is None:
        webhooks.end(conn, delivery.id, "delivered", status=result.status, fault=None, at=now)
        return "delivered"
    if result.status is not None and delivery.tries >= len(TRIES_AFTER):
        webhooks.end(conn, delivery.id, "failed", status=result.status, fault=result.fault, at=now)
        return "failed"
    due_at = now + TRIES_AFTER[min(delivery.tries, len(TRIES_AFTER) - 1)]
    if result.status is None:  # the receiver is away, whatever it is sent: the webhook waits, not this delivery
        due_at = now
    webhooks.try_later(conn, delivery.id, status=result.status, fault=result.fault, due_at=due_at)
    return "tried"


def _record_hook(conn: Connection, hook: Hook, outcomes: Sequence[Outcome], now: datetime) -> str | None:
    """Record whether a webhook's receiver took anything; return the reason for which it is to be disabled."""
    fault = next((result.fault for result in outcomes if result.fault is not None), None)
    if any(result.status == GONE for result in outcomes):
        return "gone"
    if any(result.fault is None for result in outcomes):
        reset = {"failures": 0, "failing_since": None, "next_at": None}
        webhooks.change(conn, hook.id, {**reset, "fault": fault, "delivered_at": now}, is_active=True)
        return None
    assert fault is not None, "nothing was taken"
    log.warning("webhook.not_taken", webhook_id=str(hook.id), fault=fault)
    pause = min(TRIES_AFTER[min(hook.failures, len(TRIES_AFTER) - 1)], _LONGEST_PAUSE)
    webhooks.failed(conn, hook.id, fault=fault, next_at=now + pause, at=now)
    is_over = hook.failing_since is not None and now - hook.failing_since >= GIVE_UP_AFTER
    return "not_delivered" if is_over else None


def _disable(conn: Connection, company_id: UUID, hook: Hook, reason: str, now: datetime) -> None:
    after = {"state": "disabled", "disabled_reason": reason}
    if webhooks.change(conn, hook.id, {**after, "updated_at": now}, is_active=True):
        origin = Origin("system", None, "webhooks", correlation_id=str(uuid4()))
        before = {"state": "active", "disabled_reason": None}
        ledger.enter(conn, Actor(company_id, origin, now), "webhook.disabled", hook.id, before=before, after=after)
