"""What an import would do, asked without one: the same answer as a dry run's, and nothing is kept."""

import pytest

from pipelines.imports import submissions
from pipelines.reading.grid import ReadingRefused
from schemas.actors import Actor
from services.skus.write import keep_former_code
from tests.pipelines.conftest import ORIGIN, Desk
from warehouse.catalogue import served_markets
from warehouse.skus import archive, queries

FILES = {
    "rows": (
        "sku_code,name,weight_grams,gtin,markets,food_contact,pfas_status\n"
        "A-1,Bottle,12.5,4006381333931,FR;DE,true,absent\n"
        "A-2,Jar,x,123,ZZ,maybe,absent\n"
        "A-3,Box,5,,FR,true,above_limit\n"
        "A-1,Again,1,,,,\n"
        "HELD,Held,20,,,,\n"
        ",Nameless,1,,,,\n"
    ),
    "long": (
        "Artikelnummer;Bezeichnung;component_type;material_family;polymer_or_grade;component_weight_g\n"
        "B-1;Flasche;body;plastic;PET;27,5\nB-1;;cap;plastic;PP;2\nB-2;Glas;body;glass;;x\n"
    ),
    "units_in_the_union": (
        "sku_code,name,food_contact,pfas_status,"
        "annual_volume_de_2026,annual_volume_re_2025,annual_volume_La Réunion_2027\n"
        "P-1,Wrap,yes,above_limit,5,,\nP-2,Wrap,yes,above_limit,,5,\nP-3,Wrap,yes,above_limit,,,5\n"
        "P-4,Wrap,yes,above_limit,0,,\n"
    ),
    "volumes": "sku_code,name,annual_volume_fr_2026,annual_volume_xx_2026\nC-1,Cup,1000,5\nC-2,Cup,-1,\n",
}


def previewed(desk: Desk, text: str, mapping: dict[str, object] | None = None) -> dict:
    now = desk.clock.now()
    with desk.pool.company(desk.company) as conn:
        order = submissions.reading_order(text, now=now, served_markets=served_markets(conn), words={}, mapping=mapping)
        read = desk.readers.read(desk.company, "test", order)
        return submissions.preview(conn, Actor(desk.company, ORIGIN, now), *read, desk.rulesets, mapping=mapping)


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_the_answer_is_that_of_a_dry_run(desk: Desk, text: str):
    held = desk.send("sku_code,name,weight_grams\nHELD,Held,20\n")
    assert desk.run(held)
    sent = desk.send(text, dry_run=True, filename=submissions.FILENAME)
    before = desk.entries()
    asked = previewed(desk, text)
    assert desk.run(sent)
    ran = desk.poll(sent)
    assert asked["counts"] == ran["counts"]
    assert asked["errors"] == ran["errors"]
    assert asked["source"] == ran["source"]
    assert desk.entries()["sku.created"] == before["sku.created"]


GONE = "sku_code,name\nRESTS,Rests\nFORMER,Renamed\nRESTS-TOO,Rests too\n"
"""Three SKUs, of which two are archived and one is renamed then, to TODAY."""
AGAIN = {
    "archived": "sku_code,name,food_contact,pfas_status,markets\nRESTS,Back,,,\nRESTS-TOO,Back,yes,above_limit,FR\n",
    "former": "sku_code,name\nFORMER,Renamed\nTODAY,Renamed\nNEW,New\n",
    "marks": "sku_code,name,printed_marks\nTODAY,Renamed,Triman\n",
    "article": "sku_code,name,component_type,material_family,component_weight_g,supplier_id,supplier_article\n"
    "TODAY,Renamed,body,metal,12,Dosen AG,0815\nNEW,Box,body,paper,20,,0816\n",
}


@pytest.mark.parametrize("text", AGAIN.values(), ids=AGAIN)
def test_it_is_that_of_a_dry_run_of_skus_that_are_archived_or_renamed_and_of_what_stands_beside(desk: Desk, text: str):
    assert desk.finish(desk.send(GONE))
    actor = Actor(desk.company, ORIGIN, desk.clock.now())
    with desk.pool.company(desk.company) as conn:
        ids = {code: queries.id_of(conn, code) for code in ("RESTS", "FORMER", "RESTS-TOO")}
        archive.archive(conn, actor, [ids["RESTS"], ids["RESTS-TOO"]])
        keep_former_code(conn, actor, ids["FORMER"], "FORMER", "TODAY")
        conn.execute("UPDATE skus SET sku_code = 'TODAY' WHERE sku_code = 'FORMER'")
    mapping: dict[str, object] = {"create": True}
    before = desk.entries()
    sent = desk.send(text, dry_run=True, filename=submissions.FILENAME, mapping=mapping)
    asked = previewed(desk, text, mapping)
    assert desk.finish(sent)
    ran = desk.poll(sent)
    assert {name: asked[name] for name in ("counts", "errors", "warnings", "warning_counts")} == {
        name: ran[name] for name in ("counts", "errors", "warnings", "warning_counts")
    }
    after = desk.entries()
    assert {name: after[name] - before[name] for name in after if "sku" in name or "supplier" in name} == dict.fromkeys(
        (name for name in after if "sku" in name or "supplier" in name), 0
    )


def test_rows_become_the_cells_that_a_file_would_hold(desk: Desk):
    rows = [
        {"sku_code": "007", "name": 'Said "so", twice', "weight_grams": 1234.5, "food_contact": True},
        {"sku_code": "D-2", "name": "Lines\nof it", "markets": ["FR", "DE"], "description": None},
    ]
    asked = previewed(desk, submissions.csv_of(rows))
    assert asked["counts"]["created"] == 2
    assert asked["errors"] == []
    assert {column["field"] for column in asked["source"]["columns"]} == {*rows[0], *rows[1]}
    with pytest.raises(TypeError):
        submissions.csv_of([{"sku_code": {"a": 1}}])
    with pytest.raises(ReadingRefused):
        previewed(desk, submissions.csv_of([]))
