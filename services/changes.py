"""Reads the feed of changes with the SKUs that changed, as they are now, and keeps a company's webhooks.

With the SKUs a caller that keeps a copy needs no second request for each change.
"""

from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Any, Final, Literal, NamedTuple  # Any: the arguments of a statement
from urllib.parse import urlsplit
from uuid import UUID

from anyio import to_thread
from uuid_utils import uuid7

from pipelines import changes as changes_pipelines
from pipelines.changes import Notice, Outcome, Sender
from pipelines.public_hosts import is_public
from schemas.actors import Actor
from schemas.changes import ChangeListResponse, Webhook, WebhookInput, WebhookPatch, WebhookSecretInput
from schemas.issues import Issue
from schemas.messages import Message
from schemas.refusals import Refused, require
from schemas.skus.types import SkuDetail
from services.skus import detail
from warehouse.audit import ledger
from warehouse.changes import feed, webhooks
from warehouse.changes.feed import Place
from warehouse.changes.webhooks import MOST, Hook
from warehouse.operate.sessions import Connection, Pool, make_seen_durable, savepoint
from warehouse.rules import Rulesets
from warehouse.skus import archive

AT_ONCE: Final = 25
"""SKUs that one statement reads."""
MOST_BYTES: Final = 4 * 2**20
"""Bytes of stored component graphs after which a page ends; the details are some times as large."""


def page_with_records(
    conn: Connection, actor: Actor, place: Place, limit: int, rulesets: Rulesets
) -> ChangeListResponse:
    """Return a page of changes with `record`s: the SKU that a change is about as its detail shows it.

    The records are read after the changes, so that none is older than a change that names it. The commit of the
    caller's transaction makes them durable: a newer one is told by a change that a crash does not take back. A page of
    large component graphs ends earlier. Raise `Refused` for a place that the company's ledger does not have.
    """
    page = feed.read(conn, place, limit)
    if page is None:
        raise unknown_cursor()
    ids = list(dict.fromkeys(change["sku_id"] for change in page["data"] if change["sku_id"] is not None))
    details, read = _skus(conn, actor, ids, rulesets)
    left = set(ids[read:])
    for at, change in enumerate(page["data"]):
        if change["sku_id"] in left:
            before = page["data"][:at]
            page = {"data": before, "next_cursor": before[-1]["cursor"], "has_more": True}
            break
        change["record"] = None if change["sku_id"] is None else details.get(change["sku_id"])
    make_seen_durable(conn)
    return page


def _skus(conn: Connection, actor: Actor, ids: list[UUID], rulesets: Rulesets) -> tuple[dict[UUID, SkuDetail], int]:
    """Return the details of SKUs by their ids, archived ones with `archived_at`, and how many ids were read."""
    details: dict[UUID, SkuDetail] = {}
    read = size = 0
    while read < len(ids) and size <= MOST_BYTES:
        for row, archived_at in archive.of_ids(
            conn, [str(sku_id) for sku_id in ids[read : read + AT_ONCE]], actor.today
        ):
            size += len(row["components"] or "")
            graded = detail.rulesets_of(conn, rulesets, row)
            record = detail.sku_detail(row, graded, today=actor.today, lang=actor.lang)
            details[UUID(str(row["id"]))] = record if archived_at is None else {**record, "archived_at": archived_at}
        read += AT_ONCE
    return details, min(read, len(ids))


def unknown_cursor() -> Refused:
    """Return the refusal of a cursor that is no place in the company's ledger."""
    sentence = Message(
        "This cursor is not from this company's changes as they are now: it is another company's, or the sandbox was "
        "reset or a backup restored since. Take a new one with after=now, read the lists, and go on from it."
    )
    return Refused([Issue("unknown_cursor", sentence, "after")])


_CLEARED: Final = ("description", "types")
"""Fields that null clears; null for another one leaves it."""


class Written(NamedTuple):
    """The outcome of a change of a webhook, the webhook where one is stored, and a secret where one was made."""

    outcome: Literal["created", "updated", "unchanged"]
    id: UUID
    webhook: Webhook | None
    secret: str | None = None


def add(conn: Connection, actor: Actor, sender: Sender, sent: WebhookInput, *, dry_run: bool = False) -> Written:
    """Store a webhook that is sent the changes from now on. Raise `Refused`."""
    _check_url(sent.url, sender)
    if webhooks.count(conn, actor.company_id) >= MOST:
        sentence = Message("A company has at most {most} webhooks; remove one.", most=MOST)
        raise Refused([Issue("out_of_range", sentence, None)])
    hook_id, secret = UUID(str(uuid7())), changes_pipelines.new_secret()
    if dry_run:
        return Written("created", hook_id, None)
    webhooks.add(
        conn,
        actor.company_id,
        hook_id,
        url=sent.url,
        description=sent.description,
        types=sent.types,
        secret=sender.seal.seal_to_keep(conn, secret, changes_pipelines.bound_to(hook_id)),
        position=feed.end(conn),
        at=actor.now,
    )
    after = {**sent.model_dump(), "state": "active"}
    ledger.enter(conn, actor, "webhook.created", hook_id, before=None, after=after)
    return Written("created", hook_id, webhooks.detail(conn, hook_id), changes_pipelines.secret_text(secret))


