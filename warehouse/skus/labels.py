"""Lists the SKUs on the French market by the sorting label that is recorded of their packaging.

`compliance.item_rules` has the rule on the Triman mark. What decides is recorded in part only: whether packaging ends
as household waste is read from its level.
"""

from typing import Final

from psycopg.rows import dict_row

from schemas.json_values import JsonObject
from warehouse.sessions import Connection
from warehouse.skus.search import IN_MARKET

STATES: Final = ("lacks_mark", "not_recorded", "has_mark", "exempt", "not_for_households")
"""The states, the gravest first. `lacks_mark`: another label or none is recorded; `exempt`: drinks in glass."""
_STATE: Final = """CASE
    WHEN packaging_level = 'transport' THEN 'not_for_households'
    WHEN material = 'glass' AND 'beverage' = ANY(use_contexts) THEN 'exempt'
    WHEN sorting_label_scheme IN ('triman_fr', 'info_tri_fr') THEN 'has_mark'
    WHEN sorting_label_scheme IS NULL THEN 'not_recorded'
    ELSE 'lacks_mark' END"""
_JUDGED: Final = f"""
SELECT sku_code, name, sorting_label_scheme, packaging_level, {_STATE} AS state FROM skus WHERE {IN_MARKET}"""
_COUNTS: Final = f"SELECT state, count(*) FROM ({_JUDGED}) AS judged GROUP BY state"
_PAGE: Final = f"""
SELECT sku_code, name, state, sorting_label_scheme, packaging_level FROM ({_JUDGED}) AS judged
WHERE %(state)s::text IS NULL OR state = %(state)s::text
ORDER BY array_position(%(order)s::text[], state), sku_code COLLATE "C" LIMIT %(limit)s OFFSET %(offset)s"""
_MARKET: Final = "FR"


def by_label(
    conn: Connection, *, state: str | None, limit: int, offset: int
) -> tuple[dict[str, int], list[JsonObject]]:
    """Return how many SKUs have each state, and a page of those of one state, or of all, the gravest first."""
    asked = {"market": _MARKET, "state": state, "order": list(STATES), "limit": limit, "offset": offset}
    counts = dict(conn.execute(_COUNTS, asked).fetchall())
    with conn.cursor(row_factory=dict_row) as cursor:
        return {name: counts.get(name, 0) for name in STATES}, cursor.execute(_PAGE, asked).fetchall()
