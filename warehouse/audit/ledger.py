"""Writes the audit ledger: entries about one record, and the link that every write adds to the company's chain.

What belongs here: every way to add to the ledger. SKUs are written by the thousand (`warehouse.skus.store`), all other
records one by one (`enter`); both end in `LINKED`. What does not: reading and verifying the ledger (`services.audit`),
and the digests (`warehouse.audit.chain`).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import orjson
from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from uuid_utils import uuid7

from schemas.actors import Actor, Origin
from schemas.vocabularies import ACTIONS
from warehouse.audit.chain import CURRENT
from warehouse.base import company, identity, instant, metadata
from warehouse.operate.sessions import Connection, become

_SIGNED: Final = (
    "id",
    "company_id",
    "at",
    "actor_type",
    "actor_id",
    "actor_name",
    "reason",
    "correlation_id",
    "ip",
    "user_agent",
)
_TYPES: Final = {"id": "uuid", "company_id": "uuid", "at": "timestamptz"}
_GIVEN: Final = {name: f"%({name})s::{_TYPES.get(name, 'text')}" for name in _SIGNED}


def _linked() -> str:
    link = {
        **_GIVEN,
        "number": "company_counters.links + 1",
        "first_entry": "company_counters.audit_entries + 1",
        "entries": "SELECT count(*) FROM leaves",
    }
    digests = "SELECT string_agg(digest, ''::bytea ORDER BY place) FROM leaves"
    return f"""
counted AS (
    UPDATE company_counters
    SET skus = skus + %(created)s, links = links + 1,
        audit_entries = audit_entries + (SELECT count(*) FROM leaves),
        chain_hash = {CURRENT.of_link("company_counters.chain_hash", link, digests)}
    WHERE company_id = %(company_id)s
    RETURNING links, audit_entries, chain_hash
), entered AS (
    INSERT INTO audit_entries (company_id, id, transaction_id, action, resource_id, version, before, after, digest)
    SELECT %(company_id)s, counted.audit_entries - count(*) OVER () + place, %(id)s, action, resource_id, version,
           before, after, digest
    FROM leaves, counted
)
INSERT INTO audit_transactions ({", ".join(_SIGNED)}, number, first_entry, entries, digest_version, hash)
SELECT {", ".join(_GIVEN.values())}, counted.links, counted.audit_entries - leaves.count + 1, leaves.count,
       {CURRENT.version}, counted.chain_hash
FROM (SELECT count(*) FROM leaves) AS leaves LEFT JOIN counted ON true"""


LINKED: Final = _linked()
"""The end of a statement whose `leaves` are its entries: place (from 1), action, resource_id, version, before, after,
digest. It counts them and `created` SKUs, computes the link and stores both.

The company's counters are one row. A transaction locks it here, after everything else and shortly before its commit, so
that links and entries are numbered without gaps, in the order of the commits. Without the row the link would have no
number, which the table refuses.
"""

_FIELDS: Final = {
    "action": "%(action)s",
    "resource_id": "%(resource_id)s",
    "before": "%(before)s",
    "after": "%(after)s",
}
_ENTER: Final = f"""
WITH leaves AS (
    SELECT 1 AS place, %(action)s::text AS action, %(resource_id)s::text AS resource_id, NULL::integer AS version,
           %(before)s::json AS before, %(after)s::json AS after, {CURRENT.of_entry(_FIELDS)} AS digest
), {LINKED}"""


def signature(company_id: UUID, origin: Origin, now: datetime) -> dict[str, object]:
    """Return the parameters of `LINKED` for the company, the actor and the time of a transaction, with a new id."""
    return {
        "id": UUID(str(uuid7())),
        "company_id": company_id,
        "at": now,
        "actor_type": origin.actor_type,
        "actor_id": origin.actor_id,
        "actor_name": origin.actor_name,
        "reason": origin.reason,
        "correlation_id": origin.correlation_id,
        "ip": origin.ip,
        "user_agent": origin.user_agent,
    }


def enter(
    conn: Connection,
    actor: Actor,
    action: str,
    resource_id: UUID | str,
    *,
    before: Mapping[str, object] | None,
    after: Mapping[str, object] | None,
) -> None:
    """Add one entry, as the last statement of the caller's transaction, whose session has the company set.

    `action` is one of `schemas.vocabularies`; `before` and `after` are the fields that changed, as JSON takes them, and
    null
    where the record did not exist before or does not exist after.
    """
    assert action in ACTIONS, f"{action} is not published in schemas/vocabularies.py"
    entry = {"action": action, "resource_id": str(resource_id), "before": _json(before), "after": _json(after)}
    conn.execute(_ENTER, {**signature(actor.company_id, actor.origin, actor.now), **entry, "created": 0})


def enter_for_each(
    conn: Connection,
    company_ids: Sequence[UUID],
    action: str,
    resource_id: str,
    *,
    origin: Origin,
    now: datetime,
    before: Mapping[str, object] | None,
    after: Mapping[str, object] | None,
) -> None:
    """Add one entry to each company's ledger, as the last statements of the caller's transaction.

    For changes that concern all companies at once. The session switches to each company in turn. Each company's writers
    wait from its entry to the commit.
    """
    for company_id in company_ids:
        become(conn, company_id)
        enter(conn, Actor(company_id, origin, now), action, resource_id, before=before, after=after)


def _json(value: Mapping[str, object] | None) -> str | None:
    return None if value is None else orjson.dumps(value).decode()


audit_transactions = Table(
    "audit_transactions",
    metadata,
    identity(),
    company(),
    instant("at"),
    Column("actor_type", Text, nullable=False),
    Column("actor_id", Text),
    Column("actor_name", Text),
    Column("reason", Text),
    Column("correlation_id", Text, nullable=False),
    Column("ip", Text),
    Column("user_agent", Text),
    Column("number", BigInteger, nullable=False, comment="of the link in the company's chain, from 1"),
    Column("first_entry", BigInteger, nullable=False, comment="the lowest id of its entries, which follow each other"),
    Column("entries", Integer, nullable=False, comment="how many they are"),
    Column("digest_version", Integer, nullable=False, comment="what the hash is made of (warehouse.audit.chain)"),
    Column("hash", LargeBinary, nullable=False, comment="over the hash of the link before and all of this one"),
    instant("visible_at", nullable=True),
    UniqueConstraint("company_id", "number"),
    Index(None, "company_id", "at"),
    Index(None, "company_id", "visible_at"),
    Index("ix_audit_transactions_unstamped", "id", postgresql_where=text("visible_at IS NULL")),
)

audit_entries = Table(
    "audit_entries",
    metadata,
    Column("id", BigInteger, autoincrement=False, comment="number in the company's ledger, from 1"),
    company(),
    Column("transaction_id", Uuid, nullable=False),
    Column("action", Text, nullable=False),
    Column("resource_id", Text, nullable=False),
    Column("version", Integer, comment="of the SKU, where the entry is about one"),
    Column("before", JSON),
    Column("after", JSON),
    Column("digest", LargeBinary, nullable=False, comment="over the entry and the row version that it names"),
    PrimaryKeyConstraint("company_id", "id"),
)
