"""Loads a generated portfolio into a company and a server of its own, for measurements without the service."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

import psutil
import psycopg

from bench import portfolio
from warehouse.companies import queries as companies
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.embedded import running
from warehouse.operate.migrate import migrate
from warehouse.operate.sessions import Pool, become
from warehouse.operate.settings import Settings

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


def server_of(database: Database) -> psutil.Process:
    """Return the parent of all processes of a Postgres."""
    with psycopg.connect(database.owner_url) as owner:
        found = psutil.Process(owner.info.backend_pid).parent()
    assert found is not None
    return found
