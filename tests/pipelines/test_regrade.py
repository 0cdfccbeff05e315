"""Regrading what is held: only what changes is written, once, whoever comes between and wherever it is broken off.

In a database of the module's own, since a rule-set is active for all companies of one.
"""

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import dagster as dg
import psycopg
import pytest

from compliance.ruleset import RULES
from compliance.tables import TableError
from pipelines.regrading import Regrader, alone, regrade_portfolios
from pipelines.resources import Workshop
from pipelines.steps import audit, regrade, rulesets
from pipelines.steps.origin import Origin
from pipelines.steps.records import write_records
from pipelines.steps.regrade import Desk, Totals, work
from schemas.models import parse_sku
from tests import ruling
from tests.conftest import migrated
from tests.ruling import BOTTLE, FEATURE, GLASS, LINES, Change
from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse.clock import StoppedClock
from warehouse.database import Database
from warehouse.objects import Objects
from warehouse.rulesets import Rulesets
from warehouse.sessions import Pool
from warehouse.settings import Settings

OPERATOR = Origin("operator", "me", "operator", "c-2")
CALLER = Origin("api_key", "k", "ERP", "c-1")
_YEARS = count(2100)


@dataclass(frozen=True)
class Office:
    """One company in the module's database, the operator who changes rules there, and a workshop."""

    workshop: Workshop
    database: Database
    instance: dg.DagsterInstance
    company: UUID
    folder: Path

    def write(self, rulesets: Rulesets | None = None, **skus: dict[str, Any]) -> None:
        with self.workshop.pool.company(self.company) as conn:
            write_records(
                conn, self.company, {row: parse_sku({"sku_code": code.replace("_", "-"), "name": "n", **body})
                                     for row, (code, body) in enumerate(skus.items())},
                origin=CALLER, now=self.workshop.clock.now(), rulesets=rulesets or self.workshop.rulesets,
                dry_run=False,
            )  # fmt: skip

    def activate(self, change: Change, *, then_regrade: bool = True) -> str:
        """Add and activate a version of a new name; its name."""
        version = f"{next(_YEARS)}-01-01"
        with psycopg.connect(self.database.owner_url) as owner:
            rulesets.add(owner, ruling.folder(self.folder, version, change), self.workshop.clock.now())
        with psycopg.connect(self.database.owner_url) as owner:
            rulesets.activate(owner, version, OPERATOR, self.workshop.clock.now())
        if then_regrade:
            self.regrade()
        return version

    def regrade(self) -> Totals:
        return regrade_portfolios(self.workshop, self.instance, self.company, only_open=True)

    def desk(self, block_rows: int) -> Desk:
        shop = self.workshop
        return Desk(shop.pool, shop.clock, shop.rulesets, block_rows, "r-1")

    def held(self) -> dict[str, tuple[str, str, int]]:
        """Grade, rule-set and version of each SKU."""
        query = "SELECT sku_code, recyclability_grade, ruleset_version, version FROM skus ORDER BY sku_code"
        with self.workshop.pool.company(self.company) as conn:
            return {code: tuple(rest) for code, *rest in conn.execute(query)}

    def entries(self) -> list[tuple[Any, ...]]:
        query = (
            "SELECT e.action, t.actor_type, t.reason, e.version FROM audit_entries e JOIN audit_transactions t "
            "ON t.id = e.transaction_id ORDER BY e.id"
        )
        with self.workshop.pool.company(self.company) as conn:
            return conn.execute(query).fetchall()

    def chain_holds(self) -> bool:
        with self.workshop.pool.company(self.company) as conn:
            return audit.verify(conn).ok


@pytest.fixture(scope="module")
def place(server: Database) -> Iterator[Database]:
    with migrated(server) as database:
        yield database


