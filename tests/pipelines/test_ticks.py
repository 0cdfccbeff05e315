"""A tick that starts nothing says why, whichever sensor it is of: an hour of ticks without a reason is noise."""

import dagster as dg
import pytest

from pipelines.definitions import defs
from pipelines.defs.sensors import due_companies, overdue_work, queued_imports, watched_folders
from pipelines.due import WantedRun
from pipelines.engine.runs import partition_of
from tests.pipelines.conftest import Desk
from tests.pipelines.sensing import follow, of_job, tick


def nothing(*_: object, **__: object) -> dict[str, WantedRun]:
    """Nothing is due."""
    return {}


@pytest.fixture(autouse=True)
def idle(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests leave work in the same database; here none is left, and Dagster has heard of the rules."""
    for name in ("written_portfolios", "queued_exports", "messages", "requested_regrades", "lost_portfolios"):
        monkeypatch.setattr(f"pipelines.due.{name}", nothing)
    monkeypatch.setattr("pipelines.defs.sensors.open_imports", nothing)
    follow(overdue_work, desk.instance, desk.resources, only=of_job("read_rule_set", "refresh_catalogue", "keep_house"))


@pytest.mark.parametrize(
    "sensor", [queued_imports, due_companies, overdue_work, watched_folders], ids=lambda each: each.name
)
def test_a_tick_that_finds_nothing_says_so(desk: Desk, sensor: dg.SensorDefinition) -> None:
    looked = tick(sensor, desk.instance, desk.resources)
    assert not looked.run_requests
    assert "No" in str(looked.skip_reason)


def test_a_version_that_a_person_reports_by_hand_is_told_again(desk: Desk) -> None:
    """Dagster's page of an asset has a button for that; what it reports has no metadata."""
    desk.instance.report_runless_asset_event(dg.AssetMaterialization("rule_set"))
    asked = tick(overdue_work, desk.instance, desk.resources).run_requests or ()
    assert [request.job_name for request in asked] == ["read_rule_set"]


def test_without_a_mail_server_a_tick_says_that_nothing_is_mailed(desk: Desk) -> None:
    assert desk.resources.settings.smtp_url is None
    assert "PCDS_SMTP_URL" in str(tick(due_companies, desk.instance, desk.resources).skip_reason)


def test_a_tick_that_leaves_a_company_to_its_run_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = partition_of(desk.instance, desk.pool, desk.company)
    monkeypatch.setattr("pipelines.due.written_portfolios", lambda *_: {slug: WantedRun("1", {})})
    assert tick(due_companies, desk.instance, desk.resources).skip_reason is None
    desk.instance.create_run_for_job(
        defs.resolve_job_def("publish_portfolio"),
        status=dg.DagsterRunStatus.STARTED,
        tags={"dagster/partition": slug},
    )
    looked = tick(due_companies, desk.instance, desk.resources)
    assert not looked.run_requests
    assert "1 runs are due" in str(looked.skip_reason)
