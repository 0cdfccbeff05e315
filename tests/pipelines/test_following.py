"""Whoever writes is published: once for a write, and again where a run failed or files are lost."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import dagster as dg
import polars as pl
import psycopg
import pytest
import yaml
from dagster._core.errors import DagsterExecutionInterruptedError

from pipelines import due
from pipelines import figures as figures_pipelines
from pipelines.commands import publish_all, publish_company
from pipelines.definitions import defs
from pipelines.defs.sensors import due_companies, overdue_work
from pipelines.due import (
    LARGE_PORTFOLIO_SKUS,
    WAIT_WHILE_IMPORTING,
    WAIT_WHILE_MIGRATING,
    WAIT_WHILE_WRITING,
    WRITE_QUIET_TIME,
    is_retry_due,
)
from pipelines.figures import up_to_date_snapshot
from schemas.actors import Actor
from schemas.skus.inputs import parse_sku
from services.skus.write import write_records
from tests.pipelines.conftest import ORIGIN, Desk
from tests.pipelines.sensing import follow, requested_by, tick
from warehouse import conformity
from warehouse.figures import stored
from warehouse.figures.snapshots import Snapshot, current
from warehouse.operate.clock import StoppedClock
from warehouse.operate.database import Database
from warehouse.rules import Rulesets

FILE = "sku_code,name\nF{0}1,Bottle\nF{0}2,Jar"


def published(desk: Desk) -> Snapshot | None:
    return current(desk.data_dir, desk.company)


def runs(desk: Desk) -> int:
    return len(desk.instance.get_runs(dg.RunsFilter(job_name="publish_portfolio")))


def write(desk: Desk, number: int = 0) -> None:
    assert desk.finish(desk.send(FILE.format(number)))
    desk.clock.advance(WAIT_WHILE_MIGRATING)


def write_one(desk: Desk, code: str) -> None:
    """A write of a person, of one SKU."""
    record = parse_sku({"sku_code": code, "name": "Jar"})
    actor = Actor(desk.company, ORIGIN, desk.clock.now())
    with desk.pool.company(desk.company) as conn:
        write_records(conn, actor, {0: record}, rulesets=Rulesets(), dry_run=False)


def look(desk: Desk, sensor: dg.SensorDefinition = due_companies) -> list[dg.ExecuteInProcessResult]:
    """A tick, and the runs of this company that it asks for."""
    return follow(sensor, desk.instance, desk.resources, only=requested_by(desk.company, "publish_portfolio"))


def asked(desk: Desk, sensor: dg.SensorDefinition = due_companies) -> list[dg.RunRequest]:
    """What a tick asks for this company."""
    return [
        each
        for each in tick(sensor, desk.instance, desk.resources).run_requests or ()
        if requested_by(desk.company, "publish_portfolio")(each)
    ]


def test_a_write_has_a_run_of_its_company_and_is_seen_in_the_ledger(desk: Desk) -> None:
    write(desk)
    [request] = asked(desk)
    slug, position, _ = str(request.run_key).split("/")
    assert (request.partition_key, position) == (slug, "3")  # sent, written, completed
    [run] = look(desk)
    assert run.success
    assert slug in desk.instance.get_dynamic_partitions("companies")
    [seen] = desk.instance.fetch_observations(dg.AssetKey("ledger"), limit=5).records
    version = (seen.asset_observation.tags or {})["dagster/data_version"]
    assert (seen.partition_key, version) == (slug, "1"), "of the three links one changed what figures are made from"
    snapshot, held = published(desk), stored.current(desk.data_dir, desk.company)
    assert snapshot is not None
    assert held is not None
    assert (snapshot.rows["skus"], snapshot.number, held.origin.snapshot) == (2, 3, snapshot.path)
    desk.clock.advance(timedelta(days=1))
    assert look(desk) == look(desk, overdue_work) == [], "nothing was written since"


def test_what_comes_while_a_run_is_under_way_has_the_next_one_together(desk: Desk) -> None:
    write(desk)
    [request] = asked(desk)
    partition = str(request.partition_key)
    desk.instance.add_dynamic_partitions("companies", [partition])
    under_way = desk.instance.create_run_for_job(
        defs.resolve_job_def("publish_portfolio"),
        status=dg.DagsterRunStatus.STARTED,
        tags={"dagster/partition": partition},
    )
    write(desk, 1)
    write(desk, 2)
    assert asked(desk) == []
    desk.instance.report_run_canceled(under_way)
    desk.instance.delete_run(under_way.run_id)
    [run] = look(desk)
    assert run.success
    assert published(desk).rows["skus"] == 6


@pytest.fixture
def just_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """An import has just ended, however busy the machine is: Dagster stamps its runs with the real time."""
    monkeypatch.setattr("pipelines.due.NEXT_FILE_WITHIN", timedelta(hours=1))


@pytest.mark.usefixtures("just_ended")
def test_writes_wait_a_little_while_imports_follow_each_other(desk: Desk) -> None:
    assert desk.run(desk.send(FILE.format(0)))
    waiting = desk.send(FILE.format(1))
    desk.clock.advance(WRITE_QUIET_TIME)
    assert asked(desk) == [], "an import of this company waits"
    assert desk.run(waiting)
    assert asked(desk) == [], "an import has just ended, and another one may follow"
    waiting = desk.send(FILE.format(2))
    desk.clock.advance(WAIT_WHILE_IMPORTING - WRITE_QUIET_TIME)
    assert asked(desk) == [], "it sends file after file"
    desk.clock.advance(WAIT_WHILE_MIGRATING - WAIT_WHILE_IMPORTING)
    assert len(asked(desk)) == 1
    desk.run(waiting)
    assert len(look(desk)) == 1
    assert published(desk).rows["skus"] == 6


@pytest.mark.usefixtures("just_ended")
def test_a_company_without_imports_waits_less_long_for_those_of_others(desk: Desk) -> None:
    assert desk.run(desk.send(FILE.format(0)))
    desk.clock.advance(WAIT_WHILE_IMPORTING)
    assert asked(desk) == [], "its own import has just ended"
    with desk.pool.company(desk.company) as conn:  # as if a person had written, and other companies imported
        conn.execute("UPDATE imports SET finished_at = finished_at - interval '1 day'")
    assert len(asked(desk)) == 1


def test_large_portfolios_are_published_one_at_a_time(desk: Desk) -> None:
    write(desk)
    [request] = asked(desk)
    assert ".dagster/pcds_publication_size" not in request.tags
    with desk.pool.company(desk.company) as conn:
        conn.execute("UPDATE company_counters SET skus = %s", (LARGE_PORTFOLIO_SKUS,))
    [request] = asked(desk)
    limits = yaml.safe_load(Path("dagster.yaml").read_text(encoding="utf-8"))["concurrency"]["runs"]
    alone = {each["key"]: each["limit"] for each in limits["tag_concurrency_limits"] if each.get("value") == "large"}
    assert alone[".dagster/pcds_publication_size"] == 1
    assert request.tags[".dagster/pcds_publication_size"] == "large"


def test_what_a_day_changes_by_itself_is_published_on_that_day(desk: Desk) -> None:
    write(desk)
    with desk.pool.company(desk.company) as conn:
        conformity.add(
            conn,
            desk.company,
            uuid4(),
            at=desk.clock.now(),
            values={
                "sku_id": conn.execute("SELECT id FROM skus ORDER BY sku_code LIMIT 1").fetchone()[0],
                "reference": "R",
                "supplier_name": None,
                "status": "valid",
                "issued_on": date(2026, 11, 23),
                "expires_on": date(2026, 11, 24),
            },
        )
    for day, status in ((21, "missing"), (22, None), (23, "valid"), (24, None), (25, "expired"), (26, None)):
        before = published(desk)
        desk.clock.advance(datetime(2026, 11, day, 12, tzinfo=UTC) - desk.clock.now())
        look(desk)
        if status is None:
            assert published(desk) == before, day
        else:
            assert pl.read_parquet(published(desk).skus).sort("sku_code")["doc_status"][0] == status


def test_a_snapshot_that_was_lost_is_made_again(desk: Desk) -> None:
    write(desk)
    look(desk)
    shutil.rmtree(desk.data_dir / "snapshots")
    assert look(desk) == [], "nobody wrote"
    [run] = look(desk, overdue_work)
    assert run.success
    assert published(desk) is not None
    assert look(desk, overdue_work) == []


@pytest.mark.parametrize("name", ["snapshots/*/*/skus-*", "snapshots/*/*/manifest*", "figures/*/*/tonnes*"])
def test_a_file_that_was_cut_off_is_made_again_and_nothing_of_it_is_taken_over(desk: Desk, name: str) -> None:
    write(desk)
    look(desk)
    [file] = desk.data_dir.glob(name)
    file.write_bytes(file.read_bytes()[:-1])
    assert look(desk) == [], "nobody wrote"
    [run] = look(desk, overdue_work)
    assert run.success
    assert published(desk).is_whole()
    assert stored.current(desk.data_dir, desk.company).is_whole()
    assert look(desk, overdue_work) == []


def test_a_run_that_fails_leaves_the_last_snapshot_and_is_tried_again_ever_later(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(desk)
    look(desk)
    before = published(desk)
    write(desk, 1)
    with monkeypatch.context() as broken:
        broken.setattr("warehouse.figures.source.volumes_of", None)
        assert [run.success for run in look(desk)] == [False]
        assert look(desk) == [], "one that failed is not tried again at once"
        broken.setattr(due, "RETRY_SECONDS", 0.0)
        assert [run.success for run in look(desk)] == [False]
        broken.setattr(due, "RETRY_SECONDS", 3_600.0)
        assert look(desk) == []
    assert published(desk) == before
    monkeypatch.setattr(due, "RETRY_SECONDS", 0.0)
    assert [run.success for run in look(desk)] == [True]
    assert published(desk).rows["skus"] == 4
    assert runs(desk) == 4


def test_each_failure_doubles_the_wait_up_to_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.due.Clock", lambda: StoppedClock(datetime.fromtimestamp(100_000, UTC)))
    for times, waits in ((1, 60), (2, 120), (3, 240), (7, 3_840), (99, 3_840)):
        assert is_retry_due(times, 100_000.0 - waits)
        assert not is_retry_due(times, 100_001.0 - waits)
    assert is_retry_due(3, 103_600.0), "the clock has jumped back by an hour"


def test_failures_before_a_success_count_no_more(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    write(desk)
    with monkeypatch.context() as broken:
        broken.setattr("warehouse.figures.source.volumes_of", None)
        look(desk)
    with monkeypatch.context() as soon:
        soon.setattr(due, "RETRY_SECONDS", 0.0)
        look(desk)
    write(desk, 1)
    assert [str(request.run_key).count("again") for request in asked(desk)] == [0]


def test_a_rollup_that_fails_is_tried_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    write(desk)
    with monkeypatch.context() as broken:
        broken.setattr("pipelines.figures.compute_obligations", None)
        look(desk)
        assert (published(desk) is not None, stored.current(desk.data_dir, desk.company)) == (True, None)
        assert look(desk, overdue_work) == [], "not at once"
    monkeypatch.setattr(due, "RETRY_SECONDS", 0.0)
    desk.clock.advance(timedelta(minutes=1))
    [run] = look(desk, overdue_work)
    assert run.success
    assert stored.current(desk.data_dir, desk.company).origin.number == published(desk).number
    assert look(desk, overdue_work) == [], "nothing is left to do"


def test_a_run_terminated_half_way_leaves_the_last_figures_and_is_made_up_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As *Terminate* in the UI ends a run that the UI started: nobody wrote since its snapshot."""
    write(desk)
    publish_company(desk.resources, desk.instance, desk.company)
    before = stored.current(desk.data_dir, desk.company)
    write(desk, 1)
    with monkeypatch.context() as patched, suppress(DagsterExecutionInterruptedError):
        patched.setattr(figures_pipelines, "compute_figures", terminated)
        publish_company(desk.resources, desk.instance, desk.company)
    assert stored.current(desk.data_dir, desk.company) == before
    assert look(desk) == [], "nobody wrote"
    monkeypatch.setattr(due, "RETRY_SECONDS", 0.0)
    look(desk, overdue_work)
    held, snapshot = stored.current(desk.data_dir, desk.company), published(desk)
    assert held is not None
    assert snapshot is not None
    assert (held.origin.snapshot, snapshot.rows["skus"]) == (snapshot.path, 4)


