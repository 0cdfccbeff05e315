"""Checks of what can be made again: each runs alone, a company's pass hides no other's failure, and bad data stops."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import dagster as dg
import polars as pl
import psycopg
import pytest

from pipelines import figures as figures_pipelines
from pipelines.checks import factory as checks
from pipelines.commands import publish_company
from pipelines.definitions import defs
from pipelines.engine.runs import partition_of
from schemas import contracts
from tests.pipelines.conftest import Desk
from tests.pipelines.test_declarations import FILE, declared
from warehouse.figures import snapshots, stored
from warehouse.figures.snapshots import Snapshot

CONTRACT = "contract"
MADE_AGAIN = {
    *("regraded_skus", "portfolio_snapshot", "figures", "obligations", "declarations"),
    *("jurisdiction_catalogue", "rule_set"),
}


def looked_at(desk: Desk, *assets: str) -> dict[str, bool]:
    """The verdicts of a run of these assets' checks and of nothing else, by asset and check."""
    graph = defs.resolve_asset_graph()
    keys = {key for key in graph.asset_check_keys if key.asset_key.to_user_string() in assets}
    whole = defs.resolve_implicit_global_asset_job_def()
    by_company = all(graph.get_check_spec(key).partitions_def for key in keys)
    run = whole.get_subset(asset_selection=set(), asset_check_selection=keys).execute_in_process(
        partition_key=partition_of(desk.instance, desk.pool, desk.company) if by_company else None,
        instance=desk.instance,
        resources=desk.resources.as_definitions(),
        raise_on_error=False,
    )
    assert not run.get_asset_materialization_events()
    return {
        f"{each.asset_key.to_user_string()}:{each.check_name}": each.passed
        for each in run.get_asset_check_evaluations()
    }


def damage(snapshot: Snapshot) -> None:
    """Give every part of a stored snapshot a weight below 0."""
    for file in snapshot.skus:
        pl.read_parquet(file).with_columns(weight_grams=pl.lit(-1.0)).write_parquet(file)


def verdicts(desk: Desk, asset: str, check: str = CONTRACT) -> dict[str | None, str]:
    """What Dagster says of a check, by company."""
    key = dg.AssetCheckKey(dg.AssetKey(asset), check)
    found = desk.instance.event_log_storage.get_asset_check_partition_info([key])
    return {each.partition_key: each.latest_execution_status.value for each in found}


def test_each_contract_is_blocking_and_runs_alone(desk: Desk) -> None:
    specs = [defs.resolve_asset_graph().get_check_spec(key) for key in defs.resolve_asset_graph().asset_check_keys]
    of_contract = {spec.asset_key.to_user_string(): spec for spec in specs if spec.name == CONTRACT}
    assert {name for name in MADE_AGAIN if of_contract[name].blocking} == MADE_AGAIN
    desk.run(desk.send(FILE))
    publish_company(desk.resources, desk.instance, desk.company)
    of_company = MADE_AGAIN - {"jurisdiction_catalogue", "rule_set"}
    found = looked_at(desk, *of_company, "portfolio") | looked_at(desk, "jurisdiction_catalogue", "rule_set")
    assert {name.partition(":")[0] for name in found} == {*MADE_AGAIN, "portfolio"}
    assert all(found.values()), found


