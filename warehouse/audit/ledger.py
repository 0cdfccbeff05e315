"""Writes and reads the audit ledger: entries about one record, and the link that every write adds to the chain.

SKUs are written by the thousand (`warehouse.skus.store`), all other records one by one (`enter`); both end in `LINKED`.
SKUs of several requests that are written together make a link for each request (`LINKED_EACH`).
An entry about a SKU stores no values. Its changes are the difference of two row versions, which both queries select for
the entries that they show; `services.audit` computes the difference. What does not belong here: verifying the ledger
and the digests (`warehouse.audit.chain`).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Final, NamedTuple, cast
from uuid import UUID

import orjson
from psycopg.rows import class_row, dict_row
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
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
from typing_extensions import TypedDict
from uuid_utils import uuid7

from schemas.actors import Actor, Origin
from schemas.vocabularies import ACTIONS, FIGURES_ARE_OF
from warehouse.audit.chain import CURRENT
from warehouse.base import company, identity, instant, metadata
from warehouse.operate.sessions import Connection, become
from warehouse.pages import Listing
from warehouse.skus import queries

_OF_ORIGIN: Final = tuple(field.name for field in fields(Origin))
_SIGNED: Final = ("id", "company_id", "at", *_OF_ORIGIN)
_TYPES: Final = {"id": "uuid", "company_id": "uuid", "at": "timestamptz"}
_GIVEN: Final = {name: f"%({name})s::{_TYPES.get(name, 'text')}" for name in _SIGNED}


_FIGURE_KINDS: Final = ", ".join(f"'{kind}'" for kind in FIGURES_ARE_OF)
_OF_FIGURES: Final = f"split_part(action, '.', 1) IN ({_FIGURE_KINDS})"


def _linked() -> str:
    link = {
        **_GIVEN,
        "number": "company_counters.links + 1",
        "first_entry": "company_counters.audit_entries + 1",
        "entries": "whole.entries",
    }
    return f"""
whole AS MATERIALIZED (
    SELECT count(*) AS entries, string_agg(digest, ''::bytea ORDER BY place) AS digests,
           coalesce(bool_or({_OF_FIGURES}), true) AS of_figures
    FROM leaves
), counted AS (
    UPDATE company_counters
    SET skus = skus + %(created)s, links = links + 1, audit_entries = audit_entries + whole.entries,
        unrelated_links = unrelated_links + (NOT whole.of_figures)::int,
        chain_hash = {CURRENT.of_link("company_counters.chain_hash", link, "whole.digests")}
    FROM whole WHERE company_id = %(company_id)s
    RETURNING links, audit_entries - whole.entries AS entries_before, chain_hash
), entered AS (
    INSERT INTO audit_entries (company_id, id, transaction_id, action, resource_id, version, before, after, digest)
    SELECT %(company_id)s, counted.entries_before + place, %(id)s, action, resource_id, version, before, after, digest
    FROM leaves, counted
)
INSERT INTO audit_transactions ({", ".join(_SIGNED)}, number, first_entry, entries, digest_version, hash, of_figures)
SELECT {", ".join(_GIVEN.values())}, counted.links, counted.entries_before + 1, whole.entries,
       {CURRENT.version}, counted.chain_hash, whole.of_figures
FROM whole LEFT JOIN counted ON true"""


LINKED: Final = _linked()
"""The end of a statement whose `leaves` are its entries: place (from 1), action, resource_id, version, before, after,
digest. It counts them and `created` SKUs, computes the link and stores both.

The company's counters are one row. A transaction locks it here, after everything else and shortly before its commit, so
that links and entries are numbered without gaps, in the order of the commits. Without the row the link would have no
number, which the table refuses.
"""


def _linked_each() -> str:
    own = {name: _GIVEN[name] if name in ("company_id", "at") else f"leaves.{name}" for name in _SIGNED}
    first = "held.audit_entries + leaves.place"
    link = {**own, "number": "held.links + leaves.place", "first_entry": first, "entries": "1"}
    return f"""
