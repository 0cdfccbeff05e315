"""Measures a regrade of one company beside its floor: one streamed read of every SKU, and grading it in arrays.

Both run in this process, each with rule-sets that no cache has seen.
"""

import io
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import psycopg

from bench.loaded import Loaded
from bench.report import Line, against, memory
from bench.spent import cpu, peak_mib, rounds_for
from compliance import ruleset
from compliance.grading import GRADED_INPUTS, grade_many
from compliance.ruleset import RULES, RuleSet
from pipelines import regrading
from pipelines.regrading import Services
from warehouse.clock import Clock
from warehouse.copying import NULL, parse_csv
from warehouse.rulesets import queries as rulesets
from warehouse.rulesets.registry import Rulesets
from warehouse.skus.columns import DTYPES

BLOCK_ROWS: Final = 10_000
PART_BYTES: Final = 16 * 2**20
_TABLES: Final = ruleset.texts(RULES / ruleset.versions()[-1])
_ONE_IN: Final = 100
_OTHERWISE: Final = "UPDATE skus SET recyclability_score = 99.5 WHERE right(sku_code, 2) = '00'"
_STREAM: Final = f"COPY (SELECT {', '.join(GRADED_INPUTS)} FROM skus) TO STDOUT (FORMAT csv, NULL '{NULL}')"


def measure(held: Loaded) -> Iterator[Line]:
    """Measure a regrade where nothing changes and one where each hundredth SKU does, by versions of the same tables."""
    for year, bound, changed in (("2101", 2.0, 0), ("2102", 2.3, held.skus // _ONE_IN)):
        ours = floor = 0.0
        rounds = rounds_for(held.skus)
        with peak_mib(held.server) as peak:
            for number in range(rounds):
                version = f"{year}-01-{number + 1:02}"
                _ask(held, version, differing=changed > 0)
                floor += cpu(partial(_read_and_grade, held), held.server) / rounds
                ours += cpu(partial(_regrade, held), held.server) / rounds
                done = regrading.total(held.pool, [held.company], version).regraded
                assert (done.skus, done.changed) == (held.skus, changed)
        work = f"regrade of {held.skus} SKUs of which {changed} change"
        yield against(f"{work}, beside reading and grading them, CPU", ours, floor, bound=held.bound(bound))
        yield memory(work, peak[0])


def _ask(held: Loaded, version: str, *, differing: bool) -> None:
    with held.owner() as owner:
        if differing:
            owner.execute(_OTHERWISE)
        rulesets.add(owner, version, _TABLES, rules=0, at=Clock().now())
        regrading.request(owner, held.company, version, Clock().now())


def _regrade(held: Loaded) -> None:
    regrading.regrade_company(Services(held.pool, Clock(), Rulesets(), BLOCK_ROWS, "bench"), held.company, lambda: None)


def _read_and_grade(held: Loaded) -> None:
    rules, dtypes = ruleset.parse("2100-01-01", _TABLES), {name: DTYPES[name] for name in GRADED_INPUTS}
    with held.pool.company(held.company) as conn, conn.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")  # a million are streamed as fast as they are graded
        _grade_streamed(cursor, rules, dtypes)


def _grade_streamed(cursor: psycopg.Cursor, rules: RuleSet, dtypes: dict[str, Any]) -> None:
    with cursor.copy(_STREAM) as copy:
        held = bytearray()
        for part in copy:
            held += part
            if len(held) >= PART_BYTES:  # each part is whole lines, and no cell of these has a line break
                grade_many(parse_csv(io.BytesIO(held), dtypes).rows(), rules)
                held.clear()
        grade_many(parse_csv(io.BytesIO(held), dtypes).rows(), rules)
