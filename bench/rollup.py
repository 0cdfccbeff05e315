"""Measures the rollup to tonnes beside one DuckDB query over the same Parquet files, with its memory.

The floor sums weights as decimals and counts units and SKUs once, by family and polymer, and lists SKUs without a
weight. It resolves no word, knows no format, composite, rider or half year, and no jurisdiction's categories.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import duckdb
import psutil

from bench.loaded import Loaded
from bench.report import Line, against, memory
from bench.spent import in_turn, peak_mib, rounds_for
from compliance import catalogue, ruleset
from compliance.rollup.tonnes import Figures
from pipelines.figures.compute import compute_figures
from pipelines.figures.portfolio import blocks
from warehouse import snapshots
from warehouse.clock import Clock
from warehouse.rulesets.registry import Rulesets
from warehouse.snapshots import Snapshot

BOUND: Final = 2.0
_FIGURES: Final = """
WITH part AS (
    SELECT sku_code, position, weight_g::DECIMAL(18, 6) AS grams,
           concat(material_family, '/', upper(polymer_or_grade)) AS category
    FROM read_parquet($components)),
placed AS (SELECT * FROM read_parquet($volumes) WHERE units_placed > 0),
tonnes AS (
    SELECT market, year, half, category, sum(grams * units_placed) AS grams
    FROM part JOIN placed USING (sku_code) GROUP BY ALL),
counted AS (
    SELECT market, year, half, category, sum(units_placed) AS units, count(*) AS skus
    FROM (SELECT DISTINCT sku_code, category FROM part) JOIN placed USING (sku_code) GROUP BY ALL)
SELECT * FROM tonnes JOIN counted USING (market, year, half, category) ORDER BY ALL"""
_UNCOUNTED: Final = """
SELECT market, year, half, sku_code, units_placed, list('components[' || position || '].weight_g' ORDER BY position)
FROM read_parquet($components) AS part JOIN read_parquet($volumes) AS placed USING (sku_code)
WHERE weight_g IS NULL AND component_type <> 'adhesive' GROUP BY ALL"""


def measure(held: Loaded) -> Iterator[Line]:
    """Measure both over the portfolio's snapshot; memory is sampled while ours runs alone."""
    snapshot = snapshots.publish(held.pool, held.company, held.data_dir, Clock().now(), Rulesets())
    work = f"rollup to tonnes, {held.skus} SKUs"
    with peak_mib() as peak:
        _ours(snapshot)
    spent = in_turn(rounds_for(held.skus), partial(_ours, snapshot), partial(_floor, snapshot))
    yield against(f"{work}, beside one DuckDB query, CPU", *spent, bound=held.bound(BOUND))
    yield memory(work, peak[0])


def _ours(snapshot: Snapshot) -> Figures:
    return compute_figures(blocks(snapshot), catalogue.pinned(), ruleset.load(), lambda: None)


def _floor(snapshot: Snapshot) -> list[Any]:
    files = {table: [str(file) for file in snapshot.files(table)] for table in ("components", "volumes")}
    with duckdb.connect(config={"threads": psutil.cpu_count()}) as connection:
        connection.execute("SET enable_progress_bar = false")
        found = connection.execute(_FIGURES, files).fetchall()
        connection.execute(f"CREATE TEMPORARY TABLE uncounted AS {_UNCOUNTED}", files)
    return found
