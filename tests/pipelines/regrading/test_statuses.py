"""After an activation Dagster says what is out of date, and no longer than it is."""

from pipelines.defs.catalogue.sensors import active_rules
from pipelines.defs.publication.sensors import WAIT_WHILE_MIGRATING, written_portfolios
from pipelines.defs.regrading.sensors import asked_regrades
from tests.pipelines.regrading.office import Office
from tests.pipelines.regrading.test_runs import BOTTLE, LINES
from tests.pipelines.sensing import follow, requested_by, statuses


def said(office: Office, *assets: str) -> list[str]:
    return [*statuses(office.instance, office.pool, office.company, *assets).values()]


def publish(office: Office) -> int:
    office.clock.advance(WAIT_WHILE_MIGRATING)
    runs = follow(written_portfolios, office.instance, office.resources, only=requested_by(office.company))
    assert all(run.success for run in runs)
    return len(runs)


def activate(office: Office) -> None:
    office.activate(LINES, then_regrade=False)
    follow(active_rules, office.instance, office.resources)


def regrade(office: Office) -> None:
    [run] = follow(asked_regrades, office.instance, office.resources, only=requested_by(office.company))
    assert run.success


def test_what_follows_an_activation_is_stale_until_it_is_made(office: Office) -> None:
    follow(active_rules, office.instance, office.resources)
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
