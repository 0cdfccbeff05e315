"""Dagster's instance as the worker opens it: what it may not do to the process that it runs in."""

import io
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from uuid import uuid4

import dagster as dg
import pytest
import sqlalchemy

from pipelines.engine.instance import shared_instance
from tests.conftest import migrated
from tests.waiting import wait_until
from warehouse.operate import dagster_home, measures
from warehouse.operate.database import Database
from warehouse.operate.sessions import dagster_transaction
from warehouse.operate.settings import Settings


def test_a_run_leaves_the_logging_of_its_process_as_it_is(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dagster configures logging anew for each run, for handlers that dagster.yaml could name and ours does not."""
    for variable in dagster_home.environment(settings, database):
        monkeypatch.setenv(variable, "")  # set, and put back, for what opening the instance sets
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    logger = logging.getLogger("pcds.test")
    logger.addHandler(handler)
    try:
        with shared_instance(settings, database) as instance:
            assert len(instance.get_handlers()) == 1, "the one that stores a run's events"
        logger.warning("still heard")
    finally:
        logger.removeHandler(handler)
    assert "still heard" in written.getvalue()
    assert logging.getLogger().handlers, "pytest's own, and the service's in a worker"


def test_dagster_looks_once_for_the_tables_of_its_storage(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would look before most queries, and each look reads the server's catalogue."""
    for variable in dagster_home.environment(settings, database):
        monkeypatch.setenv(variable, "")
    looks: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        looks.extend([statement] if "pg_catalog" in statement else [])

    def ask(instance: dg.DagsterInstance) -> int:
        looks.clear()
        instance.get_run_records(limit=1)
        instance.all_instigator_state()
        instance.get_asset_records([dg.AssetKey("portfolio_snapshot")])
        assert instance.event_log_storage.supports_asset_checks
        return len(looks)

    sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", note)
    try:
        with shared_instance(settings, database) as instance:
            assert ask(instance) > 2
            assert ask(instance) == 0
    finally:
        sqlalchemy.event.remove(sqlalchemy.Engine, "before_cursor_execute", note)


def test_connections_of_before_postgres_restarted_are_made_anew(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process's first queries afterwards failed: a run, a tick of a sensor, the launch of an import."""
    for variable in dagster_home.environment(settings, database):
        monkeypatch.setenv(variable, "")
    end_all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = user"
    with shared_instance(settings, database) as instance:
        for rested_after, is_answered in ((60.0, False), (-1.0, True)):
            monkeypatch.setattr("pipelines.engine.instance._RESTED_SECONDS", rested_after)
            instance.get_runs_count()
            with dagster_transaction(database.dagster_url) as conn:
                conn.execute(f"{end_all} AND datname = current_database()")
            with nullcontext() if is_answered else pytest.raises(sqlalchemy.exc.OperationalError):
                assert instance.get_runs_count() >= 0


def test_a_check_that_fails_for_one_company_is_a_number_for_alerts(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in dagster_home.environment(settings, database):
        monkeypatch.setenv(variable, "")
    asset, labels = f"asset_{uuid4().hex}", {"check": "is_whole"}

    def failed() -> list[float]:
        found = measures.of_runs(database.dagster_url)
        return [each.value for each in found if each.labels == {"asset": asset, **labels}]

    def say(partition: str | None, *, passed: bool) -> list[float]:
        with dagster_transaction(database.dagster_url) as conn:
            conn.execute(
                "INSERT INTO asset_check_executions (asset_key, check_name, partition, run_id, execution_status) "
                "VALUES (%s, 'is_whole', %s, %s, %s)",
                (f'["{asset}"]', partition, str(uuid4()), "SUCCEEDED" if passed else "FAILED"),
            )
        return failed()

    with shared_instance(settings, database):
        assert say(None, passed=False) == [1], "a verdict from before checks were told by company"
        assert say("a", passed=False) == [1]
        assert say("b", passed=True) == [1], "another company's pass hides nothing"
        assert say("c", passed=False) == [2]
        assert say("a", passed=True) == [1]
        assert say("c", passed=True) == []


@pytest.mark.processes
def test_dagsters_tables_are_made_where_some_are_missing(server: Database, tmp_path: Path) -> None:
    """A process that was killed while it made them has left those of one storage, and not those of the next."""
    settings, table = Settings.load(data_dir=tmp_path), "SELECT to_regclass('dagster.jobs')"
    with migrated(server) as database:
        for _ in range(2):
            assert dagster_home.make_tables(settings, database)
            with dagster_transaction(database.dagster_url) as conn:
                assert conn.execute(table).fetchone() == ("jobs",)
                conn.execute("DROP TABLE jobs")


@pytest.mark.processes
def test_one_process_at_a_time_makes_dagsters_tables(server: Database, tmp_path: Path) -> None:
    """Those of a compose file begin at once; without turns Dagster tries five times, and then a code server ends."""
    settings, waiting = Settings.load(data_dir=tmp_path), "SELECT FROM pg_locks WHERE NOT granted AND database = %s"
    with migrated(server) as database, ThreadPoolExecutor(2) as processes:
        with dagster_home.tables_locked(database.dagster_url), dagster_transaction(database.dagster_url) as conn:
            here = conn.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone()
            made = [processes.submit(dagster_home.make_tables, settings, database) for _ in range(2)]
            wait_until(lambda: len(conn.execute(waiting, here).fetchall()) == 2 or any(each.done() for each in made))
            assert not [each.result() for each in made if each.done()], "both wait"
            assert conn.execute("SELECT to_regclass('dagster.jobs')").fetchone() == (None,)
        assert all(each.result() for each in made)
