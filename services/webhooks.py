"""Adds, changes and removes webhooks, rolls their secrets, and has them send changes again.

Each change of one is in the audit log, never with a secret. What belongs here: their life. What does not: sending
(`pipelines.webhooks`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Any, Final, NamedTuple  # Any: the arguments of a statement
from urllib.parse import urlsplit
from uuid import UUID

from uuid_utils import uuid7

from pipelines.outside import is_public
from pipelines.webhooks import Notice, Sender, secrets
from schemas.issues import Issue
from schemas.messages import Message
from schemas.refusals import NotThere, Refused
from schemas.webhooks import WebhookInput, WebhookPatch
from services import changes
from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.changes import cursors, feed
from warehouse.sessions import Connection
from warehouse.webhooks import deliveries, hooks
from warehouse.webhooks.hooks import MOST, Hook

_CLEARED: Final = ("description", "types")
"""Fields that null clears; null for another one leaves it."""


class Made(NamedTuple):
    """A webhook that was stored, and its secret."""

    id: UUID
    secret: str


@dataclass(frozen=True, slots=True)
class Act:
    """Who changes webhooks of which company, and when."""

    conn: Connection
    company_id: UUID
    origin: Origin
    now: datetime
    sender: Sender
    dry_run: bool

    def enter(
        self, action: str, hook_id: UUID, before: Mapping[str, object] | None, after: Mapping[str, object] | None
    ) -> None:
        """Enter the change in the audit log."""
        ledger.enter(
            self.conn,
            self.company_id,
            action,
            hook_id,
            origin=self.origin,
            now=self.now,
            before=before,
            after=after,
        )


def add(act: Act, sent: WebhookInput) -> Made | None:
    """Store a webhook that is sent the changes from now on; None for a dry run. Raise `Refused`."""
    _check_url(sent.url, act.sender)
    if hooks.count(act.conn, act.company_id) >= MOST:
        sentence = Message("A company has at most {most} webhooks; remove one.", most=MOST)
        raise Refused([Issue("out_of_range", sentence, None)])
    if act.dry_run:
        return None
    hook_id, secret = UUID(str(uuid7())), secrets.new()
    hooks.add(
        act.conn,
        act.company_id,
        hook_id,
        url=sent.url,
        description=sent.description,
        types=sent.types,
        secret=act.sender.seal.seal_to_keep(act.conn, secret, secrets.bound_to(hook_id)),
        position=feed.end(act.conn),
        at=act.now,
    )
    act.enter("webhook.created", hook_id, None, {**sent.model_dump(), "state": "active"})
    return Made(hook_id, secrets.shown(secret))


def change(act: Act, hook_id: UUID, sent: WebhookPatch) -> bool:
    """Change a webhook; return whether that changes anything. Raise `NotThere` and `Refused`."""
    hook = _locked(act, hook_id)
    before: dict[str, Any] = {  # the arguments of `hooks.update`
        "url": hook.url,
        "description": hook.description,
        "types": hook.types,
        "state": hook.state,
    }
    given = {name: getattr(sent, name) for name in sent.model_fields_set}
    after = before | {name: value for name, value in given.items() if name in _CLEARED or value is not None}
    if after == before:
        return False
    _check_url(after["url"], act.sender)
    if not act.dry_run:
        hooks.update(act.conn, hook_id, **after, at=act.now)
        if after["state"] == "active":
            deliveries.try_at_once(act.conn, hook_id, now=act.now)
        changed = [name for name in before if before[name] != after[name]]
        act.enter("webhook.updated", hook_id, {n: before[n] for n in changed}, {n: after[n] for n in changed})
    return True


def remove(act: Act, hook_id: UUID) -> None:
    """Remove a webhook with everything that waits. Raise `NotThere`."""
    hook = _locked(act, hook_id)
    if not act.dry_run:
        deliveries.remove(act.conn, hook_id)
        hooks.remove(act.conn, hook_id, at=act.now)
        act.enter("webhook.removed", hook_id, {"url": hook.url, "state": hook.state}, None)


def roll_secret(act: Act, hook_id: UUID, overlap: timedelta) -> str | None:
    """Give a webhook another secret, and return it; None for a dry run. Raise `NotThere`.

    The one before signs beside it during the overlap.
    """
    _locked(act, hook_id)
    if act.dry_run:
        return None
    secret, until = secrets.new(), act.now + overlap
    sealed = act.sender.seal.seal_to_keep(act.conn, secret, secrets.bound_to(hook_id))
    hooks.roll(act.conn, hook_id, secret=sealed, until=until, at=act.now)
    act.enter("webhook.secret_rolled", hook_id, None, {"old_secret_until": until})
    return secrets.shown(secret)


def replay(act: Act, hook_id: UUID, cursor: str) -> bool:
    """Send the changes behind a cursor again; return whether there are any that were sent or wait.

    Raise `NotThere`, and `Refused` for what is no cursor of the company.
    """
    place = cursors.read(cursor)
    hook = _locked(act, hook_id)
    if place is None:
        sentence = Message("Send a cursor as the service gave it, in `next_cursor` or `cursor`.")
        raise Refused([Issue("invalid_format", sentence, "after")])
    if not feed.is_known(act.conn, place):
        raise changes.unknown_cursor("after")
    if place.number >= hook.position:
        return False
    if not act.dry_run:
        deliveries.take_back(act.conn, hook_id, place.number)
        hooks.place(act.conn, hook_id, place.number, at=act.now)
        act.enter("webhook.replayed", hook_id, None, {"after": cursor})
    return True


def test_message(conn: Connection, hook_id: UUID, sender: Sender, now: datetime, body: str) -> Notice:
    """Return a message that tries a webhook. Raise `NotThere`."""
    hook = hooks.of(conn, hook_id)
    if hook is None:
        raise NotThere
    return Notice(hook.url, f"test.{uuid7()}", body, secrets.of(sender.seal, hook, now))


def _locked(act: Act, hook_id: UUID) -> Hook:
    hook = hooks.of(act.conn, hook_id, locking=True)
    if hook is None:
        raise NotThere
    return hook


def _check_url(url: str, sender: Sender) -> None:
    """Refuse what is never sent to: addresses that are written out and not public, and `http`, except on loopback."""
    parts = urlsplit(url)
    try:
        address = ip_address(parts.hostname or "")
    except ValueError:
        address = None
    is_loopback = address.is_loopback if address else parts.hostname == "localhost"
    if is_loopback and sender.to_loopback:
        return
    if parts.scheme != "https" or parts.hostname == "localhost" or (address is not None and not is_public(address)):
        sentence = Message("Send an address with https at a public address of the internet; no other is sent anything.")
        raise Refused([Issue("out_of_range", sentence, "url")])
