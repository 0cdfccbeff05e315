"""A regrade of 20 companies by Celery workers, one of which is killed in the middle of a company: as by one process.

Needs what `make distributed` sets up: the libraries of requirements-distributed.lock, and `redis-server`.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import dagster as dg
import psycopg
import pytest

from pipelines.instance import shared_instance
from pipelines.regrading import regrade_portfolios
from pipelines.resources import Workshop, opened
from pipelines.steps import audit, rulesets
from pipelines.steps.origin import Origin
from pipelines.steps.records import write_records
from schemas.models import parse_sku
from tests import ruling
from tests.journeys.place import ROOT, Place
from tests.ruling import BOTTLE, GLASS, LINES, Change
from tests.waiting import wait_until
from tools.ports import free_port
from warehouse import dagster_home
from warehouse.database import Database

pytest.importorskip("dagster_celery", reason="needs dagster-celery: make distributed")
pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server: make distributed")

COMPANIES, SKUS = 20, 100
STUCK = 9
"""The company, by the order of the regrade, in the middle of which a worker is killed."""
REDELIVERED_AFTER = 5
"""Seconds, instead of the shipped file's."""
STARTED_WITHIN = 150
"""Seconds: three processes import Dagster, and each opens its storage for the first time."""
ONLY_OPEN = "ops: {regraded_skus: {config: {only_open: true}}}\n"


@dataclass(frozen=True, slots=True)
class Engine:
    """Redis, and the file by which workers and runs find it."""

    place: Place
    folder: Path
    port: int

    @property
    def environment(self) -> dict[str, str]:
        of_dagster = dagster_home.environment(self.place.settings, Database.of(self.place.settings))
        own = {"PCDS_EXECUTOR": str(self.file), "PCDS_CELERY_URL": f"redis://127.0.0.1:{self.port}/0"}
        return os.environ | self.place.settings.environment() | of_dagster | own

    @property
    def file(self) -> Path:
        return self.folder / "celery.yaml"

    @contextmanager
    def running(self, program: list[str], **environment: str) -> Iterator[subprocess.Popen[bytes]]:
        """A program and what it starts, all killed after the block."""
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                program, cwd=ROOT, env=self.environment | environment, stdout=log, stderr=log, start_new_session=True
            )
        try:
            yield process
        finally:
            kill(process)

    def worker(self, name: str) -> Any:
        """A worker process; its connections to Postgres bear its name."""
        start = ["-m", "dagster_celery.cli", "worker", "start", "-A", "dagster_celery.app", "-y", str(self.file)]
        return self.running([sys.executable, *start, "-n", name, "--", "--pool", "solo"], PGAPPNAME=name)

    def run(self) -> Any:
        config = self.folder / "run.yaml"
        config.write_text(ONLY_OPEN, encoding="utf-8")
        execute = ["-m", "dagster", "job", "execute", "-m", "pipelines.definitions", "-j", "regrade_portfolios"]
        return self.running([sys.executable, *execute, "-c", str(config)])


def kill(process: subprocess.Popen[bytes]) -> None:
    """End the whole group at once."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def engine(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    shipped = (ROOT / "examples" / "celery.yaml").read_text(encoding="utf-8")
    quick = shipped.replace("visibility_timeout: 900", f"visibility_timeout: {REDELIVERED_AFTER}")
    assert quick != shipped
    engine = Engine(place, tmp_path, free_port())
    engine.file.write_text(quick, encoding="utf-8")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")  # celery beside python
    redis = ["redis-server", "--port", str(engine.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    with engine.running(redis):
        yield engine


def found(place: Place, workshop: Workshop) -> list[UUID]:
    """The place's company and 19 others with items of which two in three change."""
    others = [uuid4() for _ in range(COMPANIES - 1)]
    with psycopg.connect(Database.of(place.settings).owner_url) as owner:
        for company_id in others:
            owner.execute("INSERT INTO companies VALUES (%s, 'Many', 'enterprise', now())", (company_id,))
            owner.execute("INSERT INTO company_counters (company_id) VALUES (%s)", (company_id,))
    skus = {
        number: parse_sku({"sku_code": f"S{number:03}", "name": "n", **(BOTTLE if number % 3 else GLASS)})
        for number in range(SKUS)
    }
    for company_id in (place.company, *others):
        with workshop.pool.company(company_id) as conn:
            write_records(
                conn, company_id, skus, origin=Origin("api_key", "k", "ERP", "c"), now=workshop.clock.now(),
                rulesets=workshop.rulesets, dry_run=False,
            )  # fmt: skip
    return [place.company, *others]


