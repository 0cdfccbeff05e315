"""Snapshots follow writes: after an import at once, after others within a minute, together, and never for nothing."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import dagster as dg
import polars as pl
import psycopg
import pytest
from dagster._core.errors import DagsterExecutionInterruptedError

from pipelines import following
from pipelines.definitions import defs
from pipelines.following import TOGETHER, Failed, Follower
from pipelines.publishing import MANY, publish_all, publish_company
from pipelines.steps.figures import compute, keep
from pipelines.steps.figures.portfolio import newest
from pipelines.tags import FIRST_COMPANY, FOLLOWED
from pipelines.worker import Worker
from tests.pipelines.conftest import Desk
from tests.pipelines.test_worker import ends
from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse import figures
from warehouse.database import Database
from warehouse.queries import docs
from warehouse.snapshots import Snapshot, current
from warehouse.snapshots.follow import Stale

FILE = "sku_code,name\nF{0}1,Bottle\nF{0}2,Jar"


@pytest.fixture
def connect(database: Database) -> Callable[[], psycopg.Connection[Any]]:
    return lambda: psycopg.connect(database.app_url, autocommit=True)


@pytest.fixture
def follower(desk: Desk, connect: Callable[[], psycopg.Connection[Any]], monkeypatch: pytest.MonkeyPatch) -> Follower:
    """A follower that sees this test's company alone: others write in the same database."""
    only = Follower(desk.workshop, connect, lambda: nullcontext(desk.instance))
    every, astray = only._stale, only._astray
    monkeypatch.setattr(only, "_stale", lambda: [found for found in every() if found.company_id == desk.company])
    monkeypatch.setattr(only, "_astray", lambda: [company for company in astray() if company == desk.company])
    return only


def published(desk: Desk) -> Snapshot | None:
    return current(desk.workshop.data_dir, desk.company)


def runs(desk: Desk) -> int:
    return len(desk.instance.get_runs(dg.RunsFilter(job_name="publish_portfolio")))


def write(desk: Desk, number: int = 0) -> None:
    assert desk.run(desk.send(FILE.format(number)))


def test_the_run_of_a_killed_process_is_ended_and_one_under_way_is_not(desk: Desk, follower: Follower) -> None:
    job = defs.resolve_job_def("publish_portfolio")
    tags = {"pcds/company_id": str(desk.company), **FOLLOWED}
    run = desk.instance.create_run_for_job(job, tags=tags, status=dg.DagsterRunStatus.STARTED)
    with follower._connect() as held:
        held.execute(following._LOCK, (str(desk.company),))
        follower.end_broken()
        assert desk.instance.get_run_by_id(run.run_id).status == dg.DagsterRunStatus.STARTED
    follower.end_broken()
    assert desk.instance.get_run_by_id(run.run_id).status == dg.DagsterRunStatus.FAILURE


def test_writes_wait_for_each_other_and_are_published_together_within_a_minute(desk: Desk, follower: Follower) -> None:
    write(desk)
    follower.turn()
    assert published(desk) is None
    desk.workshop.clock.advance(TOGETHER / 2)
    write(desk, 1)
    desk.workshop.clock.advance(TOGETHER / 2)
    follower.turn()
    first = published(desk)
    assert first is not None
    assert (first.rows["skus"], first.as_of) == (4, desk.workshop.clock.now())
    assert timedelta(seconds=60) - TOGETHER > timedelta(seconds=2 * following.LOOK_SECONDS)
    desk.workshop.clock.advance(timedelta(days=1))
    follower.turn()
    assert runs(desk) == 1, "nothing was written since"


