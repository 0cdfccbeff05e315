"""Reads accepted answers and proposals with the graphs of their SKU: at the time of asking, and as the write met it."""

from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

import orjson

from schemas.json_values import JsonObject
from schemas.sku import Component, PartFacts
from warehouse.sessions import Connection
from warehouse.skus import queries as skus
from warehouse.skus.earlier import GRAPH_AT

_APPLIED: Final = f"""
SELECT entries.id, entries.kind, entries.sku_id, sku.sku_code, entries.payload, requests.asked,
    ({GRAPH_AT.format(sku="entries.sku_id", until="<= coalesce(requests.created_at, entries.filed_at)")}),
    ({GRAPH_AT.format(sku="entries.sku_id", until="< entries.decided_at")}),
    entries.filed_by_name, entries.decided_by_name, entries.decided_at
FROM review_entries AS entries
LEFT JOIN supplier_requests AS requests ON requests.id = entries.request_id
LEFT JOIN LATERAL {skus.named("entries.sku_id")} AS sku ON true
WHERE entries.state = 'accepted' AND entries.kind IN ('supplier_answer', 'sku_update')
    AND entries.sku_id IS NOT NULL AND entries.decided -> 'asked' IS NULL
ORDER BY entries.decided_at DESC, entries.id"""
"""A decision that kept what was asked about was made by a person who was shown it."""


class Applied(NamedTuple):
    """An accepted entry: its payload (`services.review.entries`), and what its request kept of the parts, if anything.

    `lines_asked` is the graph at the time of asking, `lines_met` the one that the write met.
    """

    entry_id: UUID
    kind: str
    sku_id: UUID
    sku_code: str | None
    payload: JsonObject
    asked: dict[str, PartFacts] | None
    lines_asked: list[Component]
    lines_met: list[Component]
    filed_by: str | None
    decided_by: str | None
    decided_at: datetime


def of_company(conn: Connection) -> list[Applied]:
    """Return those of the session's company that were decided before decisions kept it, the latest first."""
    rows = conn.execute(_APPLIED).fetchall()
    return [Applied(*row[:6], *(orjson.loads(graph or "[]") for graph in row[6:8]), *row[8:]) for row in rows]