held AS MATERIALIZED (
    SELECT links, audit_entries, chain_hash FROM company_counters
    WHERE company_id = %(company_id)s AND (SELECT count(*) FROM leaves) > 0 FOR UPDATE
), chained AS (
    SELECT 0::bigint AS place, chain_hash AS hash FROM held
    UNION ALL
    SELECT leaves.place, {CURRENT.of_link("chained.hash", link, "leaves.digest")}
    FROM chained JOIN leaves ON leaves.place = chained.place + 1 CROSS JOIN held
), counted AS (
    UPDATE company_counters
    SET skus = skus + %(created)s, links = links + count, audit_entries = audit_entries + count, chain_hash = last,
        unrelated_links = unrelated_links + (SELECT count(*) FROM leaves WHERE NOT {_OF_FIGURES})
    FROM (SELECT max(place) AS count, (array_agg(hash ORDER BY place DESC))[1] AS last FROM chained) AS every
    WHERE company_id = %(company_id)s
), entered AS (
    INSERT INTO audit_entries (company_id, id, transaction_id, action, resource_id, version, before, after, digest)
    SELECT %(company_id)s, {first}, id, action, resource_id, version, before, after, digest FROM leaves CROSS JOIN held
)
INSERT INTO audit_transactions ({", ".join(_SIGNED)}, number, first_entry, entries, digest_version, hash, of_figures)
SELECT {", ".join(own.values())}, held.links + leaves.place, {first}, 1, {CURRENT.version}, chained.hash, {_OF_FIGURES}
FROM leaves LEFT JOIN chained USING (place) LEFT JOIN held ON true"""


LINKED_EACH: Final = _linked_each()
"""The same end, of a recursive statement, for `leaves` that are each a link by itself: they also have the columns of
`LINK_COLUMNS`.

The counters are locked when all leaves are known, and read as they are then: a link is computed over the one before it.
"""
_OWN: Final = ("id", *_OF_ORIGIN)
LINK_COLUMNS: Final = "place bigint, " + ", ".join(f"{name} {_TYPES.get(name, 'text')}" for name in _OWN)
"""The columns of `links`, as a recordset declares them."""

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


_OF_EACH: Final = {name: f"entry.{name}" for name in ("resource_id", "before", "after")}
_ENTER_MANY: Final = f"""
WITH leaves AS (
    SELECT place, %(action)s::text AS action, resource_id, NULL::integer AS version, entry.before::json AS before,
           entry.after::json AS after, {CURRENT.of_entry(_FIELDS | _OF_EACH)} AS digest
    FROM json_to_recordset(%(entries)s::json) AS entry(place integer, resource_id text, before text, after text)
), {LINKED}"""


def signature(company_id: UUID, origin: Origin, now: datetime) -> dict[str, object]:
    """Return the parameters of `LINKED` for the company, the actor and the time of a transaction, with a new id."""
    of_origin = {name: getattr(origin, name) for name in _OF_ORIGIN}
    return {"id": UUID(str(uuid7())), "company_id": company_id, "at": now, **of_origin}


def links(origins: Sequence[Origin]) -> list[dict[str, object]]:
    """Return what `LINKED_EACH` needs of each leaf beside its subject: place, the new id of its link, and the actor."""
    return [
        {"place": place, "id": str(uuid7()), **{name: getattr(origin, name) for name in _OF_ORIGIN}}
        for place, origin in enumerate(origins, 1)
    ]


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
    null where the record did not exist before or does not exist after.
    """
    assert action in ACTIONS, f"{action} is not published in schemas/vocabularies.py"
    entry = {"action": action, "resource_id": str(resource_id), "before": _json(before), "after": _json(after)}
    conn.execute(_ENTER, {**signature(actor.company_id, actor.origin, actor.now), **entry, "created": 0})


def enter_many(
    conn: Connection,
    actor: Actor,
    action: str,
    entries: Sequence[tuple[UUID, Mapping[str, object] | None, Mapping[str, object]]],
) -> None:
    """Add an entry for each record, with what was there before and is after it, in one statement; else as `enter`."""
    assert action in ACTIONS, f"{action} is not published in schemas/vocabularies.py"
    listed = [
        {"place": place, "resource_id": str(resource_id), "before": _json(before), "after": _json(after)}
        for place, (resource_id, before, after) in enumerate(entries, 1)
    ]
    parameters = {"action": action, "entries": orjson.dumps(listed).decode(), "created": 0}
    conn.execute(_ENTER_MANY, signature(actor.company_id, actor.origin, actor.now) | parameters)


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