@pytest.fixture
def office(place: Database, clock: StoppedClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    monkeypatch.setattr("warehouse.rulesets.FRESH_SECONDS", 0.0)
    monkeypatch.setattr(work, "FRESH_SECONDS", 0.0)
    with opened(place, clock, tmp_path) as office:
        office.activate({})  # of a name that no other test's SKUs have
        yield office
        with office.workshop.pool.company(office.company) as conn:  # nobody else shall find it open
            conn.execute("UPDATE regrades SET finished_at = now()")


@contextmanager
def opened(place: Database, clock: StoppedClock, folder: Path) -> Iterator[Office]:
    company = uuid4()
    with psycopg.connect(place.owner_url) as owner:
        owner.execute("INSERT INTO companies VALUES (%s, 'Regrade', 'enterprise', %s)", (company, clock.now()))
        owner.execute("INSERT INTO company_counters (company_id) VALUES (%s)", (company,))
    with Pool(place.app_url) as pool, dg.DagsterInstance.ephemeral() as instance:
        objects = Objects.of(Settings.load(data_dir=folder))
        yield Office(Workshop(pool, objects, clock, Rulesets(), folder, chunk_rows=3), place, instance, company, folder)


def test_only_what_changes_is_written_and_says_why(office: Office) -> None:
    office.write(B_1=BOTTLE, B_2=BOTTLE, G_1=GLASS)
    before = office.held()
    version = office.activate(LINES, then_regrade=False)
    assert office.held() == before
    totals = office.regrade()
    assert totals.as_dict() == {
        "companies": 1, "skus": 3, "changed": 2, "matrix": {"A→A": 1, "B→C": 2}, "ruleset_version": version,
    }  # fmt: skip
    assert totals.regraded.examples == [["B-1", "B", "C"], ["B-2", "B", "C"]]
    assert office.held() == {"B-1": ("C", version, 2), "B-2": ("C", version, 2), "G-1": before["G-1"]}
    assert office.entries()[4:] == [
        ("ruleset.activated", "operator", None, None),
        *[("sku.updated", "system", f"Regraded by rule-set {version}.", 2)] * 2,
    ]
    assert office.chain_holds()


def test_a_trace_that_changes_is_written_although_the_grade_stays(office: Office) -> None:
    office.write(B_1=BOTTLE, G_1=GLASS)
    grades = {code: grade for code, (grade, _, _) in office.held().items()}
    version = office.activate(FEATURE)
    assert {code: grade for code, (grade, _, _) in office.held().items()} == grades
    assert {code: held[1] == version for code, held in office.held().items()} == {"B-1": True, "G-1": False}


def test_the_same_tables_under_another_name_change_nothing(office: Office) -> None:
    office.activate({})
    office.write(B_1=BOTTLE, G_1=GLASS)
    before, entries = office.held(), len(office.entries())
    office.activate({})
    assert office.held() == before
    assert len(office.entries()) == entries + 1, "the activation alone"
    again = regrade_portfolios(office.workshop, office.instance, office.company)
    assert (again.regraded.skus, again.regraded.changed) == (2, 0)


def test_it_goes_on_where_it_stopped_and_does_nothing_twice(office: Office) -> None:
    office.write(**{f"B_{number:02}": BOTTLE for number in range(10)})
    version = office.activate(LINES, then_regrade=False)
    desk = office.desk(3)
    for blocks in range(3):
        left = iter([None] * blocks)
        with pytest.raises(StopIteration):
            regrade.go_on(desk, office.company, lambda left=left: next(left))
    assert [held[1] == version for held in office.held().values()] == [True] * 9 + [False]
    regrade.go_on(desk, office.company, lambda: None)
    totals = office.regrade()
    assert (totals.regraded.skus, totals.regraded.changed, len(totals.regraded.examples)) == (10, 10, 10)
    assert {held[2] for held in office.held().values()} == {2}


def test_a_block_that_breaks_off_leaves_nothing(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.write(B_1=BOTTLE)
    before = office.held(), office.entries()
    office.activate(LINES, then_regrade=False)
    with monkeypatch.context() as broken:
        broken.setattr("pipelines.steps.regrade.progress.advance", None)
        with pytest.raises(TypeError):
            office.regrade()
    assert (office.held(), office.entries()[:-1]) == before
    office.regrade()
    assert office.held()["B-1"][::2] == ("C", 2)


def test_workers_on_one_company_take_turns(office: Office) -> None:
    office.write(**{f"B_{number:02}": BOTTLE for number in range(30)})
    office.activate(LINES, then_regrade=False)
    desk = office.desk(2)
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(regrade.go_on, desk, office.company, lambda: None) for _ in range(4)]:
            done.result()
    assert {held[2] for held in office.held().values()} == {2}
    assert office.regrade().regraded.changed == 30
    assert office.chain_holds()


@pytest.mark.parametrize("writes", [{**GLASS}, {"name": "another name"}], ids=["another grade", "the same grade"])
def test_a_write_that_comes_between_is_never_overwritten(
    office: Office, monkeypatch: pytest.MonkeyPatch, writes: dict[str, Any]
) -> None:
    """The write commits after the block was read and graded, before its rows are locked."""
    office.write(B_1=BOTTLE, B_2=BOTTLE)
    version = office.activate(LINES, then_regrade=False)
    lock = regrade.block.stored.lock_versions

    def lock_late(conn: psycopg.Connection[Any], codes: list[str]) -> dict[str, int]:
        if (office.held()["B-1"][2], codes) == (1, ["B-1", "B-2"]):
            office.write(B_1=writes)
        return lock(conn, codes)

    monkeypatch.setattr("pipelines.steps.stored.lock_versions", lock_late)
    office.regrade()
    grade = "A" if "components" in writes else "C"
    assert office.held() == {"B-1": (grade, version, 2), "B-2": ("C", version, 2)}
    assert office.chain_holds()


def test_writers_at_work_meanwhile_lose_nothing(office: Office) -> None:
    codes = [f"B_{number:02}" for number in range(40)]
    office.write(**dict.fromkeys(codes, BOTTLE))
    stop, written = threading.Event(), []

    def writer(start: int) -> None:
        for number in count(start, 7):
            if stop.is_set():
                return
            code = codes[number % len(codes)]
            office.workshop.pool.retrying(
                lambda code=code, number=number: office.write(**{code: {"description": f"d{number}"}})
            )
            written.append(code)

    with ThreadPoolExecutor(2) as threads:
        writers = [threads.submit(writer, start) for start in (0, 3)]
        for change in (LINES, {}, LINES):
            version = office.activate(change, then_regrade=False)
            desk = office.desk(7)
            regrade.wait_for_older_writers(office.workshop.pool, lambda: None)
            regrade.go_on(desk, office.company, lambda: None)
        stop.set()
        for each in writers:
            each.result()
    assert written
    assert {(grade, ruleset) for grade, ruleset, _ in office.held().values()} == {("C", version)}
    assert sum(version - 1 for _, _, version in office.held().values()) == len(written) + 3 * len(codes) - _coincided(
        office
    )
    assert office.chain_holds()


def _coincided(office: Office) -> int:
    """SKUs that a write had brought to the new grade before the regrade came to them."""
    with office.workshop.pool.company(office.company) as conn:
        row = conn.execute(
            "SELECT count(*) FROM audit_entries e JOIN audit_transactions t ON t.id = e.transaction_id "
            "WHERE e.action = 'sku.updated' AND t.actor_type = 'system'"
        ).fetchone()
    return 3 * len(office.held()) - row[0]


def test_an_activation_while_a_regrade_is_under_way_begins_anew(office: Office) -> None:
    office.write(**{f"B_{number}": BOTTLE for number in range(4)})
    office.activate(LINES, then_regrade=False)
    desk = office.desk(2)
    blocks = count()

    def activate_after_the_first() -> None:
        if next(blocks) == 1:
            office.activate({}, then_regrade=False)

    regrade.go_on(desk, office.company, activate_after_the_first)
    assert {held[0] for held in office.held().values()} == {"B"}
    assert [held[2] for held in office.held().values()] == [3, 3, 1, 1]


def test_the_run_shows_matrix_and_changes_and_one_company_is_one_step(office: Office) -> None:
    office.write(B_1=BOTTLE, G_1=GLASS)
    office.activate(LINES)
    run, _ = office.instance.get_runs()
    materialized = office.instance.get_latest_materialization_event(dg.AssetKey("regraded_skus"))
    assert materialized is not None
    assert materialized.asset_materialization is not None
    shown = materialized.asset_materialization.metadata
    assert shown["skus_changed"].value == 1
    assert "| B→C | 1 |" in shown["matrix"].value
    assert "| B-1 | B | C |" in shown["first_changes"].value
    steps = {event.step_key for event in office.instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_SUCCESS)}
    assert f"regraded_skus.regraded_company[{office.company.hex}]" in steps