def terminated(*_: object) -> None:
    raise DagsterExecutionInterruptedError


def test_whoever_asks_for_many_gets_all_but_the_one_that_failed_and_hears_which_one(
    desk: Desk, new_company: Callable[[str], UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    companies = [desk.company, *(new_company("enterprise") for _ in range(2))]
    broken, kept = companies[1], figures_pipelines.publish_figures

    def keep_of_others(data_dir: object, company_id: UUID, *rest: object) -> object:
        if company_id == broken:
            raise OSError("The disk is full.")
        return kept(data_dir, company_id, *rest)

    monkeypatch.setattr(figures_pipelines, "publish_figures", keep_of_others)
    found = list[UUID]()
    with pytest.raises(dg.Failure, match=str(broken)):
        found.extend(each.company_id for each in publish_all(desk.resources, desk.instance, companies))
    assert found == [companies[0], companies[2]]
    assert all(stored.current(desk.data_dir, company) for company in found)


LEDGER = ("skus", "sku_versions", "audit_transactions", "audit_entries", "company_counters", "snapshots")


@contextmanager
def put_back(desk: Desk, database: Database) -> Iterator[None]:
    """After the block the company's rows are what they were before it, as when an older backup is restored."""
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, false)", [str(desk.company)])
        for table in LEDGER:
            owner.execute(f"CREATE TEMPORARY TABLE kept_{table} AS SELECT * FROM {table}")
        yield
        for table in LEDGER:
            owner.execute(f"DELETE FROM {table}")
            columns = owner.execute(_COLUMNS, [table]).fetchone()[0]
            owner.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM kept_{table}")


_COLUMNS = """
SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
WHERE table_schema = 'public' AND table_name = %s AND is_generated = 'NEVER'
"""


def test_what_was_made_after_a_ledger_that_is_no_more_is_made_anew(
    desk: Desk, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older backup was put back beside files that have later writes, and is written to again."""
    write(desk)
    look(desk)
    first = published(desk)
    with put_back(desk, database):
        write(desk, 1)
        look(desk)
    lost, data_dir = published(desk), desk.data_dir
    assert (lost.rows["skus"], lost.number > first.number) == (4, True)
    assert up_to_date_snapshot(desk.pool, data_dir, desk.company) is None, "it has writes that never were"
    [run] = look(desk, overdue_work)
    assert run.success
    found = published(desk)
    assert (found.rows["skus"], found.number, found.link_hash) == (2, first.number, first.link_hash)
    assert up_to_date_snapshot(desk.pool, data_dir, desk.company) == found
    assert stored.current(data_dir, desk.company).origin.snapshot == found.path
    desk.clock.advance(timedelta(seconds=1))
    write(desk, 1)
    assert [run.success for run in look(desk)] == [True], "numbers that come again are another write"


def test_a_write_waits_a_little_for_others(desk: Desk) -> None:
    assert desk.run(desk.send(FILE.format(0)))
    for run in desk.instance.get_runs(dg.RunsFilter(job_name="import_file")):  # as if no file had come for a while
        desk.instance.delete_run(run.run_id)
    assert asked(desk) == []
    desk.clock.advance(WRITE_QUIET_TIME)
    assert len(asked(desk)) == 1


def test_writes_that_follow_each_other_are_published_together_and_not_put_off_for_ever(desk: Desk) -> None:
    pause = WRITE_QUIET_TIME / 2
    steps = WAIT_WHILE_WRITING // pause
    for number in range(steps):
        write_one(desk, f"N{number}")
        assert asked(desk) == [], "another write follows"
        desk.clock.advance(pause)
    desk.clock.advance(WAIT_WHILE_WRITING - steps * pause)
    write_one(desk, "N")
    assert len(look(desk)) == 1, "the first write has waited as long as any may"
    assert published(desk).rows["skus"] == steps + 1