_OF_TRANSACTIONS: Final = {
    "since": "t.at >= %(since)s::timestamptz",
    "until": "t.at <= %(until)s::timestamptz",
    "actor": "%(actor)s::text IN (t.actor_type, t.actor_id, t.actor_name)",
    "not_by": "t.actor_type <> %(not_by)s::text",
}
_OF_ENTRIES: Final = {"actions": "e.action = ANY(%(actions)s::text[])"}
"""The condition of each filter by its parameter; `since` and `until` are inclusive."""

_HELD: Final = f"SELECT json_build_array({queries.SELECT}) FROM {{table}} AS skus WHERE skus.id = chosen.sku_id"
_VERSION: Final = f"""coalesce(
    ({_HELD.format(table="sku_versions")} AND skus.version = chosen.version - {{ago}}),
    ({_HELD.format(table="skus")} AND skus.version = chosen.version - {{ago}}))"""
"""Selects the row version that an entry made (`ago` 0), or the one before it (1), as an array of `queries.COLUMNS`.

Null where the entry is about no SKU. An array without names, because names are most of the text to send and parse.
"""

_NUMBERED: Final = "SELECT audit_entries AS upto FROM company_counters"
_BY_NUMBER: Final = "e.id <= (SELECT upto FROM found) - {offset:d} ORDER BY e.id DESC LIMIT {limit:d}"

_TRANSACTIONS: Final = """
SELECT t.first_entry, t.entries, sum(t.entries) OVER (ORDER BY t.number DESC ROWS UNBOUNDED PRECEDING) AS upto
FROM audit_transactions AS t WHERE {conditions}"""
_BY_TRANSACTION: Final = """e.id = ANY(ARRAY(
    SELECT generate_series(greatest(first_entry, first_entry + upto - {offset:d} - {limit:d}),
                           first_entry - 1 + least(entries, upto - {offset:d}))
    FROM found WHERE upto > {offset:d} AND upto - entries - {offset:d} < {limit:d}))"""

_ENTRIES: Final = "SELECT e.id FROM audit_entries AS e {joined} WHERE {conditions}"
_JOINED: Final = "JOIN audit_transactions AS t ON t.id = e.transaction_id"
_BY_ENTRY: Final = "e.id = ANY(ARRAY(SELECT id FROM found ORDER BY id DESC LIMIT {limit:d} OFFSET {offset:d}))"

_CHOSEN: Final = """chosen AS MATERIALIZED (
    SELECT e.*, CASE WHEN e.version IS NOT NULL THEN e.resource_id::uuid END AS sku_id
    FROM audit_entries AS e WHERE {condition}
)"""
_SHOWN: Final = f"""
    chosen.id, t.at, t.actor_type, t.actor_id, t.actor_name, chosen.action, chosen.resource_id,
    chosen.before, chosen.after, t.reason, t.ip, t.user_agent, t.correlation_id,
    {_VERSION.format(ago=1)} AS version_before, {_VERSION.format(ago=0)} AS version_after
    FROM chosen
    CROSS JOIN LATERAL (SELECT * FROM audit_transactions AS t WHERE t.id = chosen.transaction_id OFFSET 0) AS t
    ORDER BY chosen.id DESC"""
_NUMBERED_ENTRIES: Final = f"WITH {_CHOSEN.format(condition='e.id = ANY(%s)')} SELECT {_SHOWN}"

