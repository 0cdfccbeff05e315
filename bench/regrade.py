"""A regrade of one company beside the least that it could be: one streamed read of every SKU, and grading it.

Both in this process on a server of their own, each with rule-sets that no cache has seen.
"""

import io
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psutil
import psycopg

from bench import portfolio
from bench.report import Line, against
from compliance import ruleset
from compliance.grading import GRADED_INPUTS, grade_rows
from compliance.ruleset import RULES, RuleSet
from pipelines.steps import everywhere, regrade
from pipelines.steps.patch import DTYPES
from pipelines.steps.regrade import Desk
from pipelines.steps.stored import NULL, read_copied
from warehouse.clock import Clock
from warehouse.database import Database
from warehouse.embedded import running
from warehouse.migrate import migrate
from warehouse.queries import companies, rulesets
from warehouse.rulesets import Rulesets
from warehouse.sessions import Pool
from warehouse.settings import Settings

BLOCK_ROWS = 10_000
PART_BYTES = 16 * 2**20
_TABLES = ruleset.texts(RULES / ruleset.versions()[-1])
_ONE_IN = 100
_OTHERWISE = "UPDATE skus SET recyclability_score = 99.5 WHERE right(sku_code, 2) = '00'"
_STREAM = f"COPY (SELECT {', '.join(GRADED_INPUTS)} FROM skus) TO STDOUT (FORMAT csv, NULL '{NULL}')"


def measure(skus: int) -> Iterator[Line]:
    """A regrade where nothing changes and one where every hundredth SKU does, by versions of the same tables."""
    with tempfile.TemporaryDirectory(prefix="pcds-bench-") as folder:
        Path(folder).chmod(0o711)
        with running(Settings.load(data_dir=Path(folder) / "data")) as database:
            migrate(database)
            company = uuid4()
            with _owner(database, company) as owner:
                companies.add(owner, company, name="Regrade", plan="enterprise", at=Clock().now())
            portfolio.load(database.owner_url, company, skus)
            with Pool(database.app_url) as pool:
                yield from _lines(database, pool, company, skus)


def _lines(database: Database, pool: Pool, company: UUID, skus: int) -> Iterator[Line]:
    for version, bound, changed in (("2101-01-01", 2.5, 0), ("2102-01-01", 3.0, skus // _ONE_IN)):
        with _owner(database, company) as owner:
            if changed:
                owner.execute(_OTHERWISE)
            rulesets.add(owner, version, _TABLES, rules=0, at=Clock().now())
            regrade.request(owner, company, version, Clock().now())
        floor = _seconds(partial(_read_and_grade, pool, company))
        desk = Desk(pool, Clock(), Rulesets(), BLOCK_ROWS, "bench")
        with _peak_mib() as peak:
            ours = _seconds(partial(regrade.go_on, desk, company, lambda: None))
        done = regrade.total(pool, [company], version).regraded
        assert (done.skus, done.changed) == (skus, changed)
        work = f"regrade of {skus} SKUs of 5 components of which {changed} change, beside reading and grading them"
        yield against(work, ours, floor, bound=bound)
        yield Line("memory of the process at the most, MiB", f"{max(peak):.0f}", "3072")


def _read_and_grade(pool: Pool, company: UUID) -> None:
    rules, dtypes = ruleset.parse("2100-01-01", _TABLES), {name: DTYPES[name] for name in GRADED_INPUTS}
    with pool.company(company) as conn, conn.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")  # a million are streamed as fast as they are graded
        _grade_streamed(cursor, rules, dtypes)


def _grade_streamed(cursor: psycopg.Cursor, rules: RuleSet, dtypes: dict[str, Any]) -> None:
    with cursor.copy(_STREAM) as copy:
        held = bytearray()
        for part in copy:
            held += part
            if len(held) >= PART_BYTES:  # each part is whole lines, and no cell of these has a line break
                grade_rows(read_copied(io.BytesIO(held), dtypes).iter_rows(), rules)
                held.clear()
        grade_rows(read_copied(io.BytesIO(held), dtypes).iter_rows(), rules)


@contextmanager
def _owner(database: Database, company: UUID) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.owner_url) as owner:
        everywhere.become(owner, company)
        yield owner


def _seconds(work: Callable[[], None]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


@contextmanager
def _peak_mib() -> Iterator[list[float]]:
    """What this process holds, looked at ten times a second until the end of the block."""
    seen, over = [0.0], threading.Event()

    def look() -> None:
        while not over.wait(0.1):
            seen.append(psutil.Process().memory_info().rss / 2**20)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        over.set()
        looking.join()