def test_the_end_of_an_import_is_published_when_no_other_follows_it(
    desk: Desk, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(desk)
    monkeypatch.setattr(following, "QUIET_SECONDS", 3_600.0)
    follower.ask(desk.company)
    follower.turn()
    assert published(desk) is None, "another import of the company may be on its way"
    monkeypatch.setattr(following, "QUIET_SECONDS", 0.0)
    waiting = desk.send(FILE.format(1))
    follower.turn()
    assert published(desk) is None, "another import of the company waits"
    desk.run(waiting)
    follower.turn()
    assert published(desk).rows["skus"] == 4
    follower.ask(desk.company)
    follower.turn()
    assert runs(desk) == 1


def test_what_a_day_changes_by_itself_is_published_on_that_day(desk: Desk, follower: Follower) -> None:
    write(desk)
    with desk.workshop.pool.company(desk.company) as conn:
        docs.add(conn, desk.company, uuid4(), at=desk.workshop.clock.now(), values={
            "sku_id": conn.execute("SELECT id FROM skus ORDER BY sku_code LIMIT 1").fetchone()[0], "reference": "R",
            "supplier_name": None, "status": "valid", "issued_on": date(2026, 11, 23), "expires_on": date(2026, 11, 24),
        })  # fmt: skip
    for day, status in ((21, "missing"), (22, None), (23, "valid"), (24, None), (25, "expired"), (26, None)):
        before = published(desk)
        desk.workshop.clock.advance(datetime(2026, 11, day, 12, tzinfo=UTC) - desk.workshop.clock.now())
        follower.turn()
        if status is None:
            assert published(desk) == before, day
        else:
            assert pl.read_parquet(published(desk).skus).sort("sku_code")["doc_status"][0] == status


def test_a_snapshot_that_was_lost_is_made_again_at_the_next_start(desk: Desk, follower: Follower) -> None:
    write(desk)
    desk.workshop.clock.advance(TOGETHER)
    follower.turn()
    shutil.rmtree(desk.workshop.data_dir / "snapshots")
    serving(desk, follower, lambda: published(desk) is not None)
    assert runs(desk) == 2


def test_of_several_workers_one_publishes(
    desk: Desk, connect: Callable[[], psycopg.Connection[Any]], follower: Follower
) -> None:
    with connect() as holder:
        holder.execute(following._LOCK, (str(desk.company),))
        write(desk)
        desk.workshop.clock.advance(TOGETHER)
        follower.turn()
        assert published(desk) is None
    follower.turn()
    assert published(desk) is not None


def test_a_run_that_fails_leaves_the_last_snapshot_and_is_tried_again(
    desk: Desk, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(desk)
    desk.workshop.clock.advance(TOGETHER)
    follower.turn()
    before = published(desk)
    write(desk, 1)
    desk.workshop.clock.advance(TOGETHER)
    with monkeypatch.context() as broken:
        broken.setattr("warehouse.snapshots.source._volumes", None)
        follower.turn()
        follower.turn()
    assert published(desk) == before
    assert runs(desk) == 2, "one that failed is not tried again at once"
    monkeypatch.setattr(following, "RETRY_SECONDS", 0.0)
    follower.turn()
    assert published(desk).rows["skus"] == 4


def test_a_rollup_that_fails_is_tried_again_and_ever_later(
    desk: Desk, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(desk)
    desk.workshop.clock.advance(TOGETHER)
    with monkeypatch.context() as broken:
        broken.setattr("pipelines.steps.figures.compute.obligations_of", None)
        follower.turn()
        assert (published(desk) is not None, figures.current(desk.workshop.data_dir, desk.company)) == (True, None)
        assert follower._astray() == [desk.company], "a worker that starts finds it, too"
        follower.turn()
        assert runs(desk) == 1, "not at once"
        monkeypatch.setattr(following, "RETRY_SECONDS", 0.0)
        follower.turn()
    assert runs(desk) == 2
    monkeypatch.setattr(following, "RETRY_SECONDS", 6_000.0)
    assert not Failed(1, time.monotonic() - 5_000).may_be_tried()
    assert Failed(1, time.monotonic() - 6_000).may_be_tried()
    assert not Failed(2, time.monotonic() - 11_000).may_be_tried()
    assert Failed(99, time.monotonic() - 6_000 * 64).may_be_tried()
    monkeypatch.setattr(following, "RETRY_SECONDS", 0.0)
    follower.turn()
    assert figures.current(desk.workshop.data_dir, desk.company).origin.number == published(desk).number
    follower.turn()
    assert runs(desk) == 3, "nothing is left to do"


def test_a_run_terminated_half_way_leaves_the_last_figures_and_is_made_up_for(
    desk: Desk, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As *Terminate* in the UI ends a run that the UI started: nobody wrote since its snapshot."""
    write(desk)
    publish_company(desk.workshop, desk.instance, desk.company)
    before = figures.current(desk.workshop.data_dir, desk.company)
    write(desk, 1)
    with monkeypatch.context() as patched, suppress(DagsterExecutionInterruptedError):
        patched.setattr(compute, "figures_of", terminated)
        publish_company(desk.workshop, desk.instance, desk.company)
    assert figures.current(desk.workshop.data_dir, desk.company) == before
    follower.turn()
    assert figures.current(desk.workshop.data_dir, desk.company) == before, "nobody wrote"
    follower.repair()
    held, snapshot = figures.current(desk.workshop.data_dir, desk.company), published(desk)
    assert held is not None
    assert snapshot is not None
    assert (held.origin.snapshot, snapshot.rows["skus"]) == (snapshot.path, 4)


def terminated(*_: object) -> None:
    raise DagsterExecutionInterruptedError


def test_many_companies_that_wrote_have_one_run_and_each_its_own_partition(
    desk: Desk, follower: Follower, new_company: Callable[[str], UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    desks = [desk, *(replace(desk, company=new_company("enterprise")) for _ in range(3))]
    for each in desks:
        write(each)
    broken, found = desks[2], [Stale(each.company, desk.workshop.clock.now()) for each in desks]
    monkeypatch.setattr(follower, "_stale", lambda: found)
    monkeypatch.setattr(following, "MANY", len(desks))
    kept = keep.keep

    def keep_of_others(data_dir: Path, company_id: UUID, *rest: Any) -> Any:
        if company_id == broken.company:
            raise OSError("The disk is full.")
        return kept(data_dir, company_id, *rest)

    desk.workshop.clock.advance(TOGETHER)
    with monkeypatch.context() as full:
        full.setattr(keep, "keep", keep_of_others)
        follower.turn()
    [run] = desk.instance.get_runs(dg.RunsFilter(job_name="publish_together"))
    assert run.status == dg.DagsterRunStatus.FAILURE, "it names the one that failed"
    assert runs(desk) == 0
    for each in desks:
        assert published(each).rows["skus"] == 2
        assert each is broken or figures.current(desk.workshop.data_dir, each.company) is not None
    seen = desk.instance.fetch_materializations(dg.AssetKey("obligations"), limit=9).records
    assert {record.partition_key for record in seen} == {str(each.company) for each in desks if each is not broken}
    monkeypatch.setattr(following, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(follower, "_stale", list)
    follower.turn()
    assert runs(desk) == 1, "tried again, by itself"
    assert figures.current(desk.workshop.data_dir, broken.company) is not None


def test_whoever_asks_for_many_gets_all_but_the_one_that_failed_and_hears_which_one(
    desk: Desk, new_company: Callable[[str], UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    desks = [desk, *(replace(desk, company=new_company("enterprise")) for _ in range(MANY - 1))]
    broken, kept, published_before = desks[1].company, keep.keep, runs(desk)

    def keep_of_others(data_dir: Path, company_id: UUID, *rest: Any) -> Any:
        if company_id == broken:
            raise OSError("The disk is full.")
        return kept(data_dir, company_id, *rest)

    monkeypatch.setattr(keep, "keep", keep_of_others)
    found = list[UUID]()
    with pytest.raises(dg.Failure, match=str(broken)):
        found.extend(each.company_id for each in publish_all(desk.workshop, desk.instance, [d.company for d in desks]))
    together = dg.RunsFilter(job_name="publish_together", tags={FIRST_COMPANY: str(desk.company)})
    assert (len(desk.instance.get_runs(together)), runs(desk)) == (1, published_before)
    assert all(figures.current(desk.workshop.data_dir, d.company) for d in desks if d.company != broken)


def test_the_worker_publishes_what_it_has_imported(
    desk: Desk, follower: Follower, connect: Callable[[], psycopg.Connection[Any]], tmp_path: Any
) -> None:
    worker = Worker(desk.workshop, connect, lambda: nullcontext(desk.instance), tmp_path, ended=follower.ask)
    with ThreadPoolExecutor(1) as threads:
        loop = threads.submit(worker.serve)
        serving(desk, follower, lambda: published(desk) is not None, lambda: ends(desk, FILE.format(0)))
        loop.result(PATIENCE_SECONDS)
    assert published(desk).rows["skus"] == 2


def serving(
    desk: Desk, follower: Follower, happened: Callable[[], bool], meanwhile: Callable[[], object] = lambda: None
) -> None:
    """The follower's loop as the process runs it, until something has happened."""
    thread = threading.Thread(target=follower.serve)
    thread.start()
    try:
        meanwhile()
        wait_until(happened)
    finally:
        desk.workshop.stopping.set()
        thread.join(PATIENCE_SECONDS)


LEDGER = ("skus", "sku_versions", "audit_transactions", "audit_entries", "company_counters", "snapshots")


@contextmanager
def put_back(desk: Desk, database: Database) -> Iterator[None]:
    """After the block the company's rows are what they were before it, as when an older backup is restored."""
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, false)", [str(desk.company)])
        for table in LEDGER:
            owner.execute(f"CREATE TEMPORARY TABLE kept_{table} AS SELECT * FROM {table}")
        owner.commit()
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
    desk: Desk, follower: Follower, database: Database
) -> None:
    """An older backup was put back beside files that have later writes, and is written to again."""
    write(desk)
    desk.workshop.clock.advance(TOGETHER)
    follower.turn()
    first = published(desk)
    with put_back(desk, database):
        write(desk, 1)
        desk.workshop.clock.advance(TOGETHER)
        follower.turn()
    lost, data_dir = published(desk), desk.workshop.data_dir
    assert (lost.rows["skus"], lost.number > first.number) == (4, True)
    assert newest(desk.workshop.pool, data_dir, desk.company) is None, "it has writes that never were"
    serving(desk, follower, lambda: published(desk) != lost and not keep.are_behind(data_dir, desk.company))
    found = published(desk)
    assert (found.rows["skus"], found.number, found.link_hash) == (2, first.number, first.link_hash)
    assert newest(desk.workshop.pool, data_dir, desk.company) == found
    assert figures.current(data_dir, desk.company).origin.snapshot == found.path
