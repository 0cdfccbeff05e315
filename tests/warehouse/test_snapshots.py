"""Snapshots: what is published is what is held, of one company, at one instant, and never by halves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl
import pytest

from compliance.rollup.portfolio import COMPONENT_COLUMNS, SKU_COLUMNS, VOLUME_COLUMNS
from pipelines.steps.origin import Origin
from pipelines.steps.records import write_records
from schemas.models import parse_sku
from warehouse.clock import StoppedClock
from warehouse.sessions import Pool
from warehouse.snapshots import Snapshot, current, publish

Write = Callable[..., None]
BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 25}
CAP = {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "HDPE", "weight_g": 2.125,
       "separable": True, "substances": {"pfas": {"status": "absent"}}}  # fmt: skip


@pytest.fixture
def write(pool: Pool, company: UUID, clock: StoppedClock) -> Write:
    """Writes SKUs of the company, as every door does."""

    def written(*bodies: dict[str, Any], of: UUID = company) -> None:
        records = {row: parse_sku({"name": "n", **body}) for row, body in enumerate(bodies)}
        origin = Origin("api_key", "k", "tests", "c-1")
        results = pool.run(of, lambda conn: write_records(
            conn, of, records, origin=origin, now=clock.now(), dry_run=False))  # fmt: skip
        assert not [result.errors for result in results.values() if result.errors]

    return written


@pytest.fixture
def published(pool: Pool, company: UUID, clock: StoppedClock, tmp_path: Path) -> Callable[[], Snapshot]:
    return lambda: publish(pool, company, tmp_path, clock.now())


def test_a_snapshot_holds_what_the_rows_hold(
    write: Write, published: Callable[[], Snapshot], company: UUID, tmp_path: Path, clock: StoppedClock
) -> None:
    write(
        {"sku_code": "A,\n\"x\"", "name": "é", "components": [BODY, CAP], "markets": ["FR", "GB"], "reusable": False,
         "description": "", "packaging_format": "bottle", "material_subtype": "", "use_contexts": ["food"]},
        {"sku_code": "B", "weight_grams": 0.1, "material": "paper"},
    )  # fmt: skip
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
        (snapshot.skus, SKU_COLUMNS), (snapshot.components, COMPONENT_COLUMNS), (snapshot.volumes, VOLUME_COLUMNS),
    ):  # fmt: skip
        found = pl.read_parquet_schema(file)
        assert {name: found[name] for name in columns} == dict(columns)
