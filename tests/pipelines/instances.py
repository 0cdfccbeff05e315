"""Dagster instances in memory, made without what no test asks of them.

Dagster reads all migrations of its storages for each instance, only to note in its tables which one is the newest: a
sixth of a test's time that starts one short run.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import dagster as dg
from dagster._core.storage.event_log import in_memory as events
from dagster._core.storage.runs import in_memory as runs


@contextmanager
def ephemeral() -> Iterator[dg.DagsterInstance]:
    """Yield an instance that lives as long as the block."""
    with (
        patch.object(events, "stamp_alembic_rev"),
        patch.object(runs, "stamp_alembic_rev"),
    ):
        instance = dg.DagsterInstance.ephemeral()
    with instance:
        yield instance
