"""A rollup as a run: from an imported file to published figures, and what of it changes when the data does."""

import re
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from compliance.rollup.tonnes import Figures
from pipelines import figures as figures_pipelines
from pipelines import filings
from pipelines.commands import publish_company
from pipelines.definitions import defs
from pipelines.figures import blocks, loaded_catalogue
from services.filings import figures
from tests.pipelines.conftest import Desk
from tests.pipelines.shown import lines
from warehouse.figures import stored

FILE = (
    "sku_code,name,material,material_subtype,weight_g,packaging_format,annual_volume_fr_2026,annual_volume_de_2026\n"
    "R1,Bottle,plastic,PET,20,bottle,1000000,500000\nR2,Jar,glass,glass,200,jar,1000,\nR3,Bag,,,,bag,10,\n"
)
IMPORTED = ("uploaded_file", "parsed_table", "typed_rows", "graded_skus", "import_report")
AUDITOR = Path(__file__).parents[3] / "docs" / "auditor.md"


def tonnes(desk: Desk) -> dict[tuple[str, str], Decimal]:
    held = stored.current(desk.data_dir, desk.company)
    assert held is not None
    rows = pl.read_parquet(held.tonnes).select("market", "category_code", "tonnes").rows()
    return {(market, code): value for market, code, value in rows}


def test_a_snapshot_brings_its_figures(desk: Desk) -> None:
    desk.run(desk.send(FILE))
    snapshot = publish_company(desk.resources, desk.instance, desk.company)
    held = stored.current(desk.data_dir, desk.company)
    assert held is not None
    assert snapshot is not None
    assert (held.origin.snapshot, held.origin.as_of, held.rows_written) == (snapshot.path, snapshot.as_of, 3)
    assert tonnes(desk) == {
        ("DE", "plastics"): Decimal(10),
        ("FR", "plastique_pet"): Decimal(20),
        ("FR", "verre"): Decimal("0.2"),
    }
    assert pl.read_parquet(held.uncounted).select("market", "sku_code", "units", "reason").rows() == [
        ("FR", "R3", 10, "material_missing")
    ]
    verdicts = pl.read_parquet(held.obligations)
    assert set(verdicts["market"]) == {"DE", "FR"}
    assert verdicts.filter(pl.col("obligation") == "register")["verdict"].to_list() == ["above"]


def test_a_changed_weight_changes_exactly_its_figures(desk: Desk) -> None:
    desk.run(desk.send(FILE))
    publish_company(desk.resources, desk.instance, desk.company)
    before = tonnes(desk)
    desk.run(desk.send("sku_code,name,weight_g\nR2,Jar,250\n"))
    publish_company(desk.resources, desk.instance, desk.company)
    held = stored.current(desk.data_dir, desk.company)
    assert held is not None
    assert held.rows_written == 1
    assert tonnes(desk) == before | {("FR", "verre"): Decimal("0.25")}


def test_a_figure_leads_to_the_line_of_the_file(desk: Desk) -> None:
    sent = desk.send(FILE, filename="autumn.csv")
    desk.run(sent)
    snapshot = publish_company(desk.resources, desk.instance, desk.company)
    assert snapshot is not None
    with desk.pool.company(desk.company) as conn:
        at = filings.Inputs(snapshot, loaded_catalogue(conn), desk.rulesets.active(conn))
        found = figures.figure(at, "FR", 2026, 0, "verre")
        [row] = figures.with_origins(conn, found)
    assert row == {
        "sku_code": "R2",
        "units": 1000,
        "unit_grams": Decimal(200),
        "tonnes": Decimal("0.2"),
        "components": "glass glass 200.0 g",
        "version": 1,
        "import_id": sent,
        "filename": "autumn.csv",
        "import_sheet": None,
        "import_line": 3,
        "earlier_versions": "",
        "scope": "ask",
        "scope_why": "packaging_level; use_contexts",
    }
    desk.run(desk.send("sku_code,name\nR2,Jam jar\n", filename="names.csv"))
    with desk.pool.company(desk.company) as conn:
        [row] = figures.with_origins(conn, found)
    assert (row["version"], row["filename"], row["import_line"]) == (2, "names.csv", 2)
    assert row["earlier_versions"] == "1 autumn.csv line 3", "the weight came with a file before"


