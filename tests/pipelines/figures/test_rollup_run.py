"""A rollup as a run: from an imported file to published figures, and what of it changes when the data does."""

from decimal import Decimal

import polars as pl

from pipelines.publishing import publish_company
from tests.pipelines.conftest import Desk
from warehouse import figures

FILE = (
    "sku_code,name,material,material_subtype,weight_g,packaging_format,annual_volume_fr_2026,annual_volume_de_2026\n"
    "R1,Bottle,plastic,PET,20,bottle,1000000,500000\nR2,Jar,glass,glass,200,jar,1000,\nR3,Bag,,,,bag,10,\n"
)


def tonnes(desk: Desk) -> dict[tuple[str, str], Decimal]:
    held = figures.current(desk.workshop.data_dir, desk.company)
    assert held is not None
    rows = pl.read_parquet(held.tonnes).select("market", "category_code", "tonnes").rows()
    return {(market, code): value for market, code, value in rows}


def test_a_snapshot_brings_its_figures(desk: Desk) -> None:
    desk.run(desk.send(FILE))
    snapshot = publish_company(desk.workshop, desk.instance, desk.company)
    held = figures.current(desk.workshop.data_dir, desk.company)
    assert held is not None
    assert snapshot is not None
    assert (held.origin.snapshot, held.origin.as_of, held.rows_written) == (snapshot.path, snapshot.as_of, 3)
    assert tonnes(desk) == {
        ("DE", "plastics"): Decimal(10), ("FR", "plastique_pet"): Decimal(20), ("FR", "verre"): Decimal("0.2"),
    }  # fmt: skip
    assert pl.read_parquet(held.uncounted).select("market", "sku_code", "units", "reason").rows() == [
        ("FR", "R3", 10, "material_missing")
    ]
    verdicts = pl.read_parquet(held.obligations)
    assert set(verdicts["market"]) == {"DE", "FR"}
    assert verdicts.filter(pl.col("obligation") == "register")["verdict"].to_list() == ["above"]
