"""A page of the audit ledger: the statement that finds it, and its entries as they are answered (decisions §2).

Entries about a SKU hold no values. What they changed is the difference of two row versions, found for the entries of
the page alone and told in the fields of SkuDetailResponse.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import orjson

from pipelines.writing import present
from warehouse.skus import detail

_OF_TRANSACTIONS: Final = {
    "since": "t.at >= %(since)s::timestamptz",
    "until": "t.at <= %(until)s::timestamptz",
    "actor": "%(actor)s::text IN (t.actor_type, t.actor_id, t.actor_name)",
}
_OF_ENTRIES: Final = {"actions": "e.action = ANY(%(actions)s::text[])"}
FILTERS: Final = (*_OF_TRANSACTIONS, *_OF_ENTRIES)
"""The parameters that a page can be filtered by; `since` and `until` are inclusive."""

_HELD: Final = f"SELECT json_build_array({detail.SELECT}) FROM {{table}} AS skus WHERE skus.id = chosen.sku_id"
VERSION: Final = f"""coalesce(
    ({_HELD.format(table="sku_versions")} AND skus.version = chosen.version - {{ago}}),
    ({_HELD.format(table="skus")} AND skus.version = chosen.version - {{ago}}))"""
"""The row version that an entry made (`ago` 0), or the one before it (1), as an array of `detail.COLUMNS`.

Null where the entry is about no SKU. Without names, as they are most of the text that would travel and be parsed.
"""

_NUMBERED: Final = "SELECT audit_entries AS upto FROM company_counters"
_BY_NUMBER: Final = "e.id <= (SELECT upto FROM found) - {offset:d} ORDER BY e.id DESC LIMIT {limit:d}"

_TRANSACTIONS: Final = """
SELECT t.first_entry, t.entries, sum(t.entries) OVER (ORDER BY t.number DESC ROWS UNBOUNDED PRECEDING) AS upto
FROM audit_transactions AS t WHERE {conditions}"""
_BY_TRANSACTION: Final = """e.id = ANY(ARRAY(
    SELECT generate_series(greatest(first_entry, first_entry + upto - {offset:d} - {limit:d}),
                           first_entry - 1 + least(entries, upto - {offset:d}))
    FROM found WHERE upto > {offset:d} AND upto - entries < {offset:d} + {limit:d}))"""

_ENTRIES: Final = "SELECT e.id FROM audit_entries AS e {joined} WHERE {conditions}"
_JOINED: Final = "JOIN audit_transactions AS t ON t.id = e.transaction_id"
_BY_ENTRY: Final = "e.id = ANY(ARRAY(SELECT id FROM found ORDER BY id DESC LIMIT {limit:d} OFFSET {offset:d}))"


def statement(limit: int, offset: int, filters: Collection[str] = ()) -> str:
    """One row: whether the company's plan includes the ledger, and if so the page as JSON text for `shown`.

    `filters` are those of `FILTERS` whose parameters are given. Limit and offset stand in the text, as in
    `warehouse.pages`.
    """
    found, total, chosen = _search(filters)
    return f"""
SELECT plans.audit_log AS included, CASE WHEN plans.audit_log THEN (
    WITH found AS MATERIALIZED ({found}), chosen AS MATERIALIZED (
        SELECT e.*, CASE WHEN e.version IS NOT NULL THEN e.resource_id::uuid END AS sku_id
        FROM audit_entries AS e WHERE {chosen.format(limit=limit, offset=offset)}
    )
    SELECT json_build_object('total', (SELECT coalesce({total}, 0) FROM found),
                             'entries', coalesce(json_agg(entry ORDER BY entry.id DESC), '[]'))
    FROM (
        SELECT chosen.id, t.at, t.actor_type, t.actor_id, t.actor_name, chosen.action, chosen.resource_id,
               chosen.before, chosen.after, t.reason, t.ip, t.user_agent, t.correlation_id,
               {VERSION.format(ago=1)} AS version_before, {VERSION.format(ago=0)} AS version_after
        FROM chosen
        CROSS JOIN LATERAL (SELECT * FROM audit_transactions AS t WHERE t.id = chosen.transaction_id OFFSET 0) AS t
    ) AS entry
) END::text AS page
FROM companies JOIN plans USING (plan)"""


def _search(filters: Collection[str]) -> tuple[str, str, str]:
    """What finds all that the filters leave, how many entries that is, and the condition on those of the page.

    All entries have numbers without gaps, so that a page costs the same wherever it lies. Filters on transactions
    look at those alone, each of which knows the numbers of its entries; only a filter on actions looks at every entry.
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
        before, after = difference(row["version_before"], row["version_after"])
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


def _fields(held: Sequence[Any]) -> dict[str, Any]:
    return present.fields(dict(zip(detail.COLUMNS, held, strict=True)))


_NOTHING: Final = _fields([None] * len(detail.COLUMNS))


def difference(old: Sequence[Any] | None, new: Sequence[Any]) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """The fields that differ as they were and as they are; of a new SKU those that have a value."""
    is_now = _fields(new)
    was = _NOTHING if old is None else _fields(old)
    changed = [name for name in is_now if is_now[name] != was[name]]
    return None if old is None else {name: was[name] for name in changed}, {name: is_now[name] for name in changed}