def test_the_run_shows_the_figure_what_it_was_made_from_and_the_files_behind_it(desk: Desk) -> None:
    """What an analyst walks along who has a declaration in hand: docs/auditor.md."""
    sent = desk.send(FILE, filename="autumn.csv")
    desk.run(sent)
    snapshot = publish_company(desk.resources, desk.instance, desk.company)
    assert snapshot is not None
    shown = {}
    published = ("portfolio_snapshot", "portfolio", "figures", "obligations")
    for asset in (*IMPORTED, *published):
        [record] = desk.instance.fetch_materializations(dg.AssetKey(asset), limit=1).records
        shown[asset] = {name: each.value for name, each in record.asset_materialization.metadata.items()}
    for asset in published:
        assert (shown[asset]["company_id"], shown[asset]["snapshot"]) == (str(desk.company), snapshot.path)
    kept = desk.objects.get(shown["uploaded_file"]["object_key"])
    assert sha256(kept).hexdigest() == shown["uploaded_file"]["sha256"]
    assert (
        "FR | 2026 | verre | 0.200000 | 1000 | 1 | own | 0.000000 | 0.200000 | 0.000000 | household | secondary_old"
        in lines(shown["figures"]["tonnes_by_category"])
    )
    assert shown["figures"]["tonnes_latest_year"] == 30.2
    assert "FR | 2026 | material_missing | 1 | 10 | 0.000000" in lines(shown["figures"]["uncounted"])
    [behind] = lines(shown["portfolio_snapshot"]["skus_by_import"])
    assert behind.startswith(f"{sent} | autumn.csv | ")
    assert shown["portfolio_snapshot"]["skus_by_single_writes"] == 0
    told = re.findall(r"^\| `(\w+)` \| (.+) \|$", AUDITOR.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(told) == len(shown) - 1, "all but `portfolio`, which has no row of its own"
    for asset, words in told:
        assert set(re.findall(r"`(\w+)`", words)) <= shown[asset].keys(), asset
    [slug] = desk.instance.get_dynamic_partitions("companies")
    defs.resolve_job_def("roll_up").execute_in_process(  # as the UI starts it
        partition_key=slug, instance=desk.instance, resources=desk.resources.as_definitions()
    )
    for runs in (
        desk.instance.get_runs(dg.RunsFilter(tags={"pcds/company": shown["figures"]["company"]})),
        desk.instance.get_runs(dg.RunsFilter(tags={"pcds/company_id": str(desk.company)})),
    ):
        assert {run.job_name for run in runs} == {"import_file", "publish_portfolio", "roll_up"}


def test_a_year_that_lacks_the_half_that_is_there_is_not_what_was_placed(desk: Desk) -> None:
    """decisions §13: a year of one half was 0 t, and the check that blocks said nothing of it."""
    desk.run(desk.send(FILE))
    desk.run(desk.send("sku_code,name,annual_volume_gb_2026_h1\nR1,Bottle,1000\nR2,Jar,500\n"))
    snapshot = publish_company(desk.resources, desk.instance, desk.company)
    assert snapshot is not None
    with desk.pool.company(desk.company) as conn:
        catalogue, rules = loaded_catalogue(conn), desk.rulesets.active(conn)
    found = figures_pipelines.compute_figures(blocks(snapshot), catalogue.entries, rules, lambda: None)
    by_code = {entry.code: entry for entry in catalogue.entries}
    assert figures_pipelines.differences(snapshot, found, by_code).is_empty()
    of_year = (pl.col("market") == "GB") & (pl.col("half") == 0)
    for grams in (0, 2):
        wrong = pl.when(of_year).then(pl.col("grams") * grams).otherwise("grams").alias("grams")
        changed = found._replace(tonnes=found.tonnes.with_columns(wrong))
        differing = figures_pipelines.differences(snapshot, changed, by_code)
        assert differing.select("market", "half").rows() == [("GB", 0)], grams


def test_a_market_that_the_catalogue_lost_leaves_the_company_its_figures(desk: Desk, monkeypatch) -> None:
    """A file of jurisdictions brought it, and the next refresh took it away again."""
    desk.run(desk.send(FILE))
    catalogue = loaded_catalogue

    def smaller(conn):
        loaded = catalogue(conn)
        return loaded._replace(entries=tuple(entry for entry in loaded.entries if entry.code != "DE"))

    monkeypatch.setattr(figures_pipelines, "loaded_catalogue", smaller)
    assert publish_company(desk.resources, desk.instance, desk.company) is not None
    assert tonnes(desk) == {("FR", "plastique_pet"): Decimal(20), ("FR", "verre"): Decimal("0.2")}
    held = stored.current(desk.data_dir, desk.company)
    assert held is not None
    of_lost = pl.read_parquet(held.uncounted).filter(pl.col("market") == "DE")
    assert of_lost.select("sku_code", "units", "reason", "grams").rows() == [("R1", 500_000, "unknown_market", 10**7)]


def test_figures_that_are_not_what_was_placed_are_not_published(desk: Desk, monkeypatch) -> None:
    desk.run(desk.send(FILE))
    publish_company(desk.resources, desk.instance, desk.company)
    before = stored.current(desk.data_dir, desk.company)
    whole = figures_pipelines.compute_figures

    def twice(*arguments: object) -> Figures:
        found = whole(*arguments)
        return found._replace(tonnes=found.tonnes.with_columns(pl.col("grams") + pl.col("grams")))

    monkeypatch.setattr(figures_pipelines, "compute_figures", twice)
    with pytest.raises(dg.Failure, match="fail a check, so they are not published"):
        publish_company(desk.resources, desk.instance, desk.company)
    assert stored.current(desk.data_dir, desk.company) == before
