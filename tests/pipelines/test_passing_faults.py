"""An import that was accepted waits for what the machine lacks, wherever it lacks it, and goes on (decisions §13)."""

import errno
import os
import threading
from contextlib import nullcontext, suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import dagster as dg
import obstore
import psycopg
import psycopg2.errors
import pytest
import sqlalchemy.exc

from pipelines.defs.sensors import queued_imports
from pipelines.engine import worker
from pipelines.imports import endings
from pipelines.readers import child
from pipelines.readers.process import ReaderFault
from pipelines.readers.requests import Limits, ReadingStopped
from tests.pipelines.conftest import Desk
from tests.striking import struck
from warehouse.imports import claims
from warehouse.operate.clock import StoppedClock
from warehouse.operate.launches import Launched

FILE = "sku_code,name,material\n" + "\n".join(f"P{number},Bottle,plastic" for number in range(8))
MORE_THAN_ATTEMPTS = claims.MAX_ATTEMPTS + 2


def full(*_: object, **__: object) -> Any:
    raise sqlalchemy.exc.OperationalError("INSERT", {}, psycopg2.errors.DiskFull("could not extend file"))


def completed(desk: Desk, import_id: UUID) -> bool:
    """Whether the import is written whole, once, and its end stands in the ledger, after at most two more runs."""
    for _ in range(2):
        if desk.poll(import_id)["status"] != "completed":
            desk.clock.advance(timedelta(seconds=31))  # a run that could not hand back is believed dead by now
            desk.run(import_id)
    ended = desk.poll(import_id)
    assert ended["counts"]["created"] == 8, ended
    return desk.entries() == {"import.submitted": 1, "sku.created": 8, "import.completed": 1}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings, "_GIVE_BACK_SECONDS", (0.0, 0.0))


@pytest.mark.parametrize(
    ("table", "runs"),
    [("skus", MORE_THAN_ATTEMPTS), ("audit_entries", 1), ("import_errors", 1), ("imports", 1)],
)
def test_a_full_disk_under_any_of_our_tables_never_ends_an_import(desk: Desk, table: str, runs: int) -> None:
    import_id = desk.send(FILE + "\nP9,,plastic")  # a rejected row, for its report
    with struck(desk.database.owner_url, table, desk.company):
        for _ in range(runs):
            assert not desk.run(import_id)
            assert desk.poll(import_id)["status"] in {"queued", "processing"}
    assert completed(desk, import_id)


@pytest.mark.parametrize("state", ["53300", "53200", "55P03", "25006"])
def test_no_lack_of_the_database_ends_an_import(desk: Desk, state: str) -> None:
    import_id = desk.send(FILE)
    with struck(desk.database.owner_url, "audit_entries", desk.company, state):
        assert not desk.run(import_id)
    assert completed(desk, import_id)


@pytest.mark.parametrize("position", [0, 9, 18, 27, 36, 45, 54, 60])
def test_an_event_that_dagsters_storage_did_not_take_ends_no_import(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, position: int
) -> None:
    """Also between two steps, where the hook that fails an import is called or is not."""
    import_id = desk.send(FILE)
    storage, seen = desk.instance.event_log_storage, iter(range(1_000))
    store = storage.store_event

    def stored(event: Any) -> None:
        return full() if next(seen) == position else store(event)

    # Where execution in this process raises, a worker would lose its run.
    with monkeypatch.context() as patched, suppress(Exception):
        patched.setattr(storage, "store_event", stored)
        desk.run(import_id)
    assert desk.poll(import_id)["status"] != "failed"
    assert completed(desk, import_id)


