"""An import whose reading is stopped in the worker fails once, with what to do, and the worker goes on to the next."""

from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest

from pipelines.steps.readers import Limits, Readers
from pipelines.worker import Worker
from tests.pipelines.conftest import Desk
from tests.pipelines.readers.files import SMALL, large_volumes


@pytest.fixture
def strict(desk: Desk) -> Iterator[Desk]:
    """The desk of a worker whose readers may take little."""
    with Readers(Limits(cpu_seconds=0.15)) as readers:
        yield replace(desk, workshop=replace(desk.workshop, readers=readers))


def test_an_import_that_is_stopped_fails_once_and_the_next_is_done(strict, desk, new_company, database, tmp_path):
    hostile = [strict.send(large_volumes()) for _ in range(2)]
    other = replace(strict, company=new_company("enterprise"))
    good = other.send(SMALL)
    ended = []
    worker = Worker(
        strict.workshop, lambda: psycopg.connect(database.app_url, autocommit=True), lambda: desk.instance, tmp_path,
        ended=ended.append,
    )  # fmt: skip
    while not ended:  # a run that fails leaves the rest for the next sweep
        worker.drain(desk.instance)
    assert other.poll(good)["status"] == "completed"
    failed = [found for found in map(strict.poll, hostile) if found["status"] == "failed"]
    assert failed
    for found in failed:
        assert found["failure"]["code"] == "unreadable_file"
        assert found["failure"]["message"].startswith("Reading the file took more than 0.15 seconds of computing")
    attempts = strict.rows("SELECT attempts FROM imports WHERE company_id = %s AND status = 'failed'")
    assert set(attempts) == {(1,)}
