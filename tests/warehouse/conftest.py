"""What tests of snapshots and of answers over them share: writing SKUs as every door does, and publishing them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from services.skus.write import write_records
from warehouse.figures.snapshots import Snapshot, publish
from warehouse.operate.clock import StoppedClock
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets

Write = Callable[..., None]


@pytest.fixture
def write(pool: Pool, company: UUID, clock: StoppedClock) -> Write:
    """Writes SKUs of the company, as every door does."""

    def written(*bodies: dict[str, Any], of: UUID = company) -> None:
        records = {row: parse_sku({"name": "n", **body}) for row, body in enumerate(bodies)}
        origin = Origin("api_key", "k", "tests", "c-1")
        results = pool.run(
            of,
            lambda conn: write_records(
                conn, Actor(of, origin, clock.now()), records, rulesets=Rulesets(), dry_run=False
            ),
        )
        assert not [result.errors for result in results.values() if result.errors]

    return written


@pytest.fixture
def empty(server: Database) -> Iterator[Database]:
    """A new database of the embedded server."""
    name = f"pcds_empty_{uuid4().hex[:8]}"
    with psycopg.connect(server.owner_url, autocommit=True) as owner:
        owner.execute(f"CREATE DATABASE {name}")
    yield server.with_name(name)
    with psycopg.connect(server.owner_url, autocommit=True) as owner:
        owner.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def published(pool: Pool, company: UUID, clock: StoppedClock, tmp_path: Path) -> Callable[[], Snapshot]:
    return lambda: publish(pool, company, tmp_path, clock.now(), Rulesets())
