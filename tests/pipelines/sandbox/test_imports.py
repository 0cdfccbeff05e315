"""An import whose reading is stopped in the worker fails once, with what to do, and the worker goes on to the next."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from uuid import UUID

import pytest

from pipelines.readers.pool import Readers
from pipelines.readers.requests import Limits
from tests.pipelines.conftest import Desk
from tests.pipelines.sandbox.files import SMALL, large_volumes


@pytest.fixture
def strict(desk: Desk) -> Iterator[Desk]:
    """The desk of a worker whose readers may take little."""
    with Readers(Limits(cpu_seconds=0.3)) as readers:
        yield replace(desk, resources=desk.resources._replace(file_readers=readers))


def test_an_import_that_is_stopped_fails_once_and_the_next_is_done(strict: Desk, new_company: Callable[[str], UUID]):
    hostile = strict.send(large_volumes())
    other = replace(strict, company=new_company("enterprise"))
    good = other.send(SMALL)
    assert not strict.run(hostile)
    assert other.run(good)
    assert other.poll(good)["status"] == "completed"
    found = strict.poll(hostile)
    assert (found["status"], found["failure"]["code"]) == ("failed", "unreadable_file")
    assert found["failure"]["message"].startswith("Reading the file took more than 0.3 seconds of computing")
    assert strict.rows("SELECT attempts FROM imports WHERE company_id = %s") == [(1,)]
    assert strict.run(hostile), "a run that has nothing to do is no failure"
    assert strict.rows("SELECT attempts FROM imports WHERE company_id = %s") == [(1,)], "it is not tried again"
