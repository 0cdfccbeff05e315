"""A company's ledger to look at, made the way that callers make one, and the owner who can tamper with it."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from services.skus.write import WriteOutcome, write_records
from warehouse.audit import ledger
from warehouse.operate.clock import StoppedClock
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets

ORIGIN = Origin("api_key", "k", "ERP", "c-1", "192.0.2.7", "erp/1")

Write = Callable[..., list[WriteOutcome]]


@pytest.fixture
def write(pool: Pool, company: UUID, clock: StoppedClock) -> Write:
    """Writes records of the company in one transaction."""

    def write(*bodies: dict[str, Any]) -> list[WriteOutcome]:
        records = {row: parse_sku({"name": "n", **body}) for row, body in enumerate(bodies)}
        results = pool.run(
            company,
            lambda conn: write_records(
                conn, Actor(company, ORIGIN, clock.now()), records, rulesets=Rulesets(), dry_run=False
            ),
        )
        return list(results.values())

    return write


@pytest.fixture
def enter(pool: Pool, clock: StoppedClock) -> Callable[..., None]:
    """Adds one entry about a record that is no SKU."""

    def enter(company: UUID, action: str, record: str, before: Any = None, after: Any = None) -> None:
        with pool.company(company) as conn:
            ledger.enter(conn, Actor(company, ORIGIN, clock.now()), action, record, before=before, after=after)

    return enter


@pytest.fixture
def owner(database: Database) -> Iterator[psycopg.Connection[Any]]:
    """The tables' owner, whom nothing holds to appending."""
    with psycopg.connect(database.owner_url, autocommit=True) as connection:
        yield connection
