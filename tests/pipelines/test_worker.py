"""The worker's loop: woken by a submission, outliving the database's connections, ending when it is told to."""

import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pipelines.worker import Worker
from tests.pipelines.conftest import Desk
from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse.database import Database

FILE = "\n".join(["sku_code,name,material", *(f"W{number},Bottle,plastic" for number in range(8))])


@pytest.fixture
def serving(desk: Desk, database: Database, tmp_path: Path) -> Iterator[threading.Thread]:
    """A worker in a thread of this process."""
    worker = Worker(
        desk.workshop, lambda: psycopg.connect(database.app_url, autocommit=True), lambda: desk.instance, tmp_path
    )
    thread = threading.Thread(target=worker.serve)
    thread.start()
    yield thread
    desk.workshop.stopping.set()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


def ends(desk: Desk, content: str) -> dict[str, object]:
    import_id = desk.send(content)
    wait_until(lambda: desk.poll(import_id)["status"] in ("completed", "failed"))
    return desk.poll(import_id)


def test_a_submission_wakes_the_worker(desk: Desk, serving: threading.Thread) -> None:
    assert ends(desk, FILE)["status"] == "completed"
    assert ends(desk, FILE)["counts"] == {"total": 8, "created": 0, "updated": 0, "unchanged": 8, "rejected": 0}


def test_the_worker_outlives_its_connections(desk: Desk, serving: threading.Thread, database: Database) -> None:
    assert ends(desk, FILE)["status"] == "completed"
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        owner.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE usename = 'pcds_app' AND datname = current_database()"
        )
    assert ends(desk, FILE.replace("Bottle", "Jar"))["status"] == "completed"
