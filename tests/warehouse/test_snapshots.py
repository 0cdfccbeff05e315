"""Snapshots: what is published is what is held, of one company, at one instant, and never by halves."""

import random
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import polars as pl
from psycopg.rows import dict_row

from compliance import annex_v, ruleset
from compliance.rollup.parts import COMPONENT_COLUMNS, SKU_COLUMNS, VOLUME_COLUMNS
from services.skus import detail as detail_skus
from warehouse.figures.snapshots import Snapshot, current
from warehouse.operate.clock import StoppedClock
from warehouse.operate.sessions import Pool
from warehouse.skus import queries

Write = Callable[..., None]
BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 25}
CAP = {
    "component_type": "cap",
    "material_family": "plastic",
    "polymer_or_grade": "HDPE",
    "weight_g": 2.125,
    "separable": True,
    "substances": {"pfas": {"status": "absent"}},
}


def test_a_snapshot_holds_what_the_rows_hold(
    write: Write, published: Callable[[], Snapshot], company: UUID, tmp_path: Path, clock: StoppedClock
) -> None:
    write(
        {
            "sku_code": 'A,\n"x"',
            "name": "é",
            "components": [BODY, CAP],
            "markets": ["FR", "GB"],
            "reusable": False,
            "description": "",
            "packaging_format": "bottle",
            "material_subtype": "",
            "use_contexts": ["food"],
        },
        {"sku_code": "B", "weight_grams": 0.1, "material": "paper"},
    )
    snapshot = published()
    assert current(tmp_path, company) == snapshot
    assert (snapshot.rows, snapshot.number) == ({"skus": 2, "components": 2, "volumes": 0}, 1)
    assert snapshot.as_of == clock.now()
    assert str(company) in snapshot.path
    assert snapshot.folder == tmp_path / snapshot.path
    skus = {row["sku_code"]: row for row in pl.read_parquet(snapshot.skus).iter_rows(named=True)}
    first, second = skus['A,\n"x"'], skus["B"]
    assert (first["markets"], first["use_contexts"], first["reusable"]) == (["FR", "GB"], ["food"], False)
    assert (first["name"], first["material_subtype"], first["components_weight_g"]) == ("é", "", 27.125)
    assert (second["markets"], second["weight_grams"], second["material_subtype"]) == (None, 0.1, None)
    assert {row["doc_status"] for row in skus.values()} == {"missing"}
    components = pl.read_parquet(snapshot.components).sort("position")
    assert components["component_type"].to_list() == ["body", "cap"]
    assert components["weight_g"].to_list() == [25.0, 2.125]
    assert components["separable"].to_list() == [None, True]
    assert components["pfas_status"].to_list() == [None, "absent"]


def test_the_columns_are_those_of_a_rollup(write: Write, published: Callable[[], Snapshot]) -> None:
    write({"sku_code": "A"})
    snapshot = published()
    for file, columns in (
        (snapshot.skus, SKU_COLUMNS),
        (snapshot.components, COMPONENT_COLUMNS),
        (snapshot.volumes, VOLUME_COLUMNS),
    ):
        found = pl.read_parquet_schema(file[0])
        assert {name: found[name] for name in columns} == dict(columns)


def test_flags_are_those_that_the_sku_shows(
    write: Write, published: Callable[[], Snapshot], pool: Pool, company: UUID, clock: StoppedClock
) -> None:
    """However many SKUs are judged at once: each has what `annex_v.flags` says of its own record."""
    chance = random.Random(20261121)
    plastic = {"component_type": "body", "material_family": "plastic"}
    layers = [[], [{**plastic, "weight_g": 3}], [{**plastic, "polymer_or_grade": "EPS"}, CAP], [CAP],
              [{**plastic, "weight_g": 1}, {**BODY, "material_family": "paper", "polymer_or_grade": None}],
              [{"component_type": "liner", "material_family": "plastic", "thickness_um": 12, "separable": True}],
              [{**plastic, "thickness_um": 9}], [{**plastic, "additives": ["oxo_degradable", "uv_stabiliser"]}],
              [{**plastic, "weight_g": 1}, {**BODY, "weight_g": 9, "additives": ["oxo_degradable"]}],
              [{**CAP, "additives": ["oxo_degradable"]}, plastic],
              [{**plastic, "component_type": "coating", "additives": ["oxo_degradable"]}]]  # fmt: skip
    bodies = [
        {
            "sku_code": str(number),
            "components": chance.choice(layers),
            "packaging_format": chance.choice(["cup", "bag", "tray", "sachet", "film", "portion pack", None]),
            "packaging_level": chance.choice(["sales", "grouped", "transport", None]),
            "use_contexts": chance.choice([["food"], ["takeaway", "food"], ["beverage"], [], None]),
            "markets": chance.choice([["FR"], ["US-CA"], ["GB", "DE"], None]),
            "material": chance.choice(["plastic", "paper", None]),
            "reusable": chance.choice([True, False, None]),
            "product_category": chance.choice(["Crisps", "Fresh fruit", "Käse", None]),
        }
        for number in range(300)
    ]
    write(*bodies)
    found = {
        row["sku_code"]: (
            [(flag["code"], flag["certainty"], flag["text"]) for flag in row["flags"]],
            row["annex_v_undecided"],
        )
        for row in pl.read_parquet(published().skus).iter_rows(named=True)
    }
    with pool.company(company) as conn, conn.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(f"SELECT {queries.SELECT}, ruleset_version FROM skus").fetchall()
    rules = ruleset.load()
    shown = {
        row["sku_code"]: (
            [
                (ban.code, "depends" if open_facts else "certain", ban.flag_text)
                for ban, open_facts in annex_v.bans(detail_skus.record(row), rules)
            ],
            list(annex_v.undecided(detail_skus.record(row), rules)),
        )
        for row in rows
    }
    assert found == shown
    assert {"SUPD-OXO", "AV-2", "AV-3"} < {code for flags, _ in found.values() for code, _, _ in flags}
    assert {"packaging_level", "use_contexts"} < {field for _, fields in found.values() for field in fields}
