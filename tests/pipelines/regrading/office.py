"""The office that the tests of regrading share: a company, the operator who changes the rules, and what is held."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import dagster as dg
import psycopg

from pipelines.commands import regrade_portfolios
from pipelines.rules import Services
from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from services import audit as audit_services
from services import rules
from services.skus.write import write_records
from tests import ruling
from tests.pipelines.instances import ephemeral
from tests.pipelines.stocked import Stocked, stock
from tests.ruling import Change
from warehouse.operate.clock import StoppedClock
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets, Totals

OPERATOR = Origin("operator", "me", "operator", "c-2")
CALLER = Origin("api_key", "k", "ERP", "c-1")
_YEARS = count(2100)


@dataclass(frozen=True)
class Office(Stocked):
    """One company in the module's database, and the operator who changes rules there."""

    database: Database
    instance: dg.DagsterInstance
    company: UUID
    folder: Path

    def write(self, rulesets: Rulesets | None = None, **skus: dict[str, Any]) -> None:
        with self.pool.company(self.company) as conn:
            write_records(
                conn,
                Actor(self.company, CALLER, self.clock.now()),
                {
                    row: parse_sku({"sku_code": code.replace("_", "-"), "name": "n", **body})
                    for row, (code, body) in enumerate(skus.items())
                },
                rulesets=rulesets or self.rulesets,
                dry_run=False,
            )

    def activate(self, change: Change, *, then_regrade: bool = True) -> str:
        """Add and activate a version of a new name; its name."""
        version = f"{next(_YEARS)}-01-01"
        with psycopg.connect(self.database.owner_url) as owner:
            rules.add(owner, ruling.folder(self.folder, version, change), self.clock.now())
        with psycopg.connect(self.database.owner_url) as owner:
            rules.activate(owner, version, OPERATOR, self.clock.now())
        if then_regrade:
            self.regrade()
        return version

    def regrade(self) -> Totals:
        return regrade_portfolios(self.resources, self.instance, [self.company], only_open=True)

    def services(self, block_rows: int) -> Services:
        return Services(self.pool, self.clock, self.rulesets, block_rows, "r-1")

    def held_by(self) -> str:
        """The rule-set that grades now."""
        with self.pool.company(self.company) as conn:
            return self.rulesets.active(conn).version

    def held(self) -> dict[str, tuple[str, str, int]]:
        """Grade, rule-set and version of each SKU."""
        query = "SELECT sku_code, recyclability_grade, ruleset_version, version FROM skus ORDER BY sku_code"
        with self.pool.company(self.company) as conn:
            return {code: tuple(rest) for code, *rest in conn.execute(query)}

    def entries(self) -> list[tuple[Any, ...]]:
        query = (
            "SELECT e.action, t.actor_type, t.reason, e.version FROM audit_entries e JOIN audit_transactions t "
            "ON t.id = e.transaction_id ORDER BY e.id"
        )
        with self.pool.company(self.company) as conn:
            return conn.execute(query).fetchall()

    def chain_holds(self) -> bool:
        with self.pool.company(self.company) as conn:
            return audit_services.verify(conn).ok


@contextmanager
def opened(place: Database, clock: StoppedClock, folder: Path) -> Iterator[Office]:
    company = uuid4()
    with psycopg.connect(place.owner_url) as owner:
        owner.execute("INSERT INTO companies VALUES (%s, 'Regrade', 'enterprise', %s)", (company, clock.now()))
        owner.execute("INSERT INTO company_counters (company_id) VALUES (%s)", (company,))
    with Pool(place.app_url) as pool, ephemeral() as instance:
        yield Office(stock(pool, clock, folder, chunk_rows=3), place, instance, company, folder)