_BLOCKS: Final = """
WITH blocks AS (
    SELECT t.actor_id AS import_id, max(t.number) AS number, 1::bigint AS lines, NULL::bigint AS first_entry
    FROM audit_transactions AS t WHERE t.actor_type = 'import' AND {conditions} GROUP BY t.actor_id
    UNION ALL SELECT NULL, t.number, t.entries, t.first_entry
    FROM audit_transactions AS t WHERE t.actor_type <> 'import' AND {conditions}
), numbered AS (
    SELECT *, sum(lines) OVER (ORDER BY number DESC ROWS UNBOUNDED PRECEDING)::bigint AS upto FROM blocks
)
SELECT import_id, lines, first_entry, upto, (SELECT coalesce(max(upto), 0) FROM numbered) AS total FROM numbered
WHERE upto > %(offset)s AND upto - lines < %(offset)s::bigint + %(limit)s ORDER BY number DESC"""
"""Selects what has lines of a page: a transaction has one for each entry, an import one whatever it wrote."""
_COUNTED: Final = f"SELECT e.action, count(*) FROM audit_entries AS e {_JOINED} WHERE {{conditions}} GROUP BY e.action"
_OF_IMPORTS: Final = f"""
SELECT t.actor_id, e.action, max(t.actor_name), max(t.at), count(*) FROM audit_entries AS e {_JOINED}
WHERE t.actor_type = 'import' AND t.actor_id = ANY(%(imports)s) AND {{conditions}} GROUP BY t.actor_id, e.action"""
_PERSONS: Final = """
SELECT connections.id::text, users.email FROM connections JOIN users ON users.id = connections.user_id
WHERE connections.id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, key_name FROM imports WHERE id = ANY(%(ids)s::uuid[])"""

_VERSIONS: Final = f"""
WITH chosen AS MATERIALIZED (
    SELECT id AS sku_id, version, transaction_id FROM (
        SELECT id, version, transaction_id FROM skus WHERE id = %(id)s
        UNION ALL SELECT id, version, transaction_id FROM sku_versions WHERE id = %(id)s
    ) AS held ORDER BY version DESC LIMIT %(limit)s
)
SELECT chosen.version, t.at, t.actor_type, t.actor_id, t.actor_name, t.reason,
       CASE WHEN chosen.version = 1 THEN 'sku.created'
            WHEN EXISTS (SELECT FROM archived_skus WHERE sku_id = %(id)s AND t.at IN (archived_at, returned_at)) THEN (
                SELECT action FROM audit_entries WHERE company_id = t.company_id AND version = chosen.version
                AND id BETWEEN t.first_entry AND t.first_entry + t.entries - 1 AND resource_id = (%(id)s::uuid)::text)
            ELSE 'sku.updated' END AS action,
       {_VERSION.format(ago=1)} AS version_before, {_VERSION.format(ago=0)} AS version_after
FROM chosen CROSS JOIN LATERAL (SELECT * FROM audit_transactions AS t WHERE t.id = chosen.transaction_id OFFSET 0) AS t
ORDER BY chosen.version DESC"""


class Entry(TypedDict):
    """An entry of a page with its transaction; the row versions are lists of the values of `queries.COLUMNS`.

    `before` and `after` are the JSON objects of an entry that is about no SKU. `version_before` and `version_after` are
    null there; `version_before` is also null for a new SKU.
    """

    id: int
    at: datetime
    actor_type: str
    actor_id: str | None
    actor_name: str | None
    action: str
    resource_id: str
    before: dict[str, object] | None
    after: dict[str, object] | None
    reason: str | None
    ip: str | None
    user_agent: str | None
    correlation_id: str
    version_before: list[object] | None
    version_after: list[object] | None


class Version(NamedTuple):
    """A version of a SKU with who wrote it, when and why; the row versions are as in `Entry`."""

    version: int
    at: datetime
    actor_type: str
    actor_id: str | None
    actor_name: str | None
    reason: str | None
    action: str | None
    version_before: list[object] | None
    version_after: list[object]


def page(limit: int, offset: int, filters: Mapping[str, object]) -> Listing[Entry]:
    """Return the question for a page of the ledger, newest first, by `since`, `until`, `actor`, `not_by` or `actions`.

    Beside the page it says whether the company's plan has the ledger `included`; without it there are no entries.
    """
    matches, total, chosen = _search(filters)
    sql = f"""
WITH plan AS MATERIALIZED (SELECT plans.audit_log FROM companies JOIN plans USING (plan)),
found AS MATERIALIZED ({matches}),
{_CHOSEN.format(condition=f"(SELECT audit_log FROM plan) AND {chosen.format(limit=limit, offset=offset)}")}
SELECT whole.*, entry.* FROM (
    SELECT CASE WHEN audit_log THEN (SELECT coalesce({total}, 0)::bigint FROM found) ELSE 0 END AS total,
           audit_log AS included
    FROM plan
) AS whole LEFT JOIN (SELECT true AS is_item, {_SHOWN}) AS entry ON true"""
    return Listing(sql, limit, offset, ("included",), filters)


