"""Measures snapshots beside a plain export, and answers over them beside one plain query on the same files."""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any, Final

import duckdb

from bench.loaded import Loaded
from bench.report import Line, against, memory
from bench.spent import cpu, in_turn, peak_mib, rounds_for
from compliance.readiness import findings
from warehouse import snapshots
from warehouse.analytics import Now, missing, overview, readiness
from warehouse.analytics.findings import CONDITIONS, FACTS
from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.clock import Clock
from warehouse.rulesets.registry import Rulesets
from warehouse.snapshots import Snapshot
from warehouse.snapshots.columns import SKUS
from warehouse.snapshots.snapshot import TABLES

ANSWER_ROUNDS: Final = 5
MARKET: Final = "FR"
_UPDATE: Final = "UPDATE skus SET name = name || '.', version = version + 1 WHERE sku_code = 'P-0000000' RETURNING id"
_STORED: Final = [name for name in SKUS if name not in ("flags", "rules") and not name.endswith("status")]
_EXPORTS: Final = (
    f"SELECT {', '.join(_STORED)} FROM skus",
    """SELECT sku_code, line.* FROM skus CROSS JOIN LATERAL json_to_recordset(components) AS line (
           id text, component_type text, material_family text, polymer_or_grade text, weight_g float8,
           separable boolean, recycled_content_percent float8)""",
    """SELECT sku_code, split_part(key, '/', 1), split_part(key, '/', 2)::int, split_part(key, '/', 3)::int,
              value::bigint FROM skus CROSS JOIN LATERAL json_each_text(volumes)""",
)
"""The three tables, exported by Postgres alone."""
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


def measure(held: Loaded) -> Iterator[Line]:
    """Measure publishing after one write and with every row read anew, then queries on the files."""
    yield from _publishing(held)
    snapshot = snapshots.current(held.data_dir, held.company)
    assert snapshot is not None
    with held.pool.company(held.company) as conn:
        now = Now.read(conn, Clock())
    with peak_mib() as peak:
        yield from _answers(snapshot, now, held)
    yield memory(f"overview, readiness and missing of {held.skus} SKUs", peak[0])


def _publishing(held: Loaded) -> Iterator[Line]:
    rulesets, folders = Rulesets(), count()

    def publish() -> None:
        snapshots.publish(held.pool, held.company, held.data_dir, Clock().now(), rulesets)

    def publish_anew() -> None:
        folder = held.data_dir / f"anew-{next(folders)}"
        snapshots.publish(held.pool, held.company, folder, Clock().now(), rulesets)
        shutil.rmtree(folder)

    with peak_mib(held.server) as peak:
        _write_one(held)  # after a snapshot of a ledger without links, the next one reads every row
        publish()
        ours = floor = anew = 0.0
        rounds = rounds_for(held.skus)
        for _ in range(rounds):
            _write_one(held)
            floor += cpu(partial(copy_tables, held), held.server) / rounds
            ours += cpu(publish, held.server) / rounds
            anew += cpu(publish_anew, held.server) / rounds
    work = f"snapshot of {held.skus} SKUs after one write"
    yield against(f"{work}, beside COPY of the three tables, CPU", ours, floor, bound=held.bound(1.2))
    yield against("the same with every row read anew", anew, floor, bound=None)
    yield memory(work, peak[0])


def _write_one(held: Loaded) -> None:
    with held.pool.company(held.company) as conn:
        row = conn.execute(_UPDATE).fetchone()
        assert row is not None
        ledger.enter(
            conn,
            held.company,
            "sku.updated",
            row[0],
            origin=Origin("system", None, "bench", "bench"),
            now=Clock().now(),
            before=None,
            after=None,
        )


def copy_tables(held: Loaded) -> None:
    """Copy the three tables out of Postgres, which takes graphs and volumes apart."""
    with held.pool.company(held.company) as conn, conn.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        for query in _EXPORTS:
            with cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)") as copy:
                for _ in copy:
                    pass


def _answers(snapshot: Snapshot, now: Now, held: Loaded) -> Iterator[Line]:
    files = {name: [str(file) for file in snapshot.files(name)] for name in TABLES}
    plainly = partial(_plainly, _PLAIN_OVERVIEW, files)
    yield _answer("overview", held, lambda: overview(snapshot, now), plainly)
    views = "; ".join(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({paths})" for name, paths in files.items())
    counted = ", ".join(f"count(*) FILTER (WHERE {CONDITIONS[found.key]})" for found in findings())
    plain = f"WITH {FACTS} SELECT count(*), {counted} FROM facts"
    asked = {"market": MARKET, "today": now.today}
    plainly = partial(_plainly, plain, asked, before=views)
    yield _answer("readiness", held, lambda: readiness(snapshot, MARKET, now), plainly)
    yield _answer("missing, the first 50", held, lambda: missing(snapshot, now))


def _answer(what: str, held: Loaded, ours: Callable[[], Any], floor: Callable[[], Any] | None = None) -> Line:
    """Return a line in milliseconds and by SKU, which shows the growth; beside one query where there is a floor."""
    ms = [1000 * spent for spent in in_turn(ANSWER_ROUNDS, ours, *([floor] if floor else []))]
    took = f"{ms[0]:.0f} ms, {1000 * ms[0] / held.skus:.2f} us a SKU"
    if floor is None:
        return Line(f"{what}, {held.skus} SKUs, CPU", took)
    work = f"{what}, {held.skus} SKUs, beside one DuckDB query, CPU"
    return Line(work, took, f"{ms[1]:.0f} ms", ms[0] / ms[1], held.bound(1.5))


def _plainly(query: str, parameters: dict[str, Any], *, before: str = "SELECT 1") -> None:
    with duckdb.connect(":memory:", config={"threads": 2}) as connection:
        connection.execute(before)
        used = {name: value for name, value in parameters.items() if f"${name}" in query}
        connection.execute(query, used).fetchall()
