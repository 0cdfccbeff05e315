"""The SKU list as one statement that answers JSON text, and the DoC status that list and detail share.

The database builds the list's body, because a page through rows, objects and a serialiser costs several times as
much (docs/decisions). `today` is the UTC day of the service's clock, never the database's.
"""

from typing import Final

DOC_STATUS: Final = """
(SELECT CASE
    WHEN bool_or(docs.status = 'valid' AND coalesce(docs.issued_on <= %(today)s::date, true)
                 AND coalesce(docs.expires_on >= %(today)s::date, true)) THEN 'valid'
    WHEN bool_or(docs.status = 'expired'
                 OR docs.status = 'valid' AND docs.expires_on < %(today)s::date) THEN 'expired'
    WHEN bool_or(docs.status IN ('draft', 'pending')) THEN 'draft'
    ELSE 'missing' END
 FROM docs WHERE docs.sku_id = skus.id)"""
"""Coverage of a row of `skus` by its DoCs on a day (decisions §3)."""


def _instant(column: str) -> str:
    """RFC 3339 in UTC with Z, microseconds only where there are any: as the detail shows it."""
    text = f"to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US') || 'Z'"
    return f"replace({text}, '.000000Z', 'Z')"


LIST_ITEM: Final = f"""
    id, sku_code, name, description, material, material_subtype,
    coalesce(weight_grams, components_weight_g) AS weight_grams,
    recyclability_grade, recyclability_score, recycled_content_percent, food_contact, product_category, markets,
    {DOC_STATUS} AS doc_status,
    packaging_level, packaging_format, gtin, ppwr_role, brand_id, manufacturing_site_id, packing_site_id,
    {_instant("created_at")} AS created_at, {_instant("updated_at")} AS updated_at"""
"""SkuListItem in the order of the contract, out of a row of `skus`."""

_HELD: Final = "coalesce((SELECT skus FROM company_counters), 0)"
_FILTER: Final = """
    WHERE (%(sku_codes)s::text[] IS NULL OR sku_code = ANY(%(sku_codes)s::text[]))
      AND (%(updated_since)s::timestamptz IS NULL OR updated_at >= %(updated_since)s::timestamptz)"""


def page(limit: int, offset: int, *, filtered: bool) -> str:
    """SkuListResponse as one JSON text, `page`, for the parameter `today`.

    Unfiltered, the total is the counter that the plan's limit is held against. Filtered, it counts what `sku_codes`
    and `updated_since` leave, either of which may be null. Limit and offset stand in the text and not in parameters:
    the plan hangs on them, so that Postgres would plan a prepared statement anew each time, at half the query's cost.
    """
    where, total = (_FILTER, f"(SELECT count(*) FROM skus {_FILTER})") if filtered else ("", _HELD)
    return f"""
SELECT json_build_object(
    'data', coalesce((SELECT json_agg(item) FROM (
        SELECT {LIST_ITEM}
        FROM (SELECT * FROM skus {where} ORDER BY created_at DESC, id LIMIT {limit:d} OFFSET {offset:d}) AS skus
        ORDER BY skus.created_at DESC, skus.id) AS item), '[]'::json),
    'pagination', json_build_object('limit', {limit:d}, 'offset', {offset:d}, 'total', {total})
)::text AS page"""
