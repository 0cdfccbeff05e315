"""What our code logs in a run is an event of the run, which Dagster's pages show; the process's log has it as ever."""

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import psycopg
import pytest
import structlog
import yaml
from dagster._core.workspace.load_target import EmptyWorkspaceTarget
from dagster._utils.log import configure_loggers

from pipelines.definitions import defs
from pipelines.engine import daemon
from warehouse.operate import logs
from warehouse.operate.settings import Settings

ROOT = Path(__file__).parents[2]
OURS = structlog.get_logger("pipelines.somewhere")


@dg.op
def speaking() -> None:
    OURS.info("told", by="an op", api_key="svc_hunter2")
    OURS.warning("warned", by="an op")


@dg.job(logger_defs=defs.loggers or {})
def spoken() -> None:
    speaking()


@contextmanager
def as_a_worker() -> Iterator[None]:
    """Logging as a process of the service has it."""
    loggers = [logging.getLogger(name) for name in ("", "dagster", *logs.TAKEN_UP)]
    before, configured = [([*each.handlers], each.level) for each in loggers], structlog.get_config()
    logs.configure(Settings.load(log_level="info"))
    try:
        yield
    finally:
        for each, (handlers, level) in zip(loggers, before, strict=True):
            each.handlers[:] = handlers
            each.setLevel(level)
        structlog.configure(**configured)


def lines(capfd: pytest.CaptureFixture[str], event: str) -> list[dict[str, Any]]:
    """The lines of that event in the process's log."""
    found = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    return [line for line in found if line["event"] == event]


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """An instance with logs as every process of the service has them."""
    ours = yaml.safe_load((ROOT / "dagster.yaml").read_text(encoding="utf-8"))
    with dg.instance_for_test(overrides={name: ours[name] for name in ("python_logs", "compute_logs")}) as instance:
        yield instance


def said_in(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    return [entry.user_message for entry in instance.all_logs(run_id) if entry.dagster_event is None]


def test_a_line_is_an_event_of_its_run_and_is_in_the_processs_log_once(
    instance: dg.DagsterInstance, capfd: pytest.CaptureFixture[str]
) -> None:
    with as_a_worker():
        run = spoken.execute_in_process(run_config={"loggers": {"console": {}}}, instance=instance)
        OURS.info("told", by="nobody")
    told, warned = said_in(instance, run.run_id)
    assert "an op" in told
    assert "warned" in warned
    assert "hunter2" not in told
    assert [(line["by"], line.get("api_key")) for line in lines(capfd, "told")] == [
        ("an op", "[hidden]"),
        ("nobody", None),
    ]


def test_a_warning_of_a_run_is_not_in_the_processs_log_twice(
    instance: dg.DagsterInstance, capfd: pytest.CaptureFixture[str]
) -> None:
    with as_a_worker():
        spoken.execute_in_process(run_config={"loggers": {"console": {}}}, instance=instance)
    written = capfd.readouterr().err
    assert written.count("warned") == 1
    assert "Logging error" not in written


def test_a_line_that_dagster_cannot_store_stops_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """A heartbeat that says that the database is away goes on beating."""

    class Away(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise psycopg.OperationalError(record.name)

    taken = Away()
    with as_a_worker():
        logging.getLogger("pipelines").addHandler(taken)
        OURS.warning("told", by="a thread")
    assert [line["by"] for line in lines(capfd, "told")] == ["a thread"]


def test_what_the_daemon_complains_of_is_in_the_services_log(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], instance: dg.DagsterInstance
) -> None:
    """A sensor that fails at each tick fails in no run: without a line nobody hears of it."""

    @contextmanager
    def started(*_: object, log_level: str, **_more: object) -> Iterator[None]:
        configure_loggers(handler="default", formatter="colored", log_level=log_level.upper())  # as Dagster's own does
        yield

    monkeypatch.setattr(daemon, "daemon_controller_from_instance", started)
    monkeypatch.setattr("warnings.showwarning", warnings.showwarning)  # put back: Dagster sets its own
    with as_a_worker(), daemon.controller(instance, EmptyWorkspaceTarget(), Settings.load(log_level="info")):
        logging.getLogger("dagster.daemon.SensorDaemon").error("postgresql://u:hunter2@h/db is away")
        logging.getLogger("dagster.daemon.SensorDaemon").info("unheard")
    err = capfd.readouterr().err.splitlines()
    [line] = [json.loads(each) for each in err if "SensorDaemon" in each]
    assert (line["level"], line["event"]) == ("error", "postgresql://u:[hidden]@h/db is away")