def test_a_company_that_is_not_there_is_refused(office: Office) -> None:
    with pytest.raises(dg.Failure, match="There is no company"):
        regrade_portfolios(office.workshop, office.instance, uuid4())


def test_a_regrade_waits_for_writes_under_the_older_set(office: Office) -> None:
    office.write(B_1=BOTTLE)
    begun, go_on, waited = threading.Event(), threading.Event(), threading.Event()

    def late() -> None:
        with office.workshop.pool.company(office.company) as conn:
            conn.execute("SELECT 1")
            begun.set()
            assert go_on.wait(PATIENCE_SECONDS)

    with ThreadPoolExecutor(2) as threads:
        writer = threads.submit(late)
        assert begun.wait(PATIENCE_SECONDS)
        waiting = threads.submit(regrade.wait_for_older_writers, office.workshop.pool, waited.set)
        assert waited.wait(PATIENCE_SECONDS)
        assert not waiting.done()
        go_on.set()
        writer.result(PATIENCE_SECONDS)
        waiting.result(PATIENCE_SECONDS)


def test_a_process_follows_within_a_second_and_its_write_keeps_one_set(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("warehouse.rulesets.FRESH_SECONDS", 1.0)
    monkeypatch.setattr("warehouse.rulesets.time", SimpleNamespace(monotonic=lambda: now[0]))
    elsewhere = Rulesets()
    office.write(elsewhere, B_1=BOTTLE)
    version = office.activate(LINES, then_regrade=False)
    office.write(elsewhere, B_2=BOTTLE)
    now[0] = 1.0
    office.write(elsewhere, B_3=BOTTLE)
    assert [held[1] == version for held in office.held().values()] == [False, False, True]
    assert [held[0] for held in office.held().values()] == ["B", "B", "C"]


def test_a_version_never_changes(office: Office, place: Database) -> None:
    version = office.activate(LINES)
    now = office.workshop.clock.now()
    with psycopg.connect(place.owner_url) as owner:
        assert rulesets.add(owner, office.folder / version, now) == {"version": version, "active": True, "rules": 365}
        (office.folder / version / "scoring.csv").write_text(ruling.texts({})["scoring.csv"], encoding="utf-8")
        with pytest.raises(TableError, match="never changes"):
            rulesets.add(owner, office.folder / version, now)
        with pytest.raises(TableError, match="by the day"):
            rulesets.add(owner, ruling.folder(office.folder, "mine", {}), now)
        with pytest.raises(TableError, match="There is no rule-set 1999-01-01"):
            rulesets.activate(owner, "1999-01-01", OPERATOR, now)
    with psycopg.connect(place.owner_url) as owner:
        owner.execute("UPDATE rulesets SET tables = '{}' WHERE version = %s", (version,))
        with pytest.raises(TableError, match="not as it was added"):
            Rulesets().active(owner)
        owner.rollback()
        assert rulesets.activate(owner, version, OPERATOR, now)["active"]
        assert rulesets.listed(owner)[-1] == {"version": version, "active": True, "rules": 365}


def test_the_worker_goes_on_with_what_is_left_and_leaves_alone_what_another_does(office: Office) -> None:
    office.write(B_1=BOTTLE)
    regrader = Regrader(office.workshop, lambda: nullcontext(office.instance))
    regrader.turn()  # what other tests' companies were asked for
    runs = len(office.instance.get_runs())
    regrader.turn()
    assert len(office.instance.get_runs()) == runs, "nothing is asked for"
    office.activate(LINES, then_regrade=False)
    job = dg.job(name="regrade_portfolios")(lambda: None)
    killed = office.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED, tags={"pcds/alone": "regrade"})
    with alone(office.workshop, waiting=True) as is_ours:
        assert is_ours
        regrader.turn()
        assert office.held()["B-1"][0] == "B"
    regrader.turn()
    assert office.held()["B-1"][0] == "C"
    lost = office.instance.get_run_by_id(killed.run_id)
    assert lost is not None
    assert lost.status == dg.DagsterRunStatus.FAILURE


