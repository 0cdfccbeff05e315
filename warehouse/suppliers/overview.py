"""Lists whom the company has asked and what came of it: by supplier, and request by request.

A supplier is here the name that a request was made for, whatever its case; the library's suppliers are other records.
What does not belong here: enquiries, which join many requests under one link (`warehouse.suppliers.enquiries`).
"""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Final

from psycopg.rows import dict_row

from schemas.json_values import JsonObject
from warehouse import pages
from warehouse.operate.sessions import Connection
from warehouse.skus import queries as skus
from warehouse.suppliers.enquiries import LAST_ANSWER, STATE

STATES: Final = ("open", "answered", "accepted", "rejected", "ended", "closed")
"""`ended` is what waited for the supplier when its link expired or was withdrawn, `closed` what a restore ended."""
_HAS_ENDED: Final = "(requests.withdrawn_at IS NOT NULL OR requests.expires_at <= %(now)s::timestamptz)"
_STATE: Final = f"CASE WHEN ({STATE}) IN ('open', 'rejected') AND {_HAS_ENDED} THEN 'ended' ELSE {STATE} END"
_COUNTS: Final = ", ".join(f"'{name}', count(*) FILTER (WHERE shown = '{name}')" for name in STATES)
_NAME: Final = "lower(requests.supplier_name)"
_IS_ASKED: Final = f"(%(supplier_name)s::text IS NULL OR {_NAME} = lower(%(supplier_name)s::text))"
_FOUND: Final = f"""
SELECT requests.*, {_STATE} AS shown, last.note, last.filed_at, enquiry.due_on
FROM supplier_requests AS requests {LAST_ANSWER}
LEFT JOIN supplier_enquiries AS enquiry ON enquiry.id = requests.enquiry_id
WHERE {_IS_ASKED} AND (%(state)s::text IS NULL OR {_STATE} = %(state)s::text)"""
_ITEM: Final = f"""
    requests.id, requests.enquiry_id, requests.supplier_name, requests.sku_id, sku.sku_code, sku.name,
    requests.shown AS state, CASE WHEN requests.shown = 'rejected' THEN requests.note END AS note,
    {pages.instant("requests.created_at")} AS created_at, {pages.instant("requests.filed_at")} AS answered_at,
    requests.due_on, {pages.instant("requests.expires_at")} AS expires_at"""
_BESIDE: Final = f" CROSS JOIN LATERAL {skus.named('requests.sku_id')} AS sku"
_ORDER: Final = "requests.created_at DESC, requests.id"
_SUPPLIERS: Final = f"""
SELECT min(found.supplier_name) AS supplier_name,
    json_build_object('total', count(*), {_COUNTS}) AS counts,
    count(*) FILTER (WHERE shown IN ('open', 'rejected') AND found.due_on < %(today)s::date) AS overdue,
    {pages.instant("max(found.created_at)")} AS last_asked_at,
    {pages.instant("max(found.filed_at)")} AS last_answered_at
FROM ({_FOUND}) AS found GROUP BY lower(found.supplier_name)"""
_BY_NAME: Final = "lower(supplier_name), last_asked_at"


_WAITING: Final = f"""
SELECT min(found.supplier_name) AS supplier_name, count(*) AS items,
    {pages.instant("min(found.created_at)")} AS waiting_since, min(found.due_on)::text AS due_on,
    count(*) FILTER (WHERE found.due_on < %(today)s::date) AS overdue,
    (array_agg(sku.sku_code ORDER BY sku.sku_code COLLATE "C"))[:%(codes)s] AS sku_codes,
    count(*) OVER () AS total
FROM ({_FOUND}) AS found{_BESIDE.replace("requests.", "found.")}
WHERE shown IN ('open', 'rejected') GROUP BY lower(found.supplier_name)
ORDER BY min(found.created_at), lower(min(found.supplier_name)) LIMIT %(limit)s OFFSET %(offset)s"""


def waiting(
    conn: Connection, asked: Mapping[str, object], *, codes: int, limit: int, offset: int
) -> tuple[list[JsonObject], int]:
    """Return the suppliers whose answer is awaited, the longest waiting first, and their number.

    `asked` is of `filters`; each has at most so many codes of the SKUs that were asked about. A rejected answer is
    awaited again.
    """
    with conn.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(_WAITING, {**asked, "codes": codes, "limit": limit, "offset": offset}).fetchall()
    total = found[0]["total"] if found else 0
    return [{name: value for name, value in row.items() if name != "total"} for row in found], total


def requests_page(limit: int, offset: int) -> str:
    """Return the query of SupplierRequestListResponse as one JSON text, newest first; parameters of `filters`."""
    return pages.page(
        _ITEM,
        "requests",
        order=_ORDER,
        limit=limit,
        offset=offset,
        rows=f"{_FOUND} ORDER BY {_ORDER} LIMIT {limit:d} OFFSET {offset:d}",
        total=f"(SELECT count(*) FROM ({_FOUND}) AS found)",
        beside=_BESIDE,
    )


def page(limit: int, offset: int) -> str:
    """Return the query of SupplierListResponse as one JSON text, by name, for the parameters of `filters`."""
    return pages.page(
        "suppliers.*",
        "suppliers",
        order=_BY_NAME,
        limit=limit,
        offset=offset,
        rows=f"SELECT * FROM ({_SUPPLIERS}) AS named ORDER BY {_BY_NAME} LIMIT {limit:d} OFFSET {offset:d}",
        total=f"(SELECT count(*) FROM ({_SUPPLIERS}) AS named)",
    )


def filters(
    *, now: datetime, today: date, supplier_name: str | None = None, state: str | None = None
) -> dict[str, object]:
    """Return the parameters of both pages: requests to one supplier only, or in one state only."""
    return {"now": now, "today": today, "supplier_name": supplier_name, "state": state}
