"""What a company would file: by its figures, market by market, and the same as the command declares."""

import dagster as dg
import pytest

from compliance.filings.document import document
from pipelines import filings
from pipelines.commands import publish_company
from pipelines.definitions import defs
from pipelines.defs.figures import company_figures, portfolio, portfolio_overview
from pipelines.engine.jobs import run_config
from pipelines.figures import loaded_catalogue
from pipelines.filings import Filing, compute_filing
from schemas.refusals import Refused
from tests.pipelines.conftest import Desk
from tests.pipelines.sensing import statuses
from tests.pipelines.shown import lines
from warehouse.figures import stored

FILE = (
    "sku_code,name,material,material_subtype,weight_g,packaging_format,annual_volume_fr_2026,annual_volume_de_2026\n"
    "R1,Bottle,plastic,PET,20,bottle,1000000,500000\nR2,Jar,glass,glass,200,jar,1000,\nR3,Bag,,,,bag,10,\n"
)


HALVES = "sku_code,name,annual_volume_gb_2026_h1,annual_volume_gb_2026_h2\nR1,Bottle,1000,\nR2,Jar,,500\n"


def declared(desk: Desk, filing: str | None = None) -> dg.ExecuteInProcessResult:
    """The asset by itself, as the UI starts it: of a market and period, or of each."""
    [slug] = desk.instance.get_dynamic_partitions("companies")
    return defs.resolve_job_def("what_would_be_filed").execute_in_process(
        partition_key=slug,
        run_config=run_config(**({"declarations": {"filing": filing}} if filing else {})),
        instance=desk.instance,
        resources=desk.resources.as_definitions(),
        raise_on_error=False,
    )


def test_each_declaration_is_what_the_command_declares(desk: Desk) -> None:
    desk.finish(desk.send(FILE))
    snapshot = publish_company(desk.resources, desk.instance, desk.company)
    assert snapshot is not None
    [every] = declared(desk).asset_materializations_for_node("declarations")
    assert [line.split(" | ")[0] for line in lines(every.metadata["filings"].value)] == ["DE-2026", "FR-2026"]
    assert {line.split(" | ")[0] for line in lines(every.metadata["tonnes"].value)} == {"DE-2026", "FR-2026"}
    run = declared(desk, "FR-2026")
    assert run.success
    [made] = run.asset_materializations_for_node("declarations")
    shown = {name: each.value for name, each in made.metadata.items()}
    assert shown["total_tonnes"] == 20.2
    assert (shown["uncounted_skus"], shown["dagster/row_count"]) == (1, 2)
    assert lines(shown["tonnes"])[0].startswith("FR-2026 | plastique_pet | ")
    assert "FR-2026 | R3 | 10 | material_missing" in lines(shown["uncounted"])[0]
    assert lines(shown["obligations"])[0].startswith("FR-2026 | join_scheme | all | 20.2")
    held = stored.current(desk.data_dir, desk.company)
    assert held is not None
    with desk.pool.company(desk.company) as conn:
        at = filings.Inputs(snapshot, loaded_catalogue(conn), desk.rulesets.active(conn))
    said = document(filings.figures(at, "FR", 2026), "FR", 2026, 0, at.source)
    found = compute_filing(held, Filing("FR", 2026, 0))
    for name in ("tonnes", "halves", "uncounted", "scope_missing"):
        assert getattr(found, name) == said[name], name
    assert found.totals == {name: said[name] for name in found.totals}
    assert found.obligations.height == len(said["obligations"])


def test_the_halves_of_great_britain_are_filings_and_stand_in_the_picture_of_tonnes(desk: Desk) -> None:
    desk.finish(desk.send(FILE))
    desk.finish(desk.send(HALVES))
    publish_company(desk.resources, desk.instance, desk.company)
    [every] = declared(desk).asset_materializations_for_node("declarations")
    names = {line.split(" | ")[0] for line in lines(every.metadata["filings"].value)}
    assert {"DE-2026", "FR-2026", "GB-2026-H1", "GB-2026-H2"} <= names
    [record] = desk.instance.fetch_materializations(dg.AssetKey("figures"), limit=1).records
    metadata = record.asset_materialization.metadata
    by_period = lines(metadata["tonnes_by_market"].value)
    assert "GB-2026-H1 | 0.02" in by_period
    assert "GB-2026-H2 | 0.1" in by_period
    assert metadata["tonnes_latest_year"].value == 30.32
    assert metadata["halves"].value == {"GB-2026": [1, 2]}
    whole = compute_filing(stored.current(desk.data_dir, desk.company), Filing("GB", 2026, 0))
    assert whole.halves == [1, 2]
    run = declared(desk, "GB-2026-H2")
    [made] = run.asset_materializations_for_node("declarations")
    assert made.metadata["total_tonnes"].value == 0.1


def test_figures_and_obligations_each_run_by_themselves(desk: Desk) -> None:
    desk.finish(desk.send(FILE))
    publish_company(desk.resources, desk.instance, desk.company)
    before = stored.current(desk.data_dir, desk.company)
    [slug] = desk.instance.get_dynamic_partitions("companies")
    for asset in ("portfolio_overview", "portfolio", "figures", "obligations"):
        run = dg.materialize(
            (portfolio_overview, portfolio, company_figures),
            selection=[asset],
            partition_key=slug,
            instance=desk.instance,
            resources=desk.resources.as_definitions(),
        )
        assert run.success
        assert [made.asset_key.path for made in run.get_asset_materialization_events()] == [[asset]]
    after = stored.current(desk.data_dir, desk.company)
    assert before is not None
    assert after is not None
    assert (after.origin, after.rows, after.rows_written) == (before.origin, before.rows, 0)


@pytest.mark.parametrize(
    ("name", "filing"),
    [
        ("DE-2025", Filing("DE", 2025, 0)),
        ("GB-2025-H2", Filing("GB", 2025, 2)),
        ("US-CA-2026", Filing("US-CA", 2026, 0)),
    ],
)
def test_a_filing_is_named_by_market_and_period(name: str, filing: Filing) -> None:
    assert Filing.from_name(name) == filing
    assert filing.name == name


@pytest.mark.parametrize("name", ["DE", "DE-2025-H1", "GB-2025-H3", "de-2025", "DE-25", "DE-2025-H1|x", ""])
def test_what_names_no_filing_is_refused(name: str) -> None:
    with pytest.raises(Refused):
        Filing.from_name(name)


def test_a_filing_of_which_the_figures_say_nothing_is_refused(desk: Desk) -> None:
    desk.finish(desk.send(FILE))
    publish_company(desk.resources, desk.instance, desk.company)
    assert not declared(desk, "AT-2026").success


def test_declarations_are_a_company_s_as_its_figures_are_and_stale_after_them_alone(desk: Desk) -> None:
    """No cross product: most pairs of a company and a filing cannot exist, and would count as missing."""
    graph = defs.resolve_asset_graph()
    of_company = graph.get(dg.AssetKey("figures")).partitions_def
    assert graph.get(dg.AssetKey("declarations")).partitions_def == of_company
    for tonnes in (FILE, FILE.replace("1000000", "2000000")):
        desk.finish(desk.send(tonnes))
        publish_company(desk.resources, desk.instance, desk.company)
        before = statuses(desk.instance, desk.pool, desk.company, "declarations")
        assert before == {"declarations": "MISSING" if tonnes == FILE else "STALE"}
        assert declared(desk).success
        assert statuses(desk.instance, desk.pool, desk.company, "declarations") == {"declarations": "FRESH"}
