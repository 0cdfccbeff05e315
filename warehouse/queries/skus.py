"""The SKU list's page, near and deep, and the DoC status that list and detail share.

`today` is the UTC day of the service's clock, never the database's.
"""

from typing import Any, Final
from uuid import UUID

import psycopg

from warehouse.queries import pages

COVERAGE: Final = """CASE
    WHEN bool_or(docs.status = 'valid' AND coalesce(docs.issued_on <= %(today)s::date, true)
                 AND coalesce(docs.expires_on >= %(today)s::date, true)) THEN 'valid'
    WHEN bool_or(docs.status = 'expired'
                 OR docs.status = 'valid' AND docs.expires_on < %(today)s::date) THEN 'expired'
    WHEN bool_or(docs.status IN ('draft', 'pending')) THEN 'draft'
    ELSE 'missing' END"""
"""What some rows of `docs` together give to their SKU on a day (decisions §3)."""

DOC_STATUS: Final = f"(SELECT {COVERAGE} FROM docs WHERE docs.sku_id = skus.id)"
"""Coverage of a row of `skus` by its DoCs."""

LIST_ITEM: Final = f"""
    id, sku_code, name, description, material, material_subtype,
    coalesce(weight_grams, components_weight_g) AS weight_grams,
    recyclability_grade, recyclability_score, recycled_content_percent, food_contact, product_category, markets,
    {DOC_STATUS} AS doc_status,
    packaging_level, packaging_format, gtin, ppwr_role, brand_id, manufacturing_site_id, packing_site_id,
    {pages.instant("created_at")} AS created_at, {pages.instant("updated_at")} AS updated_at"""
"""SkuListItem in the order of the contract, out of a row of `skus`."""


def code_of(connection: psycopg.Connection[Any], sku_id: UUID) -> str | None:
    """The code of the session's company's SKU; None where it has none of that id. A code never changes."""
    row = connection.execute("SELECT sku_code FROM skus WHERE id = %s", [sku_id]).fetchone()
    return None if row is None else str(row[0])


def id_of(connection: psycopg.Connection[Any], sku_code: str) -> UUID | None:
    """The id of the session's company's SKU; None where it has none of that code."""
    row = connection.execute("SELECT id FROM skus WHERE sku_code = %s", [sku_code]).fetchone()
    return None if row is None else row[0]


PROVISIONAL: Final = """
SELECT coalesce(array_agg(id::text), '{}') FROM skus WHERE id = ANY(%(ids)s::uuid[]) AND grade_provisional"""
"""Those of some SKUs whose grade a fact that nobody gave could change."""


_NEWEST_FIRST: Final = "skus.created_at DESC, skus.id"
_OLDEST_FIRST: Final = "skus.created_at, skus.id DESC"
_HELD: Final = "coalesce((SELECT company_counters.skus FROM company_counters), 0)"
_FILTER: Final = """
    WHERE (%(sku_codes)s::text[] IS NULL OR sku_code = ANY(%(sku_codes)s::text[]))
      AND (%(updated_since)s::timestamptz IS NULL OR updated_at >= %(updated_since)s::timestamptz)"""
_DEEP: Final = 1000
"""Rows to skip from which on it pays to ask which end of the list is nearer."""


def page(limit: int, offset: int, *, filtered: bool) -> str:
    """SkuListResponse as one JSON text, `page`, for the parameter `today`.

    Unfiltered, the total is the counter that the plan's limit is held against. Filtered, it counts what `sku_codes`
    and `updated_since` leave, either of which may be null.
    """
    total, rows = _HELD, None
    if filtered:
        total = f"(SELECT count(*) FROM skus {_FILTER})"
        rows = f"SELECT * FROM skus {_FILTER} ORDER BY {_NEWEST_FIRST} LIMIT {limit:d} OFFSET {offset:d}"
    elif offset >= _DEEP:
        rows = _deep(limit, offset)
    return pages.page(LIST_ITEM, "skus", order=_NEWEST_FIRST, limit=limit, offset=offset, rows=rows, total=total)


def _deep(limit: int, offset: int) -> str:
    """The rows of a page far from the top, found from whichever end of the list is nearer.

    To skip rows Postgres must walk over them, so that half of the list is the most that is ever walked. Only ids are
    read on the way, out of the index. From the end on, the page begins at the counter's total less what stands before
    it: the counter is written with the rows that it counts, so that one statement sees both as they were together.
    """
    before = f"({_HELD} - {offset:d})"
    near_top = f"{_HELD} >= {2 * offset:d}"
    return f"""SELECT * FROM skus WHERE id = ANY(ARRAY(
        (SELECT id FROM skus ORDER BY {_NEWEST_FIRST}
         LIMIT CASE WHEN {near_top} THEN {limit:d} ELSE 0 END OFFSET {offset:d})
        UNION ALL
        (SELECT id FROM skus ORDER BY {_OLDEST_FIRST}
         LIMIT CASE WHEN {near_top} THEN 0 ELSE greatest(least({before}, {limit:d}), 0) END
         OFFSET greatest({before} - {limit:d}, 0))))"""
