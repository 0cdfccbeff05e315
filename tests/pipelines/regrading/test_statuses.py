"""After an activation Dagster says what is out of date, and no longer than it is."""

from pipelines.defs.sensors import due_companies, overdue_work
from pipelines.due import WAIT_WHILE_MIGRATING
from tests.pipelines.regrading.office import Office
from tests.pipelines.regrading.test_runs import BOTTLE, LINES
from tests.pipelines.sensing import follow, of_job, requested_by, statuses


def said(office: Office, *assets: str) -> list[str]:
    return [*statuses(office.instance, office.pool, office.company, *assets).values()]


def publish(office: Office) -> int:
    office.clock.advance(WAIT_WHILE_MIGRATING)
    runs = follow(
        due_companies, office.instance, office.resources, only=requested_by(office.company, "publish_portfolio")
    )
    assert all(run.success for run in runs)
    return len(runs)


def activate(office: Office) -> None:
    office.activate(LINES, then_regrade=False)
    follow(overdue_work, office.instance, office.resources, only=of_job("read_rule_set"))


def regrade(office: Office) -> None:
    [run] = follow(
        due_companies, office.instance, office.resources, only=requested_by(office.company, "regrade_portfolios")
    )
    assert run.success


def test_what_follows_an_activation_is_stale_until_it_is_made(office: Office) -> None:
    follow(overdue_work, office.instance, office.resources, only=of_job("read_rule_set"))
    office.regrade()
    office.write(B_1=BOTTLE)
    assert publish(office) == 1
    assert said(office, "portfolio_snapshot", "figures") == ["FRESH", "FRESH"]
    activate(office)
    assert said(office, "regraded_skus", "portfolio_snapshot") == ["STALE", "FRESH"]
    regrade(office)
    assert said(office, "regraded_skus", "portfolio_snapshot") == ["FRESH", "STALE"]
    assert publish(office) == 1
    assert said(office, "regraded_skus", "portfolio_snapshot", "figures") == ["FRESH"] * 3


def test_a_regrade_that_changes_nothing_leaves_nothing_stale(office: Office) -> None:
    for _ in range(2):
        activate(office)
        regrade(office)
        publish(office)
        assert said(office, "regraded_skus", "portfolio_snapshot", "figures") == ["FRESH"] * 3
