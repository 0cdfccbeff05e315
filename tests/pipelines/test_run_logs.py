"""Logs of runs: what is captured, where it lies, who reads it, and when it goes."""

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import dagster as dg
import pytest
import structlog

from pipelines.definitions import defs
from pipelines.engine import capture, run_logs
from pipelines.engine.run_logs import ComputeIOType, RunLogs
from tests.pipelines.conftest import Desk
from tests.waiting import wait_until
from warehouse import logs
from warehouse.database import Database
from warehouse.settings import Settings

Opened = Callable[..., dg.DagsterInstance]


@dg.op(config_schema=str)
def speaking(context: dg.OpExecutionContext) -> None:
    print(f"printed by {context.op_config}")
    sys.stderr.write(f"written by {context.op_config}\n")
    structlog.get_logger("ours").info("told", by=context.op_config, api_key="svc_hunter2")


@dg.op
def breaking() -> None:
    raise ArithmeticError("This is how it broke.")


@dg.job(logger_defs=defs.loggers or {})
def spoken() -> None:
    speaking()


@dg.job
def broken() -> None:
    breaking()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens instances, each on a machine of its own; those with a store share it."""
    for folder in ("home", "store"):
        (tmp_path / folder).mkdir()
    with ExitStack() as ends:

        def open_one(folder: str = "here", *, store: bool = False) -> dg.DagsterInstance:
            at = {"folder": str(tmp_path / folder), "store": (tmp_path / "store").as_uri() if store else ""}
            ours = {"module": "pipelines.engine.run_logs", "class": "RunLogs", "config": at}
            home = dg.instance_for_test(overrides={"compute_logs": ours}, temp_dir=str(tmp_path / "home"))
            return ends.enter_context(home)

        yield open_one


@contextmanager
def as_a_worker() -> Iterator[None]:
    """Logging as a process of the service has it."""
    root = logging.getLogger()
    handlers, level, configured = [*root.handlers], root.level, structlog.get_config()
    logs.configure(Settings.load(log_level="info"))
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        structlog.configure(**configured)


def ran(instance: dg.DagsterInstance, by: str) -> dg.ExecuteInProcessResult:
    config = {"ops": {"speaking": {"config": by}}, "loggers": {"console": {}}}
    return spoken.execute_in_process(run_config=config, instance=instance)


def key_of(run: dg.ExecuteInProcessResult) -> list[str]:
    """The key of its log, as the event says it that the page reads."""
    [event] = [event for event in run.all_events if event.event_type_value == "LOGS_CAPTURED"]
    return [run.run_id, "compute_logs", event.logs_captured_data.file_key]


def read(instance: dg.DagsterInstance, key: list[str]) -> tuple[str, str]:
    found = instance.compute_log_manager.get_log_data(key)
    return (found.stdout or b"").decode(), (found.stderr or b"").decode()


def test_a_runs_log_has_its_own_lines_and_the_process_has_them_still(
    opened: Opened, capfd: pytest.CaptureFixture[str]
) -> None:
    instance = opened()
    with as_a_worker():
        structlog.get_logger("ours").info("before")
        first, second = ran(instance, "the first"), ran(instance, "the second")
        structlog.get_logger("ours").info("after")
    process = capfd.readouterr()
    for run, mine, other in ((first, "the first", "the second"), (second, "the second", "the first")):
        out, err = read(instance, key_of(run))
        assert out == f"printed by {mine}\n"
        begun, *told = err.splitlines()
        assert json.loads(begun)["run_id"] == run.run_id
        assert f"written by {mine}" in told
        assert any(f'"by": "{mine}", "api_key": "[hidden]"' in line for line in told)
        assert other not in err
        assert not any(word in err for word in ("before", "after", "hunter2"))
        assert out in process.out
        assert set(err.splitlines()) <= set(process.err.splitlines())
    assert process.err.count("told") == 2, "no line is there twice"
    assert instance.compute_log_manager.is_capture_complete(key_of(first))


def test_a_run_that_breaks_leaves_the_streams_as_they_were(opened: Opened) -> None:
    instance, before = opened(), (sys.stdout, sys.stderr, *logging.getLogger().handlers)
    with pytest.raises(ArithmeticError):
        broken.execute_in_process(instance=instance)
    assert (sys.stdout, sys.stderr, *logging.getLogger().handlers) == before


def test_on_several_machines_the_store_has_it_and_this_one_keeps_nothing(
    opened: Opened, tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_logs.Database, "of", lambda _: database)  # whose store it is, the database says
    worker, webserver = opened("worker", store=True), opened("webserver", store=True)
    with as_a_worker():
        key = key_of(ran(worker, "a worker"))
    assert not [path for path in (tmp_path / "worker").rglob("*") if path.is_file()]
    assert read(webserver, key)[0] == "printed by a worker\n"
    logs_there = webserver.compute_log_manager
    assert logs_there.get_log_keys_for_log_key_prefix(key[:2], ComputeIOType.STDOUT) == [key]
    part = logs_there.get_log_data_for_type(key, ComputeIOType.STDOUT, 8, 2)
    assert part == (b"by", 10)
    logs_there.delete_logs(prefix=key[:1])
    assert read(webserver, key) == ("", "")
    with pytest.raises(ValueError, match="Invalid path"):
        read(webserver, ["..", "..", "etc"])
    assert not [path for path in (tmp_path / "store").rglob("*") if path.is_file()]


def test_a_page_that_follows_a_run_sees_its_lines_and_its_end(opened: Opened) -> None:
    instance = opened()
    run = instance.create_run_for_job(broken)
    instance.report_run_canceling(run)  # it is under way
    key, seen = [run.run_id, "compute_logs", "abcdefgh"], list[bytes]()
    manager = instance.compute_log_manager
    following = manager.subscribe(key)(lambda data: seen.append(data.stderr or b""))
    with manager.capture_logs(key):
        sys.stderr.write("half")
        wait_until(lambda: b"half" in b"".join(seen))
        assert not following.is_complete
        sys.stderr.write("whole")
    instance.report_run_canceled(run)
    wait_until(lambda: following.is_complete and b"whole" in b"".join(seen))


def test_a_log_has_an_end_and_a_full_disk_fails_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "LARGEST_BYTES", 10)
    with capture.capture_output(tmp_path / "a.out", tmp_path / "nowhere"):
        print("123456789abc")
        print("more")
    held = (tmp_path / "a.out").read_text(encoding="utf-8")
    assert held.startswith("123456789a\n[This copy ends here")
    assert not (tmp_path / "nowhere").exists(), "nobody wrote to it"
    (tmp_path / "file").write_text("", encoding="utf-8")
    with capture.capture_output(tmp_path / "file" / "no folder", tmp_path / "b.err"):
        print("it goes on")


def test_logs_go_with_their_runs_and_others_when_they_are_as_old(
    desk: Desk, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = opened()
    run = ran(instance, "somebody")
    tick = tmp_path / "here" / "__repository__" / "a_sensor" / f"{uuid4()}.err"
    with instance.compute_log_manager.open_log_stream([*tick.parts[-3:-1], tick.stem], ComputeIOType.STDERR) as stream:
        assert not tick.exists(), "most ticks log nothing"
        assert stream is not None
        stream.write("looked")
    assert read(instance, [*tick.parts[-3:-1], tick.stem])[1] == "looked"

    def keep_house() -> None:
        assert (
            defs.resolve_job_def("keep_house")
            .execute_in_process(
                run_config={"loggers": {"console": {}}}, instance=instance, resources=desk.resources.as_definitions()
            )
            .success
        )

    keep_house()
    assert read(instance, key_of(run))[0]
    assert tick.exists()
    later = datetime.now().astimezone() + timedelta(days=31)
    monkeypatch.setattr("pipelines.defs.housekeeping.dagster_now", lambda: later)
    keep_house()
    assert not (tmp_path / "here" / run.run_id).exists()
    assert isinstance(instance.compute_log_manager, RunLogs)
    assert instance.compute_log_manager.delete_older(timedelta(days=-1)) >= 1
    assert not tick.exists()
