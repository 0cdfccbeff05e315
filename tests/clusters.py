"""Embedded servers of a test's own, with today's tables: copies of one that the run makes once.

What belongs here: a server for tests that start programs on a data directory, or kill them. A test that needs only a
database has one of the run's server (`tests.conftest.migrated`). To make a cluster and its tables costs a second of
processor time, to copy them a fifth.
"""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warehouse.operate.database import Database
from warehouse.operate.embedded import prepare_data_dir, running
from warehouse.operate.embedded.account import Account
from warehouse.operate.migrate import migrate
from warehouse.operate.settings import Settings


@contextmanager
def founded(settings: Settings) -> Iterator[Database]:
    """Run the server of these settings, whose data directory is new, migrated during the block."""
    if settings.database_url is None:
        _copy(_made(), prepare_data_dir(settings.data_dir))
    with running(settings, durable=False) as database:
        migrate(database)
        yield database


def _made() -> Path:
    """The data directory of the run's first such server, which is stopped."""
    made = Path(os.environ["PCDS_TESTS_ROOT"]) / "founded"
    with made.with_suffix(".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            draft = made.with_suffix(".draft")
            with running(Settings.load(data_dir=draft), durable=False) as database:
                migrate(database)
            draft.rename(made)
    return made


def _copy(made: Path, data_dir: Path) -> None:
    """Copy a server's files with their owner; where its account cannot reach them there, none are."""
    is_reached = Account.for_cluster(made / "postgres").reaches(data_dir)
    if is_reached and not (made / "postgres").is_symlink():
        subprocess.run(["cp", "-a", made / "postgres", made / "postgres.json", data_dir], check=True)
