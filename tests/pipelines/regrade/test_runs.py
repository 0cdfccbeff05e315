"""The runs of regrading: what they show, what the worker goes on with, and what a release begins."""

import shutil
import threading
from contextlib import nullcontext
from pathlib import Path
from uuid import uuid4

import dagster as dg
import psycopg
import pytest

from compliance import ruleset
from compliance.ruleset import RULES
from compliance.tables import TableError
from pipelines.regrading import Regrader, alone, regrade_portfolios
from pipelines.steps import regrade, rulesets
from pipelines.steps.regrade import work
from tests import ruling
from tests.conftest import migrated
from tests.pipelines.regrade.office import OPERATOR, Office, opened
from tests.pipelines.shown import lines
from tests.ruling import BOTTLE, GLASS, LINES
from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse.clock import StoppedClock
from warehouse.database import Database
from warehouse.rulesets import Rulesets


def test_the_run_shows_matrix_and_changes_and_one_company_is_one_step(office: Office) -> None:
    office.write(B_1=BOTTLE, G_1=GLASS)
    office.activate(LINES)
    run, _ = office.instance.get_runs()
    materialized = office.instance.get_latest_materialization_event(dg.AssetKey("regraded_skus"))
    assert materialized is not None
    assert materialized.asset_materialization is not None
    shown = materialized.asset_materialization.metadata
    assert shown["skus_changed"].value == 1
    assert "B→C | 1" in lines(shown["matrix"])
    assert "B-1 | B | C" in lines(shown["first_changes"])
    steps = {event.step_key for event in office.instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_SUCCESS)}
    assert f"regraded_skus.regraded_company[{office.company.hex}]" in steps


def test_a_company_that_is_not_there_is_refused(office: Office) -> None:
    with pytest.raises(dg.Failure, match="There is no company"):
        regrade_portfolios(office.workshop, office.instance, uuid4())


def test_a_version_never_changes(office: Office, place: Database) -> None:
    version = office.activate(LINES)
    now, rules = office.workshop.clock.now(), len(ruleset.load().rules)
    with psycopg.connect(place.owner_url) as owner:
        assert rulesets.add(owner, office.folder / version, now) == {"version": version, "active": True, "rules": rules}
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
        assert rulesets.listed(owner)[-1] == {"version": version, "active": True, "rules": rules}


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


def test_a_run_that_was_lost_when_nothing_was_left_to_do_is_ended(office: Office) -> None:
    job = dg.job(name="regrade_portfolios")(lambda: None)
    lost = office.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED, tags={"pcds/alone": "regrade"})
    regrade_portfolios(office.workshop, office.instance, office.company)  # so that nothing waits
    later = office.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED, tags={"pcds/alone": "regrade"})
    Regrader(office.workshop, lambda: nullcontext(office.instance)).turn()
    for run in (lost, later):
        ended = office.instance.get_run_by_id(run.run_id)
        assert ended is not None
        assert ended.status == dg.DagsterRunStatus.FAILURE


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
