"""The rollup to tonnes beside one DuckDB query over the same Parquet files, up to a million SKUs, with its memory.

The floor sums weights as decimals and counts units and SKUs once, by family and polymer, and lists what has no weight.
It resolves no word, knows no format, composite, rider or half year, and no jurisdiction's categories.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import duckdb
import psutil
import psycopg

from bench import portfolio
from bench.data import CACHE
from bench.report import Line, against
from compliance import catalogue, ruleset
from compliance.rollup.tonnes import Figures
from pipelines.steps.figures.compute import figures_of
from pipelines.steps.figures.portfolio import blocks
from warehouse import snapshots
from warehouse.clock import Clock
from warehouse.embedded import running
from warehouse.migrate import migrate
from warehouse.rulesets import Rulesets
from warehouse.sessions import Pool
from warehouse.settings import Settings
from warehouse.snapshots import Snapshot

BOUND: Final = 2.0
MEMORY_MIB: Final = 3 * 1024
_LOOK_SECONDS: Final = 0.05
_COMPANY: Final = UUID(int=5)
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


def measure(most: int) -> Iterator[Line]:
    """CPU seconds of both, for portfolios of 50 000 SKUs and, where asked, of a million; the least of some rounds."""
    for count in (50_000, 1_000_000):
        if count > most:
            return
        snapshot = _snapshot(count)
        rounds = 3 if count <= 100_000 else 1
        floor = min(_cpu(partial(_floor, snapshot)) for _ in range(rounds))
        with _watched() as peak:
            ours = min(_cpu(partial(_ours, snapshot)) for _ in range(rounds))
        yield against(f"rollup to tonnes, {count} SKUs, CPU", ours, floor, bound=BOUND)
        yield Line(f"rollup to tonnes, {count} SKUs, memory", f"{peak[0]:.0f} MiB, at most {MEMORY_MIB}")


def _ours(snapshot: Snapshot) -> Figures:
    return figures_of(blocks(snapshot), catalogue.pinned(), ruleset.load(), lambda: None)


def _floor(snapshot: Snapshot) -> list[Any]:
    files = {table: [str(file) for file in snapshot.files(table)] for table in ("components", "volumes")}
    with duckdb.connect(config={"threads": psutil.cpu_count()}) as connection:
        connection.execute("SET enable_progress_bar = false")
        found = connection.execute(_FIGURES, files).fetchall()
        connection.execute(f"CREATE TEMPORARY TABLE uncounted AS {_UNCOUNTED}", files)
    return found


def _cpu(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


@contextmanager
def _watched() -> Iterator[list[float]]:
    """The most memory that the process has held while the block ran, in MiB."""
    peak, done = [0.0], threading.Event()

    def look() -> None:
        while not done.wait(_LOOK_SECONDS):
            peak[0] = max(peak[0], psutil.Process().memory_info().rss / 2**20)

    watcher = threading.Thread(target=look)
    watcher.start()
    yield peak
    done.set()
    watcher.join()


def _snapshot(count: int) -> Snapshot:
    """A published portfolio of so many SKUs, kept in `.cache`."""
    folder = CACHE / f"published-{count}"
    held = snapshots.current(folder, _COMPANY)
    return held if held is not None else _published(folder, count)


def _published(folder: Path, count: int) -> Snapshot:
    folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    with running(Settings.load(data_dir=folder / "database"), durable=False) as database:
        migrate(database)
        with psycopg.connect(database.owner_url) as owner:
            owner.execute(
                "INSERT INTO companies (id, name, plan, created_at) VALUES (%s, 'bench', 'enterprise', now())",
                [_COMPANY],
            )
            owner.execute("INSERT INTO company_counters (company_id) VALUES (%s)", [_COMPANY])
        portfolio.load(database.owner_url, _COMPANY, count)
        with Pool(database.app_url) as pool:
            return snapshots.publish(pool, _COMPANY, folder, Clock().now(), Rulesets())
