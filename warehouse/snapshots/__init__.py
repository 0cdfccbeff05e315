"""A company's portfolio as Parquet files of one instant, for figures and answers that read all of it.

    columns.py  the three tables: their columns, and what Postgres is asked for them
    source.py   rows of Postgres as frames, a part at a time
    changes.py  which SKUs the snapshot before does not hold as they are
    parts.py    the files of a snapshot: written, or taken over from the one before
    publish.py  all of it under a new name, then the pointer moved
    snapshot.py a published snapshot, and which one is current
    follow.py   which companies wrote since, and when they are published
    sweep.py    removing what nobody reads any more

A snapshot never changes; a newer one takes its place. It lies under `snapshots/<company id>/` in the data directory
and holds nobody else's rows. What is computed from it is `warehouse.analytics` and `pipelines.figures`.
"""

from warehouse.snapshots.columns import SKUS
from warehouse.snapshots.publish import publish, sweep
from warehouse.snapshots.snapshot import Snapshot, current

__all__ = ["SKUS", "Snapshot", "current", "publish", "sweep"]
