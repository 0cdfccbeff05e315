"""What a test hands to runs and ticks in place of what a process opens by itself, and short names for what is in it."""

import threading
from dataclasses import dataclass
from pathlib import Path

from pipelines.engine.resources import Importing, Resources, Retention
from pipelines.imports.process import CHUNK_ROWS
from pipelines.readers.pool import Readers
from tests.keys import with_keys
from warehouse.operate.clock import Clock
from warehouse.operate.objects import Objects
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings
from warehouse.rules import Rulesets


def stock(
    pool: Pool, clock: Clock, folder: Path, readers: Readers | None = None, *, chunk_rows: int = CHUNK_ROWS
) -> Resources:
    """Resources over a test's own database, clock and folder."""
    settings = with_keys(Settings.load(data_dir=folder))
    return Resources(
        pool,
        Objects.from_settings(settings),
        clock,
        Rulesets(),
        readers or Readers(),
        folder,
        settings,
        threading.Event(),
        Importing(chunk_rows=chunk_rows),
        Retention(),
    )


@dataclass(frozen=True, slots=True)
class Stocked:
    """Whoever works with resources."""

    resources: Resources

    @property
    def pool(self) -> Pool:
        return self.resources.postgres

    @property
    def objects(self) -> Objects:
        return self.resources.object_store

    @property
    def clock(self) -> Clock:
        return self.resources.clock

    @property
    def rulesets(self) -> Rulesets:
        return self.resources.rule_sets

    @property
    def readers(self) -> Readers:
        return self.resources.file_readers

    @property
    def data_dir(self) -> Path:
        return self.resources.portfolios

    @property
    def stopping(self) -> threading.Event:
        return self.resources.shutdown