def test_what_breaks_is_told_by_company_and_stops_what_is_made_from_it(
    desk: Desk, new_company: Callable[[str], UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(desk, company=new_company("enterprise"))
    for each in (desk, other):
        each.run(each.send(FILE))
        publish_company(each.resources, each.instance, each.company)
    before, whole = stored.current(desk.data_dir, desk.company), snapshots.publish

    def publish_damaged(*given: object, **named: object) -> Snapshot:
        made = whole(*given, **named)
        damage(made)
        return made

    desk.run(desk.send(FILE.replace("R1,Bottle", "R9,Bottle")))
    with monkeypatch.context() as broken:
        broken.setattr(snapshots, "publish", publish_damaged)
        publish_company(desk.resources, desk.instance, desk.company, raise_on_error=False)
    assert stored.current(desk.data_dir, desk.company) == before
    ours, theirs = (partition_of(desk.instance, desk.pool, company) for company in (desk.company, other.company))
    assert verdicts(desk, "portfolio_snapshot") == {ours: "FAILED", theirs: "SUCCEEDED"}
    assert looked_at(other, "portfolio_snapshot")["portfolio_snapshot:contract"]
    assert not looked_at(desk, "portfolio_snapshot")["portfolio_snapshot:contract"]
    assert verdicts(desk, "portfolio_snapshot") == {ours: "FAILED", theirs: "SUCCEEDED"}


@pytest.mark.parametrize(
    "wrong",
    [
        "volumes = '{\"FR/2026/0\":-5}'",
        "volumes = '{\"FR/20260/0\":5}'",
        "volumes = '{\"FR/2026/7\":5}'",
        "volumes = '{\"fr /2026/0\":5}'",
        "material = 'unobtainium'",
        """components = '[{"component_type": "body", "material_family": "unobtainium"}]'""",
        """components = '[{"component_type": "skirt", "material_family": "paper"}]'""",
    ],
)
def test_rows_that_no_write_of_ours_leaves_are_found(desk: Desk, wrong: str) -> None:
    """A hand in Postgres, or a fault of ours: nothing of it may be left out of the snapshot unsaid."""
    desk.run(desk.send(FILE))
    with psycopg.connect(desk.database.owner_url) as owner:
        changed = owner.execute(f"UPDATE skus SET {wrong} WHERE company_id = %s AND sku_code = 'R1'", [desk.company])
        assert changed.rowcount == 1
    publish_company(desk.resources, desk.instance, desk.company, raise_on_error=False)
    [verdict] = verdicts(desk, "portfolio_snapshot").values()
    assert (verdict, stored.current(desk.data_dir, desk.company)) == ("FAILED", None)


@pytest.mark.parametrize("wrong", ["9.5", "NULL"])
def test_a_stored_sum_that_is_not_that_of_the_parts_is_told_and_figures_stand(desk: Desk, wrong: str) -> None:
    """The total weight that is answered is stored beside the parts; figures are made from the parts alone."""
    desk.run(
        desk.send(
            "sku_code,name,component_type,material_family,component_weight_g\nR1,Cup,body,glass,0.1\n,,cap,metal,0.2\n"
        )
    )
    publish_company(desk.resources, desk.instance, desk.company)
    assert verdicts(desk, "portfolio_snapshot", "weights_add_up").popitem()[1] == "SUCCEEDED"
    with psycopg.connect(desk.database.owner_url) as owner:
        owner.execute(f"UPDATE skus SET components_weight_g = {wrong} WHERE company_id = %s", [desk.company])
    desk.run(desk.send("sku_code,name\nR2,Jar\n"))
    publish_company(desk.resources, desk.instance, desk.company)
    assert verdicts(desk, "portfolio_snapshot", "weights_add_up").popitem()[1] == "FAILED"
    assert stored.current(desk.data_dir, desk.company) is not None


@pytest.mark.parametrize("wrong", ["figures", "verdicts"])
def test_figures_that_break_their_contract_are_not_published(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    desk.run(desk.send(FILE))
    rollup, judged = figures_pipelines.compute_figures, figures_pipelines.compute_obligations

    def of_no_market(*given: object) -> object:
        found = rollup(*given)
        return found._replace(tonnes=found.tonnes.with_columns(pl.lit("no market").alias("market")))

    with monkeypatch.context() as broken:
        if wrong == "figures":
            broken.setattr(figures_pipelines, "compute_figures", of_no_market)
        else:
            broken.setattr(
                figures_pipelines,
                "compute_obligations",
                lambda found: judged(found).with_columns(pl.lit("perhaps").alias("verdict")),
            )
        publish_company(desk.resources, desk.instance, desk.company, raise_on_error=False)
    assert stored.current(desk.data_dir, desk.company) is None
    [run] = desk.instance.get_runs(dg.RunsFilter(job_name="publish_portfolio"))
    assert run.status == dg.DagsterRunStatus.FAILURE


def test_a_contract_names_the_cells_that_break_it() -> None:
    types = {"market": pl.String(), "year": pl.Int32(), "tonnes": pl.Float64()}
    contract = contracts.made(types, key=["market", "year"])
    good = pl.DataFrame({"market": ["DE"], "year": [2026], "tonnes": [1.0]}, schema=types)
    assert checks.judge({"good": (contract, good)}).passed
    for bad in (
        pl.concat([good, good]),
        good.with_columns(tonnes=pl.lit(-1.0)),
        good.with_columns(market=pl.lit(None, pl.String)),
        good.with_columns(pl.col("year").cast(pl.Int64)),
        good.drop("tonnes"),
        good.with_columns(more=pl.lit(1)),
    ):
        verdict = checks.judge({"bad": (contract, bad)})
        assert not verdict.passed
        assert verdict.metadata["bad_failures"].records


def test_a_company_that_has_nothing_turns_nothing_red(desk: Desk) -> None:
    """A backfill of all companies meets those that have written nothing yet."""
    publish_company(desk.resources, desk.instance, desk.company)
    assert declared(desk).success
    of_company = MADE_AGAIN - {"jurisdiction_catalogue", "rule_set"}
    assert all(looked_at(desk, *of_company, "portfolio").values())
