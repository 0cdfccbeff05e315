"""Stores a company's portfolio as Parquet files of one instant, for figures and answers that read all of it.

    columns.py  the three tables: their columns, and their queries to Postgres
    source.py   rows of Postgres as frames, a part at a time
    changes.py  which SKUs have changed since the snapshot before
    parts.py    the files of a snapshot: written, or taken over from the one before
    publish.py  all of it under a new name, then the pointer moved
    snapshot.py a published snapshot, and which one is current
    follow.py   which companies wrote since, and when they are published
    sweep.py    removes snapshots that nobody reads any more

A snapshot never changes; a newer one replaces it. It is under `snapshots/<company id>/` in the data directory
and has no other company's rows. `warehouse.analytics` and `pipelines.figures` compute from it.
"""

from warehouse.snapshots.columns import SKUS
from warehouse.snapshots.publish import publish, sweep
from warehouse.snapshots.snapshot import Snapshot, current

__all__ = ["SKUS", "Snapshot", "current", "publish", "sweep"]
