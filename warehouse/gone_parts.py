"""Tells which parts that a supplier was asked about their SKU has no longer.

The statements name the request `requests` and one part of it `part`, by its `line_id`.
"""

from typing import Final

from warehouse.skus import queries as skus

IS_GONE: Final = f"""(NOT EXISTS (SELECT FROM skus
        WHERE skus.id = requests.sku_id AND skus.updated_at < requests.created_at - interval '1 hour')
    AND NOT EXISTS (SELECT FROM json_array_elements({skus.graph_query("requests.sku_id")}) AS line
        WHERE (line ->> 'id')::uuid = part.line_id))"""
"""Whether the SKU of `requests` has its `part` no longer. An archived SKU has the parts with which it rests.

A graph costs ten times as much to read as to see that nobody has written it since; no write takes an hour.
"""
OF_REQUEST: Final = f"""(
    SELECT coalesce(json_agg(json_build_object(
        'component_id', part.line_id, 'was', requests.asked -> part.line_id::text) ORDER BY part.place), '[]')
    FROM unnest(requests.component_ids) WITH ORDINALITY AS part(line_id, place) WHERE {IS_GONE}) AS gone_parts"""
"""The column of the parts of `requests` that are gone (`schemas.suppliers.GonePart`), for every door."""
IS_ASKED: Final = f"(requests.state = 'closed' OR requests.withdrawn_at IS NULL AND NOT {IS_GONE})"
"""Whether the `part` of `requests` was answered, or can be."""
