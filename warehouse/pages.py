"""Builds one page of a list as one statement that returns JSON text, `{"data": […], "pagination": {…}}` (decisions §1).

The database builds the body of every list, because rows, objects and a serialiser in Python cost several times as much.
The columns of an item belong to each list's own module (`skus`, `library`, `docs`, …).
"""

from collections.abc import Mapping
from types import MappingProxyType


def instant(column: str) -> str:
    """Return SQL for an instant as RFC 3339 in UTC with Z; microseconds only where there are any, as in details."""
    text = f"to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US') || 'Z'"
    return f"replace({text}, '.000000Z', 'Z')"


def page(
    item: str,
    table: str,
    *,
    order: str,
    limit: int,
    offset: int,
    rows: str | None = None,
    total: str | None = None,
    beside: str = "",
    more: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return SQL for a list's answer as the column `page` of one row.

    `item` is the select list of an item, `order` a total order of the table's rows. `rows` selects the page's rows, and
    `total` counts all of the list, where there is a cheaper way than to skip and to count. `beside` joins other tables
    that an item needs, `more` names the answer's members beside data and pagination. Limit and offset are in the text
    and not in parameters: the plan depends on them, so that Postgres would plan a prepared statement anew each time, at
    half the query's cost.
    """
    chosen = rows or f"SELECT * FROM {table} ORDER BY {order} LIMIT {limit:d} OFFSET {offset:d}"
    others = "".join(f", '{name}', {expression}" for name, expression in more.items())
    counted = total or f"(SELECT count(*) FROM {table})"
    return f"""
SELECT json_build_object(
    'data', coalesce((SELECT json_agg(item) FROM (
        SELECT {item} FROM ({chosen}) AS {table}{beside} ORDER BY {order}) AS item), '[]'::json),
    'pagination', json_build_object('limit', {limit:d}, 'offset', {offset:d}, 'total', {counted}){others}
)::text AS page"""
