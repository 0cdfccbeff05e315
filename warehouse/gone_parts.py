"""Tells which parts that a supplier was asked about their SKU has no longer.

The statements name the request `requests` and one part of it `part`, by its `line_id`.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from schemas.skus.types import PartFacts
from warehouse.operate.sessions import Connection

IS_GONE: Final = """EXISTS (SELECT FROM skus WHERE skus.id = requests.sku_id AND NOT EXISTS (
    SELECT FROM json_array_elements(skus.components) AS line WHERE (line ->> 'id')::uuid = part.line_id))"""
"""Whether the SKU of `requests` has its `part` no longer. An archived SKU has the parts with which it rests."""
_GONE: Final = f"""
SELECT requests.id, requests.asked -> part.line_id::text FROM supplier_requests AS requests
CROSS JOIN LATERAL unnest(requests.component_ids) WITH ORDINALITY AS part(line_id, place)
WHERE requests.id = ANY(%s) AND {IS_GONE} ORDER BY requests.id, part.place"""


def by_request(conn: Connection, request_ids: Sequence[UUID]) -> dict[UUID, list[PartFacts | None]]:
    """Return what the parts were that these requests ask about and that their SKU has no longer, by request.

    None is one of which it is not known.
    """
    found: dict[UUID, list[PartFacts | None]] = {}
    for request_id, facts in conn.execute(_GONE, [list(request_ids)]):
        found.setdefault(request_id, []).append(facts)
    return found