def activate(workshop: Workshop, database: Database, folder: Path, version: str, change: Change) -> None:
    now, operator = workshop.clock.now(), Origin("operator", "me", "operator", "c")
    with psycopg.connect(database.owner_url) as owner:
        rulesets.add(owner, ruling.folder(folder, version, change), now)
    with psycopg.connect(database.owner_url) as owner:
        rulesets.activate(owner, version, operator, now)


def results(place: Place) -> dict[str, Any]:
    """What the regrade of each company has done, and what its SKUs are now."""
    with psycopg.connect(Database.of(place.settings).owner_url) as owner:
        done = owner.execute("SELECT company_id::text, skus, changed, matrix, examples FROM regrades")
        held = owner.execute(
            "SELECT company_id::text, jsonb_object_agg(sku_code, recyclability_grade || ' ' || recyclability_score) "
            "FROM skus GROUP BY 1"
        )
        return {"done": {row[0]: row[1:] for row in done}, "held": dict(held.fetchall())}


def test_twenty_companies_on_two_workers_of_which_one_is_killed(engine: Engine, place: Place, tmp_path: Path) -> None:
    database = Database.of(place.settings)
    with (
        opened(place.settings) as workshop,
        shared_instance(place.settings, database) as instance,
        psycopg.connect(database.owner_url) as owner,
    ):
        companies = found(place, workshop)
        activate(workshop, database, tmp_path, "2027-01-01", LINES)
        stuck = place.column("SELECT pcds_open_regrades()::text")[STUCK]
        held = "SELECT FROM skus WHERE company_id = %s AND sku_code = 'S050' FOR UPDATE"
        assert owner.execute(held, (stuck,)).rowcount == 1
        with engine.worker("w1") as first, engine.worker("w2") as second, engine.run() as run:
            workers, begun = {"w1": first, "w2": second}, time.monotonic()
            waiting = "SELECT application_name FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            wait_until(lambda: set(place.column(waiting)) & {*workers}, STARTED_WITHIN)
            [lost] = set(place.column(waiting)) & {*workers}
            wait_until(lambda: place.one("SELECT count(finished_at) >= 12 FROM regrades") == (True,), STARTED_WITHIN)
            kill(workers[lost])
            owner.rollback()
            killed = time.monotonic()
            assert run.wait(150) == 0, (tmp_path / "log").read_text(encoding="utf-8")[-4_000:]
            ended = time.monotonic()
        print(f"{killed - begun:.1f} s to the kill, {ended - killed:.1f} s from there to the end")

        [record] = instance.get_runs(dg.RunsFilter(job_name="regrade_portfolios"))
        assert record.status == dg.DagsterRunStatus.SUCCESS
        distributed = results(place)
        assert_nothing_lost_or_twice(place, workshop, companies)
        share = workers_of(instance, record.run_id)
        assert set(share) == {"w1", "w2"}
        assert share.total() == COMPANIES + 1, "the killed worker's company was begun once more"
        print(dict(share))

        activate(workshop, database, tmp_path, "2027-02-01", {})  # back to where it was
        regrade_portfolios(workshop, instance, only_open=True)
        activate(workshop, database, tmp_path, "2027-03-01", LINES)
        begun = time.monotonic()
        regrade_portfolios(workshop, instance, only_open=True)
        print(f"{time.monotonic() - begun:.1f} s in one process")
        assert results(place) == distributed


def assert_nothing_lost_or_twice(place: Place, workshop: Workshop, companies: list[UUID]) -> None:
    changed = sum(1 for number in range(SKUS) if number % 3)
    done = "SELECT count(*) FROM regrades WHERE finished_at IS NOT NULL AND skus = {} AND changed = {}"
    assert place.one(done.format(SKUS, changed)) == (COMPANIES,)
    entries = (
        "SELECT count(*), count(DISTINCT resource_id) FROM audit_entries e "
        "JOIN audit_transactions t ON t.id = transaction_id WHERE actor_name = 'regrade'"
    )
    assert place.one(entries) == (COMPANIES * changed, COMPANIES * changed)
    assert place.one("SELECT sum(version) FROM skus") == (COMPANIES * (SKUS + changed),)
    for company_id in companies:
        with workshop.pool.company(company_id) as conn:
            assert audit.verify(conn).ok


def workers_of(instance: dg.DagsterInstance, run_id: str) -> Counter[str]:
    """How many companies' steps each worker has begun."""
    begun: Counter[str] = Counter()
    for event in instance.all_logs(run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        told = event.get_dagster_event().engine_event_data.metadata.get("Celery worker")
        if told is not None and "regraded_company[" in (event.step_key or ""):
            begun[str(told.value).partition("@")[0]] += 1
    return begun
