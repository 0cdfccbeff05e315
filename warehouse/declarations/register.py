"""Lists declarations of conformity with their items, languages, renewals and ends, and withdraws one.

`docs.py` has the contract's list of the same records. `today` is the UTC day of the service's clock.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final
from uuid import UUID

from psycopg.rows import class_row

from warehouse import pages
from warehouse.sessions import Connection
from warehouse.skus import queries as skus

_STATE: Final = """CASE
    WHEN docs.withdrawn_at IS NOT NULL THEN 'withdrawn'
    WHEN docs.status = 'valid' AND docs.expires_on < %(today)s::date THEN 'expired'
    ELSE docs.status END"""
STATES: Final = ("draft", "pending", "valid", "expired", "rejected", "withdrawn")
_NEWER: Final = "FROM docs AS newer WHERE newer.renews = docs.id AND newer.status = 'valid'"
_ITEM: Final = f"""
    docs.id, docs.sku_id, sku.sku_code, sku.name AS sku_name, docs.reference, docs.supplier_name,
    {_STATE} AS state, docs.issued_on::text AS issued_on, docs.expires_on::text AS expires_on,
    docs.expires_on - %(today)s::date AS days_left,
    (SELECT coalesce(json_agg(issued.lang ORDER BY issued.place, issued.lang), '[]'::json) FROM (
        SELECT content ->> 'lang' AS lang, 0 AS place FROM issued_declarations WHERE doc_id = docs.id
        UNION ALL SELECT lang, 1 FROM issued_translations WHERE doc_id = docs.id) AS issued) AS languages,
    docs.renews, (SELECT newer.id {_NEWER} ORDER BY newer.created_at DESC, newer.id LIMIT 1) AS renewed_by,
    {pages.instant("docs.withdrawn_at")} AS withdrawn_at, docs.withdrawn_reason,
    {pages.instant("docs.created_at")} AS created_at, {pages.instant("docs.updated_at")} AS updated_at"""
_BESIDE: Final = f"""
LEFT JOIN LATERAL {skus.named("docs.sku_id")} AS sku ON true"""
_FOUND: Final = f"""
FROM docs WHERE (%(sku_id)s::uuid IS NULL OR docs.sku_id = %(sku_id)s::uuid)
    AND (%(state)s::text IS NULL OR {_STATE} = %(state)s::text)
    AND (%(ends_within)s::integer IS NULL
         OR docs.status = 'valid'
            AND docs.expires_on BETWEEN %(today)s::date AND %(today)s::date + %(ends_within)s::integer
            AND NOT EXISTS (SELECT {_NEWER}) AND NOT {skus.is_archived("docs.sku_id")})"""
_ORDER: Final = """
    CASE WHEN %(ends_within)s::integer IS NOT NULL THEN docs.expires_on END, docs.created_at DESC, docs.id"""
_ONE: Final = f"""
SELECT row_to_json(item)::text FROM (SELECT {_ITEM} FROM docs {_BESIDE} WHERE docs.id = %(doc_id)s) AS item"""
_LOCK: Final = f"""
SELECT docs.id, docs.sku_id, docs.reference, {_STATE} AS state, docs.status FROM docs
WHERE docs.id = %(doc_id)s FOR UPDATE"""
_WITHDRAW: Final = """
UPDATE docs SET status = 'rejected', withdrawn_at = %(at)s, withdrawn_reason = %(reason)s, updated_at = %(at)s
WHERE id = %(doc_id)s"""


@dataclass(frozen=True, slots=True)
class Doc:
    """One record of `docs` as far as renewing and withdrawing read it; `status` is the stored one."""

    id: UUID
    sku_id: UUID | None
    reference: str | None
    state: str
    status: str


def page(limit: int, offset: int) -> str:
    """Return the list's answer as one JSON text, `page`, for the parameters of `filters`."""
    return pages.page(
        _ITEM,
        "docs",
        order=_ORDER,
        limit=limit,
        offset=offset,
        rows=f"SELECT * {_FOUND} ORDER BY {_ORDER} LIMIT {limit:d} OFFSET {offset:d}",
        total=f"(SELECT count(*) {_FOUND})",
        beside=_BESIDE,
    )


def filters(
    *, today: date, sku_id: UUID | None = None, state: str | None = None, ends_within: int | None = None
) -> dict[str, object]:
    """Return the parameters of `page`: only those of a SKU, in a state, or valid ones that end within so many days.

    A declaration that a valid one renews is none of those that end. The first to end comes first, else the newest.
    """
    return {"today": today, "sku_id": sku_id, "state": state, "ends_within": ends_within}


def one_query() -> str:
    """Return the query of one record as JSON text, for the parameters `doc_id` and `today`; no row where it is none."""
    return _ONE


def lock(connection: Connection, doc_id: UUID, *, today: date) -> Doc | None:
    """Return one record of the session's company, locked until the transaction ends."""
    with connection.cursor(row_factory=class_row(Doc)) as cursor:
        return cursor.execute(_LOCK, {"doc_id": doc_id, "today": today}).fetchone()


def withdraw(connection: Connection, doc_id: UUID, *, reason: str, at: datetime) -> None:
    """Mark a record as withdrawn: it covers its SKU no longer, and stays."""
    connection.execute(_WITHDRAW, {"doc_id": doc_id, "reason": reason, "at": at})
