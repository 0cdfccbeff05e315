"""The worker's schedules: what is due runs once, what was missed is made up for, what broke off is done again."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import psycopg
import pytest
from dagster._core.remote_origin import InProcessCodeLocationOrigin, RemoteInstigatorOrigin, RemoteRepositoryOrigin
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    ScheduleInstigatorData,
)
from dagster._core.storage.tags import SCHEDULE_NAME_TAG
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin

from pipelines import ticks
from pipelines.definitions import defs
from pipelines.schedules import daily_housekeeping
from pipelines.ticks import Ticker, latest_tick
from pipelines.worker import Worker
from tests.pipelines.conftest import Desk
from tests.pipelines.test_worker import FILE, ends
from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse.database import Database


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """An instance that keeps schedules, too, and like the service's captures nobody's output.

    Dagster's own way starts four programs for each run, asks them to end by SIGTERM, and waits half a minute for each
    where whoever started the tests ignores that signal: all that it starts then ignores it, too.
    """
    nothing = {"module": "dagster._core.storage.noop_compute_log_manager", "class": "NoOpComputeLogManager"}
    with dg.instance_for_test(overrides={"compute_logs": nothing}) as instance:
        instance.get_yaml_python_handlers = list  # as in `pipelines.instance`: two runs at once would wait for ever
        yield instance


@pytest.fixture
def connect(database: Database) -> Callable[[], psycopg.Connection[Any]]:
    """Connections of the application's role, with no tick done yet."""
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("DELETE FROM schedule_ticks")
    return lambda: psycopg.connect(database.app_url, autocommit=True)


@pytest.fixture
def ticker(desk: Desk, connect: Callable[[], psycopg.Connection[Any]]) -> Ticker:
    return Ticker(desk.workshop, connect, lambda: nullcontext(desk.instance))


def runs(desk: Desk) -> list[dg.DagsterRun]:
    return list(desk.instance.get_runs(dg.RunsFilter(job_name="keep_house")))


def test_ticks_are_utc_days(desk: Desk) -> None:
    def tick(text: str) -> datetime:
        return latest_tick(daily_housekeeping, datetime.fromisoformat(text))

    assert tick("2026-11-21T00:04:59Z") == datetime(2026, 11, 20, 0, 5, tzinfo=UTC)
    assert tick("2026-11-21T00:05:00Z") == tick("2026-11-22T00:00:00Z") == datetime(2026, 11, 21, 0, 5, tzinfo=UTC)


def test_what_is_due_runs_once_a_day_and_what_was_missed_is_made_up_for_once(desk: Desk, ticker: Ticker) -> None:
    for _ in range(3):
        ticker.turn()
    [run] = runs(desk)
    assert run.status == dg.DagsterRunStatus.SUCCESS
    assert run.tags[SCHEDULE_NAME_TAG] == "daily_housekeeping"
    desk.workshop.clock.advance(timedelta(days=400))
    for _ in range(3):
        ticker.turn()
    assert len(runs(desk)) == 2
    desk.workshop.clock.advance(timedelta(days=-400))  # what was done under another clock counts for nothing
    ticker.turn()
    assert len(runs(desk)) == 3


def test_each_asset_of_a_day_says_what_was_done_by_a_count_of_something(desk: Desk, ticker: Ticker) -> None:
    ticker.turn()
    [run] = runs(desk)
    counts = {}
    for event in desk.instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION):
        made = event.get_dagster_event().step_materialization_data.materialization
        counts[made.asset_key.to_user_string()] = {
            name: each.value for name, each in made.metadata.items() if isinstance(each, dg.IntMetadataValue)
        }
    kept = defs.resolve_job_def("keep_house").asset_layer.selected_asset_keys
    assert counts.keys() == {key.to_user_string() for key in kept}
    assert all(counts.values())
    unnamed = {"removed", "entered", "changed", "number"}
    assert not [(asset, name) for asset, said in counts.items() for name in said if name in unnamed]


