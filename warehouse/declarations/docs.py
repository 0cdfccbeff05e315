"""Lists Declarations of Conformity by their metadata, and adds them for operators.

`skus.DOC_STATUS` gives a SKU's coverage by them. `today` is the UTC day of the service's clock.
"""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Final
from uuid import UUID

from psycopg.rows import dict_row

from warehouse import pages
from warehouse.sessions import Connection
from warehouse.skus import queries as skus

_STATUS: Final = (
    "CASE WHEN docs.status = 'valid' AND docs.expires_on < %(today)s::date THEN 'expired' ELSE docs.status END"
)
_ITEM: Final = f"""
    id, sku_id, reference, supplier_name,
    {_STATUS} AS status,
    issued_on::text AS issued_on, expires_on::text AS expires_on,
    {pages.instant("created_at")} AS created_at, {pages.instant("updated_at")} AS updated_at"""
"""DocListItem in the order of the contract; a valid DoC whose last day has passed reads as expired (decisions §11)."""

_ADD: Final = f"""
INSERT INTO docs
    (id, company_id, sku_id, reference, supplier_name, status, issued_on, expires_on, renews, created_at, updated_at)
VALUES (%(id)s, %(company_id)s, %(sku_id)s, %(reference)s, %(supplier_name)s, %(status)s, %(issued_on)s,
    %(expires_on)s, %(renews)s, %(at)s, %(at)s)
RETURNING {_ITEM}"""

_OF_SKU: Final = f"SELECT {_ITEM} FROM docs WHERE sku_id = %(sku_id)s ORDER BY docs.created_at DESC, docs.id LIMIT 50"
_EXPIRING: Final = f"""
SELECT docs.id, docs.reference, docs.supplier_name, docs.expires_on, docs.expires_on - %(today)s::date AS days,
    docs.sku_id, sku.sku_code, sku.name AS sku_name, count(*) OVER () AS total
FROM docs LEFT JOIN LATERAL {skus.named("docs.sku_id")} AS sku ON true
WHERE docs.status = 'valid' AND docs.expires_on BETWEEN %(today)s::date AND %(today)s::date + %(days)s::integer
    AND NOT {skus.is_archived("docs.sku_id")}
ORDER BY docs.expires_on, docs.id LIMIT %(limit)s"""
"""SKUs are looked up one by one, as only those of the page are needed."""


def of_sku(connection: Connection, sku_id: UUID, *, today: date) -> list[dict[str, object]]:
    """Return the newest 50 DoCs of one SKU, in the form of the list."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(_OF_SKU, {"sku_id": sku_id, "today": today}).fetchall()


def expiring_docs(connection: Connection, *, today: date, days: int, limit: int) -> tuple[list[dict[str, object]], int]:
    """Return valid DoCs whose last day is today or within `days`, the first to end first, and their number."""
    with connection.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(_EXPIRING, {"today": today, "days": days, "limit": limit}).fetchall()
    return found, found[0]["total"] if found else 0


def page(limit: int, offset: int) -> str:
    """Return DocListResponse as one JSON text, `page`, newest first, for the parameter `today`."""
    return pages.page(_ITEM, "docs", order="docs.created_at DESC, docs.id", limit=limit, offset=offset)


def found(limit: int, offset: int) -> str:
    """Return the query of a page with the code and name of each SKU, as JSON, the first to end first.

    Its parameters narrow it, null to nothing: `status`, `days` to the last day of a valid one, `sku_code`; and `today`.
    """
    chosen = f"""SELECT docs.*, sku.sku_code, sku.name AS sku_name FROM docs
        LEFT JOIN LATERAL {skus.named("docs.sku_id")} AS sku ON true
        WHERE (%(status)s::text IS NULL OR {_STATUS} = %(status)s::text)
        AND (%(sku_code)s::text IS NULL OR sku.sku_code = %(sku_code)s::text)
        AND (%(days)s::integer IS NULL OR (docs.status = 'valid' AND NOT {skus.is_archived("docs.sku_id")}
            AND docs.expires_on BETWEEN %(today)s::date AND %(today)s::date + %(days)s::integer))"""
    order = "CASE WHEN %(days)s::integer IS NOT NULL THEN docs.expires_on END, docs.created_at DESC, docs.id"
    return pages.page(
        f"{_ITEM}, sku_code, sku_name",
        "docs",
        order=order,
        limit=limit,
        offset=offset,
        rows=f"SELECT * FROM ({chosen}) AS docs ORDER BY {order} LIMIT {limit:d} OFFSET {offset:d}",
        total=f"(SELECT count(*) FROM ({chosen}) AS docs)",
    )


def add(
    connection: Connection, company_id: UUID, doc_id: UUID, *, values: Mapping[str, object], at: datetime
) -> dict[str, object]:
    """Add one DoC in a session of its company, and return the record in the form of the list on that day.

    `values` are `sku_id`, `reference`, `supplier_name`, `status`, `issued_on`, `expires_on`, in a renewal `renews`.
    """
    row = {"renews": None, **values, "id": doc_id, "company_id": company_id, "at": at, "today": at.date()}
    with connection.cursor(row_factory=dict_row) as cursor:
        added = cursor.execute(_ADD, row).fetchone()
    assert added is not None, "an insert returns its row"
    return added


_MARK_EXPIRED: Final = """
UPDATE docs SET expiry_entered = expires_on
WHERE id = ANY(ARRAY(
    SELECT id FROM docs
    WHERE status = 'valid' AND expires_on < %(today)s::date AND expiry_entered IS DISTINCT FROM expires_on
    ORDER BY id LIMIT %(most)s FOR UPDATE))
RETURNING id, expires_on
"""


def mark_expired(conn: Connection, today: date, *, most: int) -> list[tuple[UUID, date]]:
    """Mark at most `most` valid DoCs whose last day is before `today`, each once; return their ids and last days."""
    return conn.execute(_MARK_EXPIRED, {"today": today, "most": most}).fetchall()
