"""What Dagster says of each asset is true: fresh after a publication, stale when something newer was made."""

from pipelines.defs.publication.sensors import WAIT_WHILE_MIGRATING, written_portfolios
from pipelines.engine.runs.catalogue import refresh_catalogue
from tests.pipelines.conftest import Desk
from tests.pipelines.sensing import follow, requested_by, statuses

PUBLISHED = ("portfolio_snapshot", "portfolio_overview", "portfolio", "figures", "obligations")
FRESH = dict.fromkeys(PUBLISHED, "FRESH")


def said(desk: Desk, *assets: str) -> dict[str, str]:
    return statuses(desk.instance, desk.pool, desk.company, *assets)


def publish(desk: Desk) -> None:
    desk.clock.advance(WAIT_WHILE_MIGRATING)
    runs = follow(written_portfolios, desk.instance, desk.resources, only=requested_by(desk.company))
    assert [run.success for run in runs] == [True]


def test_what_is_published_is_fresh_until_something_is_written(desk: Desk) -> None:
    for number in (1, 2, 3):
        assert desk.run(desk.send(f"sku_code,name\nA{number},Bottle"))
        if number > 1:
            assert said(desk, "portfolio_snapshot") == {"portfolio_snapshot": "STALE"}
        publish(desk)
        assert said(desk, *PUBLISHED) == FRESH, number


def test_a_catalogue_that_is_loaded_again_makes_nothing_stale(desk: Desk) -> None:
    refresh_catalogue(desk.resources, desk.instance, None)
    assert desk.run(desk.send("sku_code,name\nA1,Bottle"))
    publish(desk)
    refresh_catalogue(desk.resources, desk.instance, None)
    assert said(desk, *PUBLISHED) == FRESH
