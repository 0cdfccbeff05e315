"""Reads the feed of changes together with the SKUs that changed, as they are now.

So that a caller that keeps a copy needs no second request for each change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from ipaddress import ip_address
from typing import Any, Final, NamedTuple  # Any: the arguments of a statement
from urllib.parse import urlsplit
from uuid import UUID

from uuid_utils import uuid7

from pipelines import changes as changes_pipelines
from pipelines.changes import Notice, Sender
from pipelines.outside import is_public
from schemas.actors import Actor, Origin
from schemas.changes import WebhookInput, WebhookPatch
from schemas.issues import Issue
from schemas.json_values import JsonObject
from schemas.messages import ORIGINAL, Message
from schemas.refusals import NotThere, Refused
from schemas.skus.types import SkuDetail
from services.skus import detail
from warehouse.audit import ledger
from warehouse.changes import feed, webhooks
from warehouse.changes.feed import Place
from warehouse.changes.webhooks import MOST, Hook
from warehouse.operate.sessions import Connection, make_seen_durable
from warehouse.rules import Rulesets
from warehouse.skus import archive
from warehouse.skus.queries import StoredSku

AT_ONCE: Final = 25
"""SKUs that one statement reads."""
MOST_BYTES: Final = 4 * 2**20
"""Bytes of stored component graphs after which a page ends; the details are some times as large."""


def page_with_records(
    conn: Connection, place: Place, limit: int, *, rulesets: Rulesets, today: date, lang: str = ORIGINAL
) -> JsonObject:
    """Return ChangeListResponse with `record`s: the SKU that a change is about as its detail shows it.

    The records are read after the changes, so that none is older than a change that names it. The commit of the
    caller's transaction makes them durable: a newer one is told by a change that a crash does not take back. A page of
    large component graphs ends earlier. Raise `Refused` for a place that
    the company's ledger does not have.
    """
    page = feed.read(conn, place, limit)
    if page is None:
        raise unknown_cursor("after")
    ids = list(dict.fromkeys(change["sku_id"] for change in page["data"] if change["sku_id"] is not None))
    shown, read = _skus(conn, ids, rulesets, today, lang)
    left = set(ids[read:])
    for at, change in enumerate(page["data"]):
        if change["sku_id"] in left:
            page |= {"data": page["data"][:at], "next_cursor": page["data"][at - 1]["cursor"], "has_more": True}
            break
        change["record"] = shown.get(change["sku_id"])
    make_seen_durable(conn)
    return page


def _skus(
    conn: Connection, ids: list[str], rulesets: Rulesets, today: date, lang: str
) -> tuple[dict[str, SkuDetail], int]:
    """Return the details of SKUs by their ids, archived ones with `archived_at`, and how many ids were read."""
    shown: dict[str, SkuDetail] = {}
    read = size = 0
    while read < len(ids) and size <= MOST_BYTES:
        for row, archived_at in archive.of_ids(conn, ids[read : read + AT_ONCE], today):
            size += len(row["components"] or "")
            found = _shown(conn, row, rulesets, today, lang)
            shown[str(row["id"])] = found if archived_at is None else {**found, "archived_at": archived_at}
        read += AT_ONCE
    return shown, min(read, len(ids))


def _shown(conn: Connection, row: StoredSku, rulesets: Rulesets, today: date, lang: str) -> SkuDetail:
    before = detail.version_before(row)
    return detail.sku_detail(
        row,
        detail.record(row),
        rules=rulesets.active(conn),
        graded_by=rulesets.of(conn, row["ruleset_version"]),
        doc_status=row["doc_status"],
        today=today,
        before=None if before is None else rulesets.of(conn, before),
        lang=lang,
    )


def unknown_cursor(field: str) -> Refused:
    """Return the refusal of a cursor that is no place in the company's ledger."""
    sentence = Message(
        "This cursor is not from this company's changes as they are now: it is another company's, or the sandbox was "
        "reset or a backup restored since. Take a new one with after=now, read the lists, and go on from it."
    )
    return Refused([Issue("unknown_cursor", sentence, field)])


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
            Actor(self.company_id, self.origin, self.now),
            action,
            hook_id,
            before=before,
            after=after,
        )


