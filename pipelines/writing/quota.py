"""Checks the plan's storage quota: counts a company's bytes of technical files and uploads, and refuses more.

A dry run is never refused (decisions §12): exports and the uploads of ended dry runs are removed to free storage for
other files, the oldest first. Other derived files (tables read from uploads, snapshots, figures) are not counted.
"""

from datetime import datetime
from functools import partial
from uuid import UUID

from pipelines.writing.plans import PlanLimitReached
from schemas.messages import Message
from warehouse.companies import limits
from warehouse.objects import Objects
from warehouse.sessions import Connection, after_commit


class StorageFull(PlanLimitReached):
    """The file would exceed the plan's storage; nothing was stored. `limit`, `held` and `new` are bytes."""

    def __init__(self, limit: int, held: int, new: int) -> None:
        """Add to the message what an operator can do."""
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
    """Check that the company may store a file of this size, in its session; raise `StorageFull` where it may not.

    Files that make room are removed when the caller's transaction has committed.
    """
    if (limit := limits.storage_locked(conn, company_id)) is None:
        return
    stored = limits.stored_bytes(conn)
    if stored + new_bytes > limit:
        stored -= _free_bytes(conn, objects, stored + new_bytes - limit, now)
    if stored + new_bytes > limit and not dry_run:
        raise StorageFull(limit, stored, new_bytes)


def _free_bytes(conn: Connection, objects: Objects, wanted: int, now: datetime) -> int:
    """Give up exports and uploads of dry runs until so many bytes are free or none is left; return the bytes freed."""
    freed, removed = 0, []
    for file in limits.replaceable(conn):
        if freed >= wanted:
            break
        removed.append(file)
        freed += file.size_bytes
    limits.removed(conn, removed, now)
    after_commit(conn, partial(objects.remove, *(file.key for file in removed)))
    return freed
