"""The runs of regrading: what they show, what the worker goes on with, and what a release begins."""

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import dagster as dg
import psycopg
import pytest

from compliance import ruleset
from compliance.ruleset import RULES
from compliance.tables import TableError
from pipelines import commands
from pipelines import rules as rules_pipelines
from pipelines.definitions import defs
from pipelines.defs.sensors import due_companies, overdue_work
from services import rules as rules_services
from tests import ruling
from tests.conftest import migrated
from tests.pipelines.regrading.office import OPERATOR, Office, opened
from tests.pipelines.sensing import follow, of_job, requested_by, tick
from tests.pipelines.shown import lines
from tests.ruling import BOTTLE, GLASS, LINES
from warehouse import rules as rules_warehouse
from warehouse.operate.clock import StoppedClock
from warehouse.operate.database import Database
from warehouse.rules import Rulesets


def test_the_run_shows_matrix_and_changes_and_one_company_is_one_step(office: Office) -> None:
    office.write(B_1=BOTTLE, G_1=GLASS)
    office.activate(LINES)
    run = office.instance.get_runs()[0]
    materialized = office.instance.get_latest_materialization_event(dg.AssetKey("regraded_skus"))
    assert materialized is not None
    assert materialized.asset_materialization is not None
    shown = materialized.asset_materialization.metadata
    assert shown["skus_changed"].value == 1
    assert "B→C | 1" in lines(shown["matrix"])
    assert "B-1 | B | C" in lines(shown["first_changes"])
    steps = {event.step_key for event in office.instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_SUCCESS)}
    assert steps == {"regraded_skus", "check_regraded_skus"}
    assert materialized.asset_materialization.partition == run.tags["dagster/partition"]


def test_a_company_that_is_not_there_is_refused(office: Office) -> None:
    office.instance.add_dynamic_partitions("companies", ["nobody"])
    run = defs.resolve_job_def("regrade_portfolios").execute_in_process(
        partition_key="nobody",
        instance=office.instance,
        resources=office.resources.as_definitions(),
        raise_on_error=False,
    )
    assert not run.success
    with pytest.raises(dg.Failure, match="There is no company"):
        commands.chosen_companies(office.pool, uuid4())


def test_a_version_never_changes(office: Office, place: Database) -> None:
    version = office.activate(LINES)
    now, rules = office.clock.now(), len(ruleset.load().rules)
    with psycopg.connect(place.owner_url) as owner:
        assert rules_services.add(owner, office.folder / version, now) == {
            "version": version,
            "active": True,
            "rules": rules,
        }
        (office.folder / version / "scoring.csv").write_text(ruling.texts({})["scoring.csv"], encoding="utf-8")
        with pytest.raises(TableError, match="never changes"):
            rules_services.add(owner, office.folder / version, now)
        with pytest.raises(TableError, match="by the day"):
            rules_services.add(owner, ruling.folder(office.folder, "mine", {}), now)
        with pytest.raises(TableError, match="There is no rule-set 1999-01-01"):
            rules_services.activate(owner, "1999-01-01", OPERATOR, now)
    with psycopg.connect(place.owner_url) as owner:
        owner.execute("UPDATE rulesets SET tables = '{}' WHERE version = %s", (version,))
        with pytest.raises(TableError, match="not as it was added"):
            Rulesets().active(owner)
        owner.rollback()
        assert rules_services.activate(owner, version, OPERATOR, now)["active"]
        assert rules_services.list_versions(owner)[-1] == {"version": version, "active": True, "rules": rules}


def regrades(office: Office) -> Callable[[dg.RunRequest], bool]:
    """Which requests are for this company's regrade."""
    return requested_by(office.company, "regrade_portfolios")


def heard(office: Office) -> list[dg.ExecuteInProcessResult]:
    """Dagster is told the version that grades, where it knows another."""
    return follow(overdue_work, office.instance, office.resources, only=of_job("read_rule_set"))


def look(office: Office) -> list[dg.ExecuteInProcessResult]:
    """A tick of the sensor, and the run of this company that it asks for."""
    heard(office)
    return follow(due_companies, office.instance, office.resources, only=regrades(office))


def follow_all(office: Office) -> list[dg.ExecuteInProcessResult]:
    """A tick of each sensor, and the runs that it asks for."""
    asked = of_job("regrade_portfolios")
    return [*heard(office), *follow(due_companies, office.instance, office.resources, only=asked)]


def test_the_service_goes_on_with_what_is_left_and_leaves_alone_what_a_run_does(office: Office) -> None:
    office.write(B_1=BOTTLE)
    assert look(office) == [], "nothing is asked for"
    version = office.activate(LINES, then_regrade=False)
    heard(office)
    asked = tick(due_companies, office.instance, office.resources).run_requests or ()
    [request] = filter(regrades(office), asked)
    assert str(request.run_key).startswith(f"{request.partition_key}/{version}/")
    assert request.tags["pcds/regrade"] == version
    office.instance.add_dynamic_partitions("companies", [str(request.partition_key)])
    under_way = office.instance.create_run_for_job(
        defs.resolve_job_def("regrade_portfolios"),
        status=dg.DagsterRunStatus.STARTED,
        tags={"dagster/partition": str(request.partition_key)},
    )
    assert look(office) == []
    office.instance.report_run_failed(under_way)
    assert look(office) == [], "not at once"
    office.instance.delete_run(under_way.run_id)
    assert [run.success for run in look(office)] == [True]
    assert office.held()["B-1"][0] == "C"