@pytest.mark.parametrize("is_written", [True, False])
def test_no_claim_is_held_while_dagster_stores_what_a_run_has_made(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    """Where its storage fails then, Dagster keeps the step's frame: heartbeats of it would go on for ever."""
    import_id, beating = desk.send(FILE), []
    storage = desk.instance.event_log_storage
    store = storage.store_event

    def stored(event: Any) -> None:
        if event.dagster_event and event.dagster_event.is_step_materialization:
            beating.append(any(str(import_id) in thread.name for thread in threading.enumerate()))
        store(event)

    monkeypatch.setattr(storage, "store_event", stored)
    with nullcontext() if is_written else struck(desk.database.owner_url, "skus", desk.company):
        assert desk.run(import_id) is is_written
    assert beating == [False] * (5 if is_written else 3)
    assert completed(desk, import_id)


def of_reader() -> BaseException:
    error = ReaderFault("OSError in a reader, task type, at answer_file.py:1")
    error.__cause__ = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return error


@pytest.mark.parametrize(
    "lack",
    [
        OSError(errno.EMFILE, "files"),
        OSError(errno.ENOMEM, "memory"),
        MemoryError(),
        psycopg.errors.DiskFull(),
        obstore.exceptions.GenericError("Generic LocalFileSystem error: No space left on device (os error 28)"),
        of_reader(),
    ],
    ids=repr,
)
def test_what_the_reader_or_the_store_lacks_is_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, lack: BaseException
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise lack

    import_id = desk.send(FILE)
    with monkeypatch.context() as patched:
        patched.setattr("pipelines.defs.imports.type_rows", broken)
        assert not desk.run(import_id)
    assert completed(desk, import_id)


def test_a_reader_says_by_number_what_its_machine_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    def task(*_: object) -> None:
        with open("/dev/full", "wb", buffering=0) as answer:  # noqa: PTH123  (as the task has it)
            answer.write(b"1")

    monkeypatch.setattr(child, "TASKS", {"type": task})
    with open(os.devnull, "rb") as source, open(os.devnull, "wb") as answer:  # noqa: PTH123
        said = child._run_request({"task": "type", "arguments": {}}, source, answer, 5.0)
    assert (said["fault"], said["errno"]) == ("OSError", errno.ENOSPC)


def test_a_reader_that_is_lost_costs_an_attempt_and_not_the_import(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel ends readers where memory is short; a file that ends each of them ends its import after five runs."""

    def lost(*_: object) -> None:
        raise ReadingStopped("crash", Limits(), "table")

    once, always = desk.send(FILE), desk.send(FILE.replace("P", "Q"))
    with monkeypatch.context() as patched:
        patched.setattr(desk.readers, "read", lost)
        assert not desk.run(once)
        assert desk.poll(once)["status"] == "processing"
    assert desk.run(once)
    with monkeypatch.context() as patched:
        patched.setattr(desk.readers, "read", lost)
        for _ in range(claims.MAX_ATTEMPTS):
            assert not desk.run(always)
    assert desk.poll(always)["failure"]["code"] == "unreadable_file"
    assert desk.entries()["import.failed"] == 1


def test_each_run_after_a_lack_comes_later_than_the_one_before(desk: Desk, clock: StoppedClock) -> None:
    import_id = desk.send(FILE)
    clock.advance(timedelta(seconds=10))

    def asked() -> bool:
        context = dg.build_sensor_context(desk.instance, resources=desk.resources.as_definitions())
        result: Any = queued_imports(context)
        return str(import_id) in {request.tags["pcds/import_id"] for request in result.run_requests}

    with struck(desk.database.owner_url, "skus", desk.company):
        assert asked()
        assert not desk.run(import_id)
        assert asked(), "the first lack may be over at once"
        assert not desk.run(import_id)
        assert not asked(), "the second waits some seconds"


class Unended:
    """A run that Dagster's storage knows as started, whatever was done with it."""

    run_id, job_name, status, is_finished, job_code_origin = "r", "import_file", dg.DagsterRunStatus.STARTED, False, 1


def test_a_run_whose_end_was_not_stored_is_given_up_by_its_worker_and_so_resumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dagster passes over it; the run would count as started, and its import as worked on, for ever."""
    instance: Any = type("Instance", (), {"get_run_by_id": lambda *_: Unended()})()
    monkeypatch.setattr(worker, "execute", lambda *_, **__: None)
    monkeypatch.setattr(worker.steps, "run", lambda *_: nullcontext())
    serving = worker.Worker(threading.Event(), "", instance)
    assert not serving._execute(Launched("r", resume=False))