def test_of_several_workers_one_runs_it(desk: Desk, connect: Callable[[], psycopg.Connection[Any]]) -> None:
    tickers = [Ticker(desk.workshop, connect, lambda: nullcontext(desk.instance)) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(Ticker.turn, tickers))
    for ticker in tickers:
        ticker.turn()
    assert len(runs(desk)) == 1


def test_what_a_kill_broke_off_is_ended_and_done_again(
    desk: Desk, ticker: Ticker, connect: Callable[[], psycopg.Connection[Any]]
) -> None:
    job = dg.job(name="keep_house")(lambda: None)
    killed = desk.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    with connect() as conn:
        begun = "INSERT INTO schedule_ticks (schedule, run_id) VALUES ('daily_housekeeping', %s)"
        conn.execute(begun, (killed.run_id,))
    ticker.turn()
    statuses = {run.run_id: run.status for run in runs(desk)}
    assert statuses.pop(killed.run_id) == dg.DagsterRunStatus.FAILURE
    assert list(statuses.values()) == [dg.DagsterRunStatus.SUCCESS]


def test_the_ui_sees_a_scheduler_and_its_switch_is_heeded(desk: Desk, ticker: Ticker) -> None:
    ticker.beat()
    assert "SCHEDULER" in desk.instance.get_daemon_heartbeats()
    origin = RemoteInstigatorOrigin(
        RemoteRepositoryOrigin(InProcessCodeLocationOrigin(LoadableTargetOrigin()), "__repository__"),
        "daily_housekeeping",
    )
    switch = InstigatorState(
        origin, InstigatorType.SCHEDULE, InstigatorStatus.STOPPED, ScheduleInstigatorData("5 0 * * *")
    )
    desk.instance.add_instigator_state(switch)
    ticker.turn()
    assert not runs(desk)
    desk.instance.update_instigator_state(switch.with_status(InstigatorStatus.DECLARED_IN_CODE))
    ticker.turn()
    assert len(runs(desk)) == 1


def test_a_run_that_fails_is_tried_again(desk: Desk, ticker: Ticker, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("pipelines.steps.housekeeping.remove_old_answers", None)
        ticker.turn()
    ticker.turn()
    assert [run.status for run in runs(desk)] == [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]


def test_an_import_does_not_wait_for_housekeeping(
    desk: Desk, database: Database, connect: Callable[[], psycopg.Connection[Any]], monkeypatch: pytest.MonkeyPatch,
    tmp_path: Any,
) -> None:  # fmt: skip
    """Both loops as the process runs them; housekeeping stands still until the import has ended."""
    begun, finished = threading.Event(), threading.Event()

    def slow(*_: object) -> int:
        begun.set()
        assert finished.wait(PATIENCE_SECONDS)
        return 0

    monkeypatch.setattr("pipelines.steps.housekeeping.remove_old_answers", slow)
    monkeypatch.setattr(ticks, "LOOK_SECONDS", 0.1)
    worker = Worker(desk.workshop, connect, lambda: nullcontext(desk.instance), tmp_path)
    ticker = Ticker(desk.workshop, connect, lambda: nullcontext(desk.instance))
    with ThreadPoolExecutor(2) as threads:
        loops = [threads.submit(worker.serve), threads.submit(ticker.serve)]
        try:
            assert begun.wait(PATIENCE_SECONDS)
            assert ends(desk, FILE)["status"] == "completed"
            finished.set()
            wait_until(lambda: done(connect))
        finally:
            finished.set()
            desk.workshop.stopping.set()
        for loop in loops:
            loop.result(PATIENCE_SECONDS)


def done(connect: Callable[[], psycopg.Connection[Any]]) -> bool:
    with connect() as conn:
        return conn.execute("SELECT tick_at FROM schedule_ticks WHERE tick_at IS NOT NULL").fetchone() is not None
