"""The plan's storage: how many bytes of technical files and uploads a company keeps, and the refusal above its quota.

A dry run is never refused (decisions §12): uploads of dry runs that have ended make room for whatever comes, the oldest
first. Derived files (tables read from uploads, snapshots, figures) are not counted.
"""

from datetime import datetime
from uuid import UUID

from pipelines.writing.plans import PlanLimitReached
from schemas.messages import Message
from warehouse.companies import limits
from warehouse.objects import Objects
from warehouse.sessions import Connection


class StorageFull(PlanLimitReached):
    """The file would pass the plan's storage; nothing was stored. `limit`, `held` and `new` are bytes."""

    def __init__(self, limit: int, held: int, new: int) -> None:
        """Says what an operator can do."""
        super().__init__(limit, held, new)
        message = Message(
            "The plan stores {limit} bytes of technical files and uploads; {held} are held and this would add {new}. "
            "Ask the operator for a larger plan.",
            limit=limit,
            held=held,
            new=new,
        )
        self.args = (message,)


def admit(
    conn: Connection, objects: Objects, company_id: UUID, *, new_bytes: int, now: datetime, dry_run: bool = False
) -> None:
    """Make room for a file of so many bytes in the company's session; raises `StorageFull` where there is none.

    What is removed to make room is removed for good, also where the caller's transaction is undone: it was a dry run's.
    """
    if (limit := limits.storage_locked(conn, company_id)) is None:
        return
    held = limits.stored_bytes(conn)
    if held + new_bytes > limit:
        held -= _make_room(conn, objects, held + new_bytes - limit, now)
    if held + new_bytes > limit and not dry_run:
        raise StorageFull(limit, held, new_bytes)


def _make_room(conn: Connection, objects: Objects, wanted: int, now: datetime) -> int:
    """Remove uploads of dry runs until so many bytes are free or none is left; the bytes that were."""
    freed, removed = 0, []
    for upload in limits.uploads_of_dry_runs(conn):
        if freed >= wanted:
            break
        objects.delete(upload.key)
        removed.append(upload.import_id)
        freed += upload.size_bytes
    limits.uploads_removed(conn, removed, now)
    return freed
