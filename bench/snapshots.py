"""Measures the publication of a portfolio's snapshot beside a plain export of the same tables.

The portfolio is loaded into a company and a server of its own. CPU seconds of this process and of that server count,
because other work on the machine prolongs elapsed seconds, and never both sides by the same amount.
"""

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import psutil
import psycopg

from bench import portfolio
from bench.report import Line, against, memory
from bench.service import server_of
from schemas.actors import Actor, Origin
from warehouse.audit import ledger
from warehouse.companies import queries as companies
from warehouse.figures import snapshots
from warehouse.figures.source import SKUS
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.embedded import running
from warehouse.operate.migrate import migrate
from warehouse.operate.sessions import Pool, become
from warehouse.operate.settings import Settings
from warehouse.rules import Rulesets

_UPDATE: Final = "UPDATE skus SET name = name || '.', version = version + 1 WHERE sku_code = 'P-0000000' RETURNING id"
_STORED: Final = [name for name in SKUS if name not in ("flags", "stream", "rules") and not name.endswith("status")]
_EXPORTS: Final = (
    f"SELECT {', '.join(_STORED)} FROM skus",
    """SELECT sku_code, line.* FROM skus CROSS JOIN LATERAL json_to_recordset(components) AS line (
           id text, component_type text, material_family text, polymer_or_grade text, weight_g float8,
           separable boolean, recycled_content_percent float8)""",
    """SELECT sku_code, split_part(key, '/', 1), split_part(key, '/', 2)::int, split_part(key, '/', 3)::int,
              value::bigint FROM skus CROSS JOIN LATERAL json_each_text(volumes)""",
)
"""The three tables, exported by Postgres alone."""
_LOOK_SECONDS: Final = 0.1
_SKUS_OF_ROUNDS: Final = 150_000
_MOST_ROUNDS: Final = 20
_LARGE: Final = 50_000


@dataclass(frozen=True, slots=True)
class Loaded:
    """The company of `skus` SKUs; `server` is the parent of all Postgres processes."""

    database: Database
    pool: Pool
    company: UUID
    skus: int
    data_dir: Path
    server: psutil.Process

    def bound(self, ratio: float) -> float | None:
        """Return the bound for large portfolios; None for small ones, where fixed costs prevail."""
        return ratio if self.skus >= _LARGE else None

    @contextmanager
    def owner(self) -> Iterator[psycopg.Connection]:
        """Open a transaction of the owner over the company's rows."""
        with psycopg.connect(self.database.owner_url) as owner:
            become(owner, self.company)
            yield owner


@contextmanager
def loaded(skus: int) -> Iterator[Loaded]:
    """Load the portfolio, and remove it at the end of the block; a million SKUs take 8 GB on the disk meanwhile."""
    with tempfile.TemporaryDirectory(prefix="pcds-bench-") as folder:
        Path(folder).chmod(0o711)
        settings = Settings.load(data_dir=Path(folder) / "data")
        with running(settings) as database:
            migrate(database)
            with Pool(database.app_url) as pool:
                company, server = uuid4(), server_of(database)
                held = Loaded(database, pool, company, skus, settings.data_dir, server)
                with held.owner() as owner:
                    companies.add(owner, company, name="bench", plan="enterprise", at=Clock().now())
                portfolio.load(database.owner_url, company, skus)
                with psycopg.connect(database.owner_url, autocommit=True) as owner:
                    owner.execute("VACUUM (ANALYZE) skus")  # else Postgres does it by itself while one side is measured
                yield held


def measure(held: Loaded) -> Iterator[Line]:
    """Measure publishing after one write and with every row read anew."""
    rulesets, folders = Rulesets(), count()

    def publish() -> None:
        snapshots.publish(held.pool, held.company, held.data_dir, Clock().now(), rulesets)

    def publish_anew() -> None:
        folder = held.data_dir / f"anew-{next(folders)}"
        snapshots.publish(held.pool, held.company, folder, Clock().now(), rulesets)
        shutil.rmtree(folder)

    with _peak_mib(held.server) as peak:
        _write_one(held)  # after a snapshot of a ledger without links, the next one reads every row
        publish()
        ours = floor = anew = 0.0
        rounds = _rounds_for(held.skus)
        for _ in range(rounds):
            _write_one(held)
            floor += _cpu(partial(_copy_tables, held), held.server) / rounds
            ours += _cpu(publish, held.server) / rounds
            anew += _cpu(publish_anew, held.server) / rounds
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
            Actor(held.company, Origin("system", None, "bench", "bench"), Clock().now()),
            "sku.updated",
            row[0],
            before=None,
            after=None,
        )


def _copy_tables(held: Loaded) -> None:
    """Copy the three tables out of Postgres, which takes graphs and volumes apart."""
    with held.pool.company(held.company) as conn, conn.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        for query in _EXPORTS:
            with cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)") as copy:
                for _ in copy:
                    pass


def _rounds_for(skus: int) -> int:
    """Return how often a portfolio is measured: a large one once, a small one until its milliseconds are reliable."""
    return max(1, min(_MOST_ROUNDS, _SKUS_OF_ROUNDS // skus))


def _cpu(work: Callable[[], Any], server: psutil.Process | None = None) -> float:
    """Return the CPU seconds that the work takes here and in the server."""
    begun = _used(server)
    work()
    return _used(server) - begun


@contextmanager
def _peak_mib(server: psutil.Process | None = None) -> Iterator[list[float]]:
    """Yield a list of one number: the most MiB that this process and the server have taken by the end of the block."""
    peak, over = [0.0], threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_SECONDS):
            peak[0] = max(peak[0], psutil.Process().memory_info().rss / 2**20 + _private_mib(server))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield peak
    finally:
        over.set()
        looking.join()


def _used(server: psutil.Process | None) -> float:
    """Return CPU seconds up to now; those of a server's ended processes count for their parent."""
    used = time.process_time()
    if server is not None:
        times = server.cpu_times()
        used += times.children_user + times.children_system
        for process in (server, *server.children()):
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                used += times.user + times.system
    return used


def _private_mib(server: psutil.Process | None) -> float:
    """Return the memory that a server's processes do not share with each other."""
    held = 0.0
    for process in () if server is None else (server, *server.children()):
        with suppress(psutil.NoSuchProcess):
            memory = process.memory_info()
            held += (memory.rss - memory.shared) / 2**20
    return held