def test_a_release_with_newer_rules_regrades_what_is_held_once(
    server: Database, clock: StoppedClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warehouse.rulesets.FRESH_SECONDS", 0.0)
    monkeypatch.setattr(work, "FRESH_SECONDS", 0.0)
    with migrated(server) as database, opened(database, clock, tmp_path) as office:
        regrader = Regrader(office.workshop, lambda: nullcontext(office.instance))
        office.write(B_1=BOTTLE, G_1=GLASS)
        before = office.held()
        regrader.ask()
        assert regrade.open_regrades(office.workshop.pool) == [], "all is graded by the release's rules"
        shipped = tmp_path / "rules"
        shutil.copytree(RULES, shipped)
        ruling.folder(shipped, "2099-01-01", LINES)
        monkeypatch.setattr("compliance.ruleset.RULES", shipped)
        thread = threading.Thread(target=regrader.serve)
        thread.start()
        try:
            wait_until(lambda: office.held()["B-1"][0] == "C")
        finally:
            office.workshop.stopping.set()
            thread.join(PATIENCE_SECONDS)
        assert office.held() == {"B-1": ("C", "2099-01-01", 2), "G-1": before["G-1"]}
        regrader.ask()
        assert regrade.open_regrades(office.workshop.pool) == [], "once, although G-1 keeps the version that graded it"
