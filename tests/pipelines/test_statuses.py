"""What Dagster says of each asset is true: fresh after a publication, stale when something newer was made."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import dagster as dg
import pytest

from pipelines.commands import publish_company, refresh_catalogue
from pipelines.definitions import defs
from pipelines.defs.imports import GRADED
from pipelines.defs.sensors import due_companies
from pipelines.due import WAIT_WHILE_MIGRATING
from pipelines.imports import process
from tests.pipelines.conftest import Desk
from tests.pipelines.sensing import follow, requested_by, statuses
from warehouse.companies import queries

PUBLISHED = ("portfolio_snapshot", "portfolio_overview", "portfolio", "figures", "obligations")
FRESH = dict.fromkeys(PUBLISHED, "FRESH")


def said(desk: Desk, *assets: str) -> dict[str, str]:
    return statuses(desk.instance, desk.pool, desk.company, *assets)


def publish(desk: Desk) -> None:
    desk.clock.advance(WAIT_WHILE_MIGRATING)
    runs = follow(due_companies, desk.instance, desk.resources, only=requested_by(desk.company, "publish_portfolio"))
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


def test_the_failed_check_of_one_company_stands_beside_anothers_pass(
    desk: Desk, new_company: Callable[[str], UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(desk, company=new_company("enterprise"))
    with monkeypatch.context() as patched:
        whole = process.write_rows
        patched.setattr(process, "write_rows", lambda *given, **named: replace(whole(*given, **named), ungraded=1))
        assert desk.run(desk.send("sku_code,name\nA1,Bottle"))
    assert other.run(other.send("sku_code,name\nB1,Bottle"))
    key = dg.AssetCheckKey(dg.AssetKey("graded_skus"), GRADED)
    found = {
        each.partition_key: each.latest_execution_status.value
        for each in desk.instance.event_log_storage.get_asset_check_partition_info([key])
    }
    with desk.pool.system() as conn:
        slugs_by_company = queries.slug_of(conn, [desk.company, other.company])
    assert found == {slugs_by_company[desk.company]: "FAILED", slugs_by_company[other.company]: "SUCCEEDED"}


def test_every_check_of_a_company_has_its_verdict_by_company() -> None:
    graph = defs.resolve_asset_graph()
    specs = [graph.get_check_spec(key) for key in graph.asset_check_keys]
    by_asset = {spec.key: graph.get(spec.asset_key).partitions_def for spec in specs}
    assert {spec.key: spec.partitions_def for spec in specs} == by_asset


def test_an_import_and_a_publication_log_few_events(desk: Desk) -> None:
    """A launched run has some more, of its queue and its worker; each event is a write to Postgres."""
    rows = "".join(f"A{number},Bottle,plastic,20\n" for number in range(100))
    assert desk.run(desk.send(f"sku_code,name,material,weight_g\n{rows}"))
    publish_company(desk.resources, desk.instance, desk.company)
    logged = {run.job_name: len(desk.instance.all_logs(run.run_id)) for run in desk.instance.get_runs()}
    assert logged["import_file"] <= 36
    assert logged["publish_portfolio"] <= 68  # each of its checks, such as `weights_add_up`, is three
