"""A page of the audit ledger: the statement that finds it, and its entries as they are answered (decisions §2).

Entries about a SKU hold no values. What they changed is the difference of two row versions, found for the entries of
the page alone and told in the fields of SkuDetailResponse.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

import orjson

from pipelines.steps import present

_OF_TRANSACTIONS: Final = {
    "since": "t.at >= %(since)s::timestamptz",
    "until": "t.at <= %(until)s::timestamptz",
    "actor": "%(actor)s::text IN (t.actor_type, t.actor_id, t.actor_name)",
}
_OF_ENTRIES: Final = {"actions": "e.action = ANY(%(actions)s::text[])"}
FILTERS: Final = (*_OF_TRANSACTIONS, *_OF_ENTRIES)
"""The parameters that a page can be filtered by; `since` and `until` are inclusive."""

_VERSION: Final = " ".join(f"""
(SELECT coalesce(
    (SELECT to_json(held) FROM (SELECT {present.SELECT} FROM sku_versions AS skus
                                WHERE skus.id = chosen.sku_id AND skus.version = chosen.version - {{ago}}) AS held),
    (SELECT to_json(held) FROM (SELECT {present.SELECT} FROM skus
                                WHERE skus.id = chosen.sku_id AND skus.version = chosen.version - {{ago}}) AS held)))
""".split())  # fmt: skip
"""The row version that an entry made (`ago` 0), or the one before it (1); null where the entry is about no SKU."""

_COUNTED: Final = "(SELECT audit_entries FROM company_counters)"


def statement(limit: int, offset: int, filters: Collection[str] = ()) -> str:
    """One row: whether the company's plan includes the ledger, and if so the page as JSON text for `shown`.

    `filters` are those of `FILTERS` whose parameters are given. An unfiltered page goes by the entries' numbers, so
    that it costs the same wherever it lies. Limit and offset stand in the text, as in `warehouse.queries.pages`.
    """
    rows, total = _filtered(limit, offset, filters) if filters else _numbered(limit, offset)
    return f"""
SELECT plans.audit_log AS included, CASE WHEN plans.audit_log THEN (
    WITH chosen AS MATERIALIZED ({rows})
    SELECT json_build_object('total', {total}, 'entries', coalesce(json_agg(entry ORDER BY entry.id DESC), '[]'))
    FROM (
        SELECT chosen.id, t.at, t.actor_type, t.actor_id, t.actor_name, chosen.action, chosen.resource_id,
               chosen.before, chosen.after, t.reason, t.ip, t.user_agent, t.correlation_id,
               {_VERSION.format(ago=1)} AS version_before, {_VERSION.format(ago=0)} AS version_after
        FROM chosen
        CROSS JOIN LATERAL (SELECT * FROM audit_transactions AS t WHERE t.id = chosen.transaction_id OFFSET 0) AS t
    ) AS entry
) END::text AS page
FROM companies JOIN plans USING (plan)"""


_CHOSEN: Final = "SELECT e.*, CASE WHEN e.version IS NOT NULL THEN e.resource_id::uuid END AS sku_id"


def _numbered(limit: int, offset: int) -> tuple[str, str]:
    """The rows of an unfiltered page, and the total: entries have numbers without gaps."""
    newest = f"e.id <= {_COUNTED} - {offset:d}"
    return f"{_CHOSEN} FROM audit_entries AS e WHERE {newest} ORDER BY e.id DESC LIMIT {limit:d}", _COUNTED


def _filtered(limit: int, offset: int, filters: Collection[str]) -> tuple[str, str]:
    """The rows of a filtered page, and the total. The entries of a transaction are found by their numbers."""
    of_transactions = " AND ".join(_OF_TRANSACTIONS[name] for name in filters if name in _OF_TRANSACTIONS) or "true"
    of_entries = " AND ".join(_OF_ENTRIES[name] for name in filters if name in _OF_ENTRIES) or "true"
    found = f"""
FROM audit_transactions AS t CROSS JOIN LATERAL (
    SELECT * FROM audit_entries AS e
    WHERE e.id >= t.first_entry AND e.id < t.first_entry + t.entries AND {of_entries} ORDER BY e.id DESC OFFSET 0) AS e
WHERE {of_transactions}"""
    rows = f"{_CHOSEN} {found} ORDER BY t.number DESC, e.id DESC LIMIT {limit:d} OFFSET {offset:d}"
    if of_entries == "true":
        return rows, f"(SELECT coalesce(sum(t.entries), 0) FROM audit_transactions AS t WHERE {of_transactions})"
    if of_transactions == "true":
        return rows, f"(SELECT count(*) FROM audit_entries AS e WHERE {of_entries})"
    return rows, f"(SELECT count(*) {found})"


def shown(page: str, limit: int, offset: int) -> dict[str, Any]:
    """AuditLogResponse of a page that `statement` found."""
    found = orjson.loads(page)
    return {
        "data": [_entry(entry) for entry in found["entries"]],
        "pagination": {"limit": limit, "offset": offset, "total": found["total"]},
    }


def _entry(row: Mapping[str, Any]) -> dict[str, Any]:
    before, after = row["before"], row["after"]
    if row["version_after"] is not None:
        before, after = _difference(row["version_before"], row["version_after"])
    return {
        "id": str(row["id"]),
        "at": present.instant(row["at"]),
        "actor": {"type": row["actor_type"], "id": row["actor_id"], "name": row["actor_name"]},
        "action": row["action"],
        "resource_type": row["action"].partition(".")[0],
        "resource_id": row["resource_id"],
        "before": before,
        "after": after,
        **{name: row[name] for name in ("reason", "ip", "user_agent", "correlation_id")},
    }


_NOTHING: Final = present.fields(dict.fromkeys(present.COLUMNS))


def _difference(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """The fields that differ as they were and as they are; of a new SKU those that have a value."""
    is_now = present.fields(new)
    was = _NOTHING if old is None else present.fields(old)
    changed = [name for name in is_now if is_now[name] != was[name]]
    return None if old is None else {name: was[name] for name in changed}, {name: is_now[name] for name in changed}
