"""Snapshots beside a plain export, and answers over them beside one plain query on the same files."""

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final
from uuid import UUID, uuid4

import duckdb
import psutil
import psycopg

from bench import portfolio
from bench.report import Line, against
from compliance.readiness import findings
from pipelines.steps import ledger
from pipelines.steps.origin import Origin
from warehouse import snapshots
from warehouse.analytics import Now, missing, overview, readiness
from warehouse.analytics.findings import CONDITIONS, FACTS
from warehouse.clock import Clock
from warehouse.database import Database
from warehouse.embedded import running
from warehouse.migrate import migrate
from warehouse.rulesets import Rulesets
from warehouse.sessions import Pool
from warehouse.settings import Settings
from warehouse.snapshots import Snapshot
from warehouse.snapshots.columns import SKUS
from warehouse.snapshots.snapshot import TABLES

ROUNDS: Final = 5
MARKET: Final = "FR"
_UPDATE: Final = "UPDATE skus SET name = name || '.', version = version + 1 WHERE sku_code = 'P-0000000' RETURNING id"
_EXPORTS: Final = (
    f"SELECT {', '.join(name for name in SKUS if name != 'flags' and not name.endswith('status'))} FROM skus",
    """SELECT sku_code, line.* FROM skus CROSS JOIN LATERAL json_to_recordset(components) AS line (
           id text, component_type text, material_family text, polymer_or_grade text, weight_g float8,
           separable boolean, recycled_content_percent float8)""",
    """SELECT sku_code, split_part(key, '/', 1), split_part(key, '/', 2)::int, split_part(key, '/', 3)::int,
              value::bigint FROM skus CROSS JOIN LATERAL json_each_text(volumes)""",
)
"""The three tables as Postgres makes them by itself."""
_PLAIN_OVERVIEW: Final = """
WITH held AS (SELECT * FROM read_parquet($skus))
SELECT recyclability_grade, doc_status, packaging_level, grade_provisional, ruleset_version, count(*) AS n FROM held
GROUP BY GROUPING SETS ((recyclability_grade, grade_provisional), (doc_status), (packaging_level), (ruleset_version))
UNION ALL SELECT market, NULL, NULL, NULL, NULL, count(*)
          FROM (SELECT unnest(markets) AS market FROM held) GROUP BY market
UNION ALL SELECT flag.code, flag.certainty, NULL, NULL, NULL, count(*)
          FROM (SELECT unnest(flags) AS flag FROM held) GROUP BY flag.code, flag.certainty
UNION ALL SELECT market, NULL, NULL, NULL, NULL, count(*) FROM read_parquet($volumes) GROUP BY market
"""


def measure(rows: int) -> Iterator[Line]:
    """One company of so many SKUs in a database of its own."""
    with tempfile.TemporaryDirectory(prefix="pcds-bench-") as folder:
        Path(folder).chmod(0o711)
        settings = Settings.load(data_dir=Path(folder) / "data")
        with running(settings) as database:
            migrate(database)
            company = _company(database, rows)
            with Pool(database.app_url) as pool:
                yield from _publishing(pool, company, settings.data_dir, rows)
                with pool.company(company) as conn:
                    now = Now.read(conn, Clock())
            held = snapshots.current(settings.data_dir, company)
            assert held is not None
            yield from _answers(held, now, rows)


def _company(database: Database, rows: int) -> UUID:
    company = uuid4()
    with psycopg.connect(database.owner_url) as owner:
        owner.execute(
            "INSERT INTO companies (id, name, plan, created_at) VALUES (%s, 'bench', 'enterprise', now())", [company]
        )
        owner.execute("INSERT INTO company_counters (company_id) VALUES (%s)", [company])
    portfolio.load(database.owner_url, company, rows)
    return company


def _publishing(pool: Pool, company: UUID, data_dir: Path, rows: int) -> Iterator[Line]:
    rulesets, times = Rulesets(), list[tuple[float, float, float]]()
    _write_one(pool, company)
    snapshots.publish(pool, company, data_dir, Clock().now(), rulesets)
    for number in range(ROUNDS):
        _write_one(pool, company)
        floor = _seconds(lambda: _export(pool, company))
        ours = _seconds(lambda: snapshots.publish(pool, company, data_dir, Clock().now(), rulesets))
        elsewhere = data_dir / f"anew-{number}"
        times.append(
            (ours, floor, _seconds(partial(snapshots.publish, pool, company, elsewhere, Clock().now(), rulesets)))
        )
    ours, floor, anew = (median(side) for side in zip(*times, strict=True))
    yield against(f"snapshot of {rows} SKUs after one write, beside COPY of the three tables", ours, floor, bound=1.2)
    yield against("the same with every row read anew", anew, floor, bound=None)
    yield Line("memory of the process after it", f"{psutil.Process().memory_info().rss / 2**20:.0f} MiB")


def _write_one(pool: Pool, company: UUID) -> None:
    with pool.company(company) as conn:
        row = conn.execute(_UPDATE).fetchone()
        assert row is not None
        ledger.enter(
            conn, company, "sku.updated", row[0], origin=Origin("system", None, "bench", "bench"),
            now=Clock().now(), before=None, after=None,
        )  # fmt: skip


def _export(pool: Pool, company: UUID) -> None:
    with pool.company(company) as conn, conn.cursor() as cursor:
        for query in _EXPORTS:
            with cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)") as copy:
                for _ in copy:
                    pass


def _answers(held: Snapshot, now: Now, rows: int) -> Iterator[Line]:
    files = {name: [str(file) for file in held.files(name)] for name in TABLES}
    yield _beside(f"overview, {rows} SKUs", lambda: overview(held, now), _PLAIN_OVERVIEW, files)
    views = "; ".join(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({paths})" for name, paths in files.items())
    counted = ", ".join(f"count(*) FILTER (WHERE {CONDITIONS[found.key]})" for found in findings())
    plain = f"WITH {FACTS} SELECT count(*), {counted} FROM facts"
    asked = {"market": MARKET, "today": now.today}
    yield _beside(f"readiness, {rows} SKUs", lambda: readiness(held, MARKET, now), plain, asked, before=views)
    yield Line(f"missing, {rows} SKUs, the first 50", f"{median(_rounds(lambda: missing(held, now))):.3f} s")


def _beside(
    work: str, answer: Callable[[], Any], plain: str, parameters: dict[str, Any], *, before: str = "SELECT 1"
) -> Line:
    def floor() -> None:
        with duckdb.connect(":memory:", config={"threads": 2}) as connection:
            connection.execute(before)
            used = {name: value for name, value in parameters.items() if f"${name}" in plain}
            connection.execute(plain, used).fetchall()

    return against(f"{work}, beside one DuckDB query", median(_rounds(answer)), median(_rounds(floor)), bound=1.5)


def _rounds(work: Callable[[], Any]) -> list[float]:
    work()
    return [_seconds(work) for _ in range(ROUNDS)]


def _seconds(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
