"""Reads the audit ledger: a page of its entries, and the newest versions of one SKU with who wrote them.

An entry about a SKU stores no values. Its changes are the difference of two row versions, which both queries select for
the entries that they show; `services.audit` computes the difference. Writing entries and verifying the chain belong to
other modules of this folder.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.rows import class_row
from typing_extensions import TypedDict

from warehouse.operate.sessions import Connection
from warehouse.pages import Listing
from warehouse.skus import queries

_OF_TRANSACTIONS: Final = {
    "since": "t.at >= %(since)s::timestamptz",
    "until": "t.at <= %(until)s::timestamptz",
    "actor": "%(actor)s::text IN (t.actor_type, t.actor_id, t.actor_name)",
}
_OF_ENTRIES: Final = {"actions": "e.action = ANY(%(actions)s::text[])"}
"""The condition of each filter by its parameter; `since` and `until` are inclusive."""

_HELD: Final = f"SELECT json_build_array({queries.SELECT}) FROM {{table}} AS skus WHERE skus.id = chosen.sku_id"
_VERSION: Final = f"""coalesce(
    ({_HELD.format(table="sku_versions")} AND skus.version = chosen.version - {{ago}}),
    ({_HELD.format(table="skus")} AND skus.version = chosen.version - {{ago}}))"""
"""Selects the row version that an entry made (`ago` 0), or the one before it (1), as an array of `detail.COLUMNS`.

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

_VERSIONS: Final = f"""
WITH chosen AS MATERIALIZED (
    SELECT id AS sku_id, version, transaction_id FROM (
        SELECT id, version, transaction_id FROM skus WHERE id = %(id)s
        UNION ALL SELECT id, version, transaction_id FROM sku_versions WHERE id = %(id)s
    ) AS held ORDER BY version DESC LIMIT %(limit)s
)
SELECT chosen.version, t.at, t.actor_type, t.actor_name, t.reason,
       {_VERSION.format(ago=1)} AS version_before, {_VERSION.format(ago=0)} AS version_after
FROM chosen CROSS JOIN LATERAL (SELECT * FROM audit_transactions AS t WHERE t.id = chosen.transaction_id OFFSET 0) AS t
ORDER BY chosen.version DESC"""
_INCLUDED: Final = "SELECT plans.audit_log FROM companies JOIN plans USING (plan)"


class Entry(TypedDict):
    """An entry of a page with its transaction; the row versions are lists of the values of `detail.COLUMNS`.

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


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a SKU with who wrote it, when and why; the row versions are as in `Entry`."""

    version: int
    at: datetime
    actor_type: str
    actor_name: str | None
    reason: str | None
    version_before: list[object] | None
    version_after: list[object]


def page(limit: int, offset: int, filters: Mapping[str, object]) -> Listing[Entry]:
    """Return the question for a page of the ledger, newest first, by `since`, `until`, `actor` or `actions`.

    Beside the page it says whether the company's plan has the ledger `included`; without it there are no entries.
    """
    matches, total, chosen = _search(filters)
    sql = f"""
WITH plan AS MATERIALIZED (SELECT plans.audit_log FROM companies JOIN plans USING (plan)),
found AS MATERIALIZED ({matches}), chosen AS MATERIALIZED (
    SELECT e.*, CASE WHEN e.version IS NOT NULL THEN e.resource_id::uuid END AS sku_id
    FROM audit_entries AS e WHERE (SELECT audit_log FROM plan) AND {chosen.format(limit=limit, offset=offset)}
)
SELECT whole.*, entry.* FROM (
    SELECT CASE WHEN audit_log THEN (SELECT coalesce({total}, 0)::bigint FROM found) END AS total,
           audit_log AS included
    FROM plan
) AS whole LEFT JOIN (
    SELECT true AS is_item, chosen.id, t.at, t.actor_type, t.actor_id, t.actor_name, chosen.action, chosen.resource_id,
           chosen.before, chosen.after, t.reason, t.ip, t.user_agent, t.correlation_id,
           {_VERSION.format(ago=1)} AS version_before, {_VERSION.format(ago=0)} AS version_after
    FROM chosen
    CROSS JOIN LATERAL (SELECT * FROM audit_transactions AS t WHERE t.id = chosen.transaction_id OFFSET 0) AS t
    ORDER BY chosen.id DESC
) AS entry ON true"""
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


def is_included(connection: Connection) -> bool:
    """Return whether the plan of the session's company includes the audit log."""
    row = connection.execute(_INCLUDED).fetchone()
    return row is not None and bool(row[0])


def versions(connection: Connection, sku_id: UUID, *, limit: int) -> list[Version]:
    """Return the newest versions of a SKU, the newest first.

    The query finds them by the SKU's own rows, so that it costs the same in a ledger of any length.
    """
    with connection.cursor(row_factory=class_row(Version)) as cursor:
        return cursor.execute(_VERSIONS, {"id": sku_id, "limit": limit}).fetchall()