def add(act: Act, sent: WebhookInput) -> Made | None:
    """Store a webhook that is sent the changes from now on; None for a dry run. Raise `Refused`."""
    _check_url(sent.url, act.sender)
    if webhooks.count(act.conn, act.company_id) >= MOST:
        sentence = Message("A company has at most {most} webhooks; remove one.", most=MOST)
        raise Refused([Issue("out_of_range", sentence, None)])
    if act.dry_run:
        return None
    hook_id, secret = UUID(str(uuid7())), changes_pipelines.new()
    webhooks.add(
        act.conn,
        act.company_id,
        hook_id,
        url=sent.url,
        description=sent.description,
        types=sent.types,
        secret=act.sender.seal.seal_to_keep(act.conn, secret, changes_pipelines.bound_to(hook_id)),
        position=feed.end(act.conn),
        at=act.now,
    )
    act.enter("webhook.created", hook_id, None, {**sent.model_dump(), "state": "active"})
    return Made(hook_id, changes_pipelines.shown(secret))


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
        webhooks.update(act.conn, hook_id, **after, at=act.now)
        if after["state"] == "active":
            webhooks.try_at_once(act.conn, hook_id, now=act.now)
        changed = [name for name in before if before[name] != after[name]]
        act.enter("webhook.updated", hook_id, {n: before[n] for n in changed}, {n: after[n] for n in changed})
    return True


def remove(act: Act, hook_id: UUID) -> None:
    """Remove a webhook with everything that waits. Raise `NotThere`."""
    hook = _locked(act, hook_id)
    if not act.dry_run:
        webhooks.remove_deliveries(act.conn, hook_id)
        webhooks.remove(act.conn, hook_id, at=act.now)
        act.enter("webhook.removed", hook_id, {"url": hook.url, "state": hook.state}, None)


def roll_secret(act: Act, hook_id: UUID, overlap: timedelta) -> str | None:
    """Give a webhook another secret, and return it; None for a dry run. Raise `NotThere`.

    The one before signs beside it during the overlap.
    """
    _locked(act, hook_id)
    if act.dry_run:
        return None
    secret, until = changes_pipelines.new(), act.now + overlap
    sealed = act.sender.seal.seal_to_keep(act.conn, secret, changes_pipelines.bound_to(hook_id))
    webhooks.roll(act.conn, hook_id, secret=sealed, until=until, at=act.now)
    act.enter("webhook.secret_rolled", hook_id, None, {"old_secret_until": until})
    return changes_pipelines.shown(secret)


def replay(act: Act, hook_id: UUID, cursor: str) -> bool:
    """Send the changes behind a cursor again; return whether there are any that were sent or wait.

    Raise `NotThere`, and `Refused` for what is no cursor of the company.
    """
    place = feed.read_cursor(cursor)
    hook = _locked(act, hook_id)
    if place is None:
        sentence = Message("Send a cursor as the service gave it, in `next_cursor` or `cursor`.")
        raise Refused([Issue("invalid_format", sentence, "after")])
    if not feed.is_known(act.conn, place):
        raise unknown_cursor("after")
    if place.number >= hook.position:
        return False
    if not act.dry_run:
        webhooks.take_back(act.conn, hook_id, place.number)
        webhooks.place(act.conn, hook_id, place.number, at=act.now)
        act.enter("webhook.replayed", hook_id, None, {"after": cursor})
    return True


def test_message(conn: Connection, hook_id: UUID, sender: Sender, now: datetime, body: str) -> Notice:
    """Return a message that tries a webhook. Raise `NotThere`."""
    hook = webhooks.of(conn, hook_id)
    if hook is None:
        raise NotThere
    return Notice(hook.url, f"test.{uuid7()}", body, changes_pipelines.of(sender.seal, hook, now))


def _locked(act: Act, hook_id: UUID) -> Hook:
    hook = webhooks.of(act.conn, hook_id, locking=True)
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