def test_a_company_of_a_backfill_is_left_to_its_run(office: Office) -> None:
    office.write(B_1=BOTTLE)
    office.activate(LINES, then_regrade=False)
    heard(office)
    asked = tick(due_companies, office.instance, office.resources).run_requests or ()
    [request] = filter(regrades(office), asked)
    office.instance.add_dynamic_partitions("companies", [str(request.partition_key)])
    of_backfill = office.instance.create_run_for_job(
        defs.resolve_implicit_global_asset_job_def(),
        asset_selection=frozenset({dg.AssetKey("regraded_skus")}),
        status=dg.DagsterRunStatus.STARTED,
        tags={"dagster/partition": str(request.partition_key)},
    )
    assert look(office) == []
    office.instance.report_run_failed(of_backfill)
    assert [run.success for run in look(office)] == [True], "what it left is done"


def test_a_version_that_comes_back_is_asked_for_again(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.write(B_1=BOTTLE)
    first = office.held_by()
    for back in (False, True, False):
        office.clock.advance(timedelta(seconds=1))
        if back:
            with psycopg.connect(office.database.owner_url) as owner:
                rules_services.activate(owner, first, OPERATOR, office.clock.now())
        else:
            office.activate(LINES, then_regrade=False)
        assert [run.success for run in look(office)] == [True]
        assert office.held()["B-1"][0] == ("B" if back else "C")


def test_dagster_hears_of_the_version_and_of_how_many_are_held_by_older_rules(office: Office) -> None:
    office.write(B_1=BOTTLE)
    version = office.activate(LINES, then_regrade=False)
    asked = tick(due_companies, office.instance, office.resources, cursor="0 regrades left")
    assert [each.job_name for each in asked.run_requests or () if regrades(office)(each)] == []
    assert "read_rule_set" in {each.job_name for each in asked.run_requests or ()}, "Dagster hears of the version first"
    assert [event.passed for event in asked.asset_events if isinstance(event, dg.AssetCheckEvaluation)] == [False]
    [run] = heard(office)
    [told] = run.asset_materializations_for_node("rule_set")
    assert (told.tags or {})["dagster/data_version"] == version
    verdicts = {check.check_name: check for check in run.get_asset_check_evaluations()}
    check = verdicts["no_company_held_by_older_rules"]
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert check.metadata["companies_held_by_older_rules"].value >= 1
    assert verdicts["contract"].passed
    assert heard(office) == [], "nothing has changed"
    again = tick(due_companies, office.instance, office.resources, cursor=asked.cursor)
    assert list(again.asset_events) == [], "it is said once"
    follow(due_companies, office.instance, office.resources, only=of_job("regrade_portfolios"))
    done = tick(due_companies, office.instance, office.resources, cursor=asked.cursor)
    assert [event.passed for event in done.asset_events if isinstance(event, dg.AssetCheckEvaluation)] == [True]


def test_whoever_materialises_a_company_in_the_ui_has_it_regraded(office: Office) -> None:
    office.write(B_1=BOTTLE)
    office.activate(LINES, then_regrade=False)
    run = commands.run("regrade_portfolios", office.resources, office.instance, office.company)
    assert run.is_success
    assert office.held()["B-1"][0] == "C"
    assert run.tags["pcds/regrade"] == "asked"


def test_a_regrade_waits_for_older_writers_once_for_all_companies(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = list[bool]()
    monkeypatch.setattr(rules_pipelines, "wait_for_older_writers", lambda *_: waited.append(True))
    office.activate(LINES, then_regrade=False)
    for _ in range(2):
        rules_pipelines.wait_once(office.pool, office.company, lambda: None)
    assert len(waited) == 1
    office.activate({}, then_regrade=False)
    rules_pipelines.wait_once(office.pool, office.company, lambda: None)
    assert len(waited) == 2
    office.regrade()
    rules_pipelines.wait_once(office.pool, office.company, lambda: None)
    assert len(waited) == 2, "nothing is asked for"


def test_a_release_with_newer_rules_regrades_what_is_held_once(
    server: Database, clock: StoppedClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warehouse.rules.FRESH_SECONDS", 0.0)
    monkeypatch.setattr(rules_pipelines, "FRESH_SECONDS", 0.0)
    with migrated(server) as database, opened(database, clock, tmp_path) as office:
        office.write(B_1=BOTTLE, G_1=GLASS)
        before = office.held()
        assert len(follow_all(office)) == 1, "the version is told, and all is graded by the release's rules"
        shipped = tmp_path / "rules"
        shutil.copytree(RULES, shipped)
        ruling.folder(shipped, "2099-01-01", LINES)
        monkeypatch.setattr("compliance.ruleset.RULES", shipped)
        assert [run.success for run in follow_all(office)] == [True, True]
        assert office.held() == {"B-1": ("C", "2099-01-01", 2), "G-1": before["G-1"]}
        assert follow_all(office) == [], "once, although G-1 keeps the version that graded it"
        of_whole = defs.resolve_job_def("read_rule_set").execute_in_process(
            instance=office.instance, resources=office.resources.as_definitions()
        )
        assert of_whole.success
        assert rules_warehouse.open_regrades(office.pool) == []