def change(
    conn: Connection, actor: Actor, sender: Sender, hook_id: UUID, sent: WebhookPatch, *, dry_run: bool = False
) -> Written:
    """Change a webhook. Raise `NotThere` and `Refused`."""
    hook = _locked(conn, hook_id)
    before: dict[str, Any] = {  # columns of `webhooks`
        "url": hook.url,
        "description": hook.description,
        "types": hook.types,
        "state": hook.state,
    }
    sent_fields = {name: getattr(sent, name) for name in sent.model_fields_set}
    after = before | {name: value for name, value in sent_fields.items() if name in _CLEARED or value is not None}
    if after == before:
        return Written("unchanged", hook_id, webhooks.detail(conn, hook_id))
    _check_url(after["url"], sender)
    if not dry_run:
        anew = {"disabled_reason": None, "next_at": None, "failures": 0, "failing_since": None, "fault": None}
        webhooks.change(conn, hook_id, {**after, **anew, "updated_at": actor.now})
        if after["state"] == "active":
            webhooks.try_at_once(conn, hook_id, now=actor.now)
        names = [name for name in before if before[name] != after[name]]
        old, new = ({name: fields[name] for name in names} for fields in (before, after))
        ledger.enter(conn, actor, "webhook.updated", hook_id, before=old, after=new)
    return Written("updated", hook_id, webhooks.detail(conn, hook_id))


def remove(conn: Connection, actor: Actor, hook_id: UUID, *, dry_run: bool = False) -> Written:
    """Remove a webhook with everything that waits. Raise `NotThere`."""
    hook = _locked(conn, hook_id)
    if not dry_run:
        webhooks.remove_deliveries(conn, hook_id)
        kept = {"state": "removed", "removed_at": actor.now, "secret": b"", "old_secret": None}
        webhooks.change(conn, hook_id, {**kept, "updated_at": actor.now})
        before = {"url": hook.url, "state": hook.state}
        ledger.enter(conn, actor, "webhook.removed", hook_id, before=before, after=None)
    return Written("updated", hook_id, webhooks.detail(conn, hook_id))


def roll_secret(
    conn: Connection, actor: Actor, sender: Sender, hook_id: UUID, sent: WebhookSecretInput, *, dry_run: bool = False
) -> Written:
    """Give a webhook another secret. Raise `NotThere`.

    The one before signs beside it during the overlap.
    """
    hook = _locked(conn, hook_id)
    if dry_run:
        return Written("updated", hook_id, webhooks.detail(conn, hook_id))
    secret, until = changes_pipelines.new_secret(), actor.now + timedelta(hours=sent.overlap_hours)
    sealed = sender.seal.seal_to_keep(conn, secret, changes_pipelines.bound_to(hook_id))
    secrets = {"old_secret": hook.secret, "secret": sealed, "old_secret_until": until}
    webhooks.change(conn, hook_id, {**secrets, "updated_at": actor.now})
    ledger.enter(conn, actor, "webhook.secret_rolled", hook_id, before=None, after={"old_secret_until": until})
    return Written("updated", hook_id, webhooks.detail(conn, hook_id), changes_pipelines.secret_text(secret))


def replay(conn: Connection, actor: Actor, hook_id: UUID, cursor: str, *, dry_run: bool = False) -> Written:
    """Send the changes behind a cursor again; `unchanged` where none of them was sent or waits.

    Raise `NotThere`, and `Refused` for what is no cursor of the company.
    """
    place = feed.read_cursor(cursor)
    hook = _locked(conn, hook_id)
    if place is None:
        sentence = Message("Send a cursor as the service gave it, in `next_cursor` or `cursor`.")
        raise Refused([Issue("invalid_format", sentence, "after")])
    if not feed.is_known(conn, place):
        raise unknown_cursor()
    if place.number >= hook.position:
        return Written("unchanged", hook_id, webhooks.detail(conn, hook_id))
    with savepoint(conn) as part:  # a dry run says what would wait
        part.keep = not dry_run
        webhooks.take_back(conn, hook_id, place.number)
        webhooks.change(conn, hook_id, {"position": place.number, "next_at": None, "updated_at": actor.now})
        ledger.enter(conn, actor, "webhook.replayed", hook_id, before=None, after={"after": cursor})
        return Written("updated", hook_id, webhooks.detail(conn, hook_id))


async def send_test(pool: Pool, company_id: UUID, hook_id: UUID, sender: Sender, now: datetime) -> Outcome:
    """Send a message of the type `webhook.test` at once, and return what came of it. Raise `NotThere`."""
    message = {"type": "webhook.test", "timestamp": now, "data": {"webhook_id": hook_id}}

    def prepare() -> Notice:
        with pool.company(company_id) as conn:
            hook = require(webhooks.find(conn, hook_id))
            secrets = changes_pipelines.signing_secrets(sender.seal, hook, now)
            return Notice(hook.url, f"test.{uuid7()}", changes_pipelines.body_of(message), secrets)

    return await sender.send(await to_thread.run_sync(prepare), now)


def _locked(conn: Connection, hook_id: UUID) -> Hook:
    return require(webhooks.find(conn, hook_id, locking=True))


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