def _search(filters: Collection[str]) -> tuple[str, str, str]:
    """Return the query of all matches, the expression that counts them, and the condition on the page's entries.

    The entries of a company are numbered without gaps, so that every page costs the same. Filters on transactions read
    only the transactions, which store the numbers of their entries; only a filter on actions reads every entry.
    """
    of_transactions = [_OF_TRANSACTIONS[name] for name in filters if name in _OF_TRANSACTIONS]
    of_entries = [_OF_ENTRIES[name] for name in filters if name in _OF_ENTRIES]
    conditions = " AND ".join((*of_entries, *of_transactions))
    if of_entries:
        joined = _JOINED if of_transactions else ""
        return _ENTRIES.format(joined=joined, conditions=conditions), "count(*)", _BY_ENTRY
    if of_transactions:
        return _TRANSACTIONS.format(conditions=conditions), "max(upto)", _BY_TRANSACTION
    return _NUMBERED, "max(upto)", _BY_NUMBER


class ImportLine(TypedDict):
    """What an import wrote, in the time that was asked for: the file's name, the last instant, entries by action."""

    import_id: str
    filename: str | None
    at: datetime
    counts: dict[str, int]


class Lines(NamedTuple):
    """A page of lines, newest first, how many there are, and all entries by action, none without a filter."""

    page: list[Entry | ImportLine]
    total: int
    counts: dict[str, int]


def lines(connection: Connection, limit: int, offset: int, filters: Mapping[str, object]) -> Lines:
    """Return a page of the ledger in which an import is one line; by `since` and `until`."""
    conditions = " AND ".join(["true", *(_OF_TRANSACTIONS[name] for name in filters)])
    parameters = {**filters, "limit": limit, "offset": offset}
    blocks = connection.execute(_BLOCKS.format(conditions=conditions), parameters).fetchall()
    places: list[str | int] = []
    for import_id, number, first, upto, _ in blocks:
        ids = range(first + number - 1, first - 1, -1) if import_id is None else (import_id,)
        before = upto - number
        places += ids[max(offset - before, 0) : offset + limit - before]
    parameters["imports"] = [place for place in places if isinstance(place, str)]
    held: dict[str | int, Entry | ImportLine] = {}
    query = _OF_IMPORTS.format(conditions=conditions)
    for import_id, action, filename, at, number in connection.execute(query, parameters):
        empty: ImportLine = {"import_id": import_id, "filename": filename, "at": at, "counts": {}}
        line = cast(ImportLine, held.setdefault(import_id, empty))
        line["counts"][action], line["at"] = number, max(at, line["at"])
    with connection.cursor(row_factory=dict_row) as cursor:
        ids_of_entries = [place for place in places if isinstance(place, int)]
        held |= {row["id"]: cast(Entry, row) for row in cursor.execute(_NUMBERED_ENTRIES, [ids_of_entries])}
    counted = connection.execute(_COUNTED.format(conditions=conditions), filters).fetchall() if filters else []
    counts = dict(sorted(counted, key=lambda row: (-row[1], row[0])))
    return Lines([held[place] for place in places], blocks[0][4] if blocks else 0, counts)


def persons(connection: Connection, actors: Collection[str]) -> dict[str, str]:
    """Return who is behind each connection and import of the session's company, by the actor's id: person or key."""
    return dict(connection.execute(_PERSONS, {"ids": list(actors)}).fetchall())


def is_included(connection: Connection) -> bool:
    """Return whether the plan of the session's company includes the audit log."""
    row = connection.execute("SELECT plans.audit_log FROM companies JOIN plans USING (plan)").fetchone()
    return row is not None and bool(row[0])


def versions(connection: Connection, sku_id: UUID, *, limit: int) -> list[Version]:
    """Return the newest versions of a SKU, the newest first.

    The query finds them by the SKU's own rows, so that it costs the same in a ledger of any length.
    """
    with connection.cursor(row_factory=class_row(Version)) as cursor:
        return cursor.execute(_VERSIONS, {"id": sku_id, "limit": limit}).fetchall()


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
    Column("of_figures", Boolean, comment="whether it changed what figures are made from; null: not known"),
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
