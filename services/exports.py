"""Queues exports of the whole portfolio; a run writes the file (`pipelines.exports`)."""

from typing import Final, cast
from uuid import UUID

from uuid_utils import uuid7

from schemas.actors import Actor
from schemas.exports import Export, ExportInput
from schemas.refusals import Refused
from warehouse import exports
from warehouse.companies.queries import counters
from warehouse.operate.sessions import Connection

MOST_OPEN: Final = 5
"""Exports of a company that may wait or be written at a time."""


def queue(conn: Connection, actor: Actor, sent: ExportInput, *, dry_run: bool) -> Export:
    """Queue an export; with `dry_run` return it as it would be. Raise `Refused` while `MOST_OPEN` are not done."""
    if dry_run:
        return _as_queued(sent, actor, counters(conn).skus)
    if exports.open_ones(conn) >= MOST_OPEN:
        raise Refused([], "rate_limited")
    export_id = UUID(str(uuid7()))
    row = {
        "id": export_id,
        "company_id": actor.company_id,
        "format": sent.format,
        "source": sent.source,
        "object_key": f"{actor.company_id}/exports/{export_id}/file",
        "client_id": actor.origin.actor_id,
        "client_name": actor.origin.actor_name or "",
        "at": actor.now,
    }
    exports.add(conn, row)
    export = exports.one(conn, export_id, actor.now)
    assert export is not None, "it was added in this transaction"
    return export


def _as_queued(sent: ExportInput, actor: Actor, skus: int) -> Export:
    empty = cast(Export, dict.fromkeys(Export.__annotations__))
    return {
        **empty,
        "format": sent.format,
        "source": sent.source,
        "status": "queued",
        "skus_total": skus,
        "skus_done": 0,
        "created_at": actor.now,
    }
