"""What tests of the review queue share: a company with a bottle, and ways to file, decide and look."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from services.review import compare, decide, entries
from services.skus import detail as detail_skus
from services.skus.write import write_records
from warehouse import review as entries_review
from warehouse.operate.clock import StoppedClock
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets
from warehouse.skus import queries

CONNECTION = Origin("connection", str(uuid4()), "Assistant", "correlation-7")
PERSON = Origin("user", str(uuid4()), "Ada Marsh", "correlation-8", "192.0.2.9", "browser")
BOTTLE = {
    "sku_code": "BOTTLE-1",
    "name": "Bottle",
    "packaging_format": "bottle",
    "food_contact": True,
    "markets": ["FR"],
    "components": [
        {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20},
        {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "HDPE", "weight_g": 2},
    ],
}


@dataclass(frozen=True)
class Queue:
    """One company's queue, in transactions of its own."""

    pool: Pool
    company: UUID
    clock: StoppedClock
    rulesets: Rulesets

    def wrote(self, **fields: Any) -> dict[str, Any]:
        """The SKU as it is held after a write of these fields."""
        record = parse_sku({**BOTTLE, **fields})
        with self.pool.company(self.company) as conn:
            [row] = write_records(
                conn,
                Actor(self.company, PERSON, self.clock.now()),
                {0: record},
                rulesets=self.rulesets,
                dry_run=False,
            ).values()
        assert row.detail is not None, row.errors
        return row.detail()

    def held(self, sku_id: object) -> dict[str, Any]:
        with self.pool.company(self.company) as conn:
            values = conn.execute(f"SELECT {queries.SELECT} FROM skus WHERE id = %s", [sku_id]).fetchone()
        assert values is not None
        return detail_skus.fields(dict(zip(queries.COLUMNS, values, strict=True)))

    def filed(
        self,
        kind: str,
        payload: dict[str, Any],
        *,
        origin: Origin = CONNECTION,
        now: datetime | None = None,
        **more: Any,
    ) -> entries_review.Entry:
        actor = Actor(self.company, origin, now or self.clock.now())
        with self.pool.company(self.company) as conn:
            return entries.file(conn, actor, kind, payload, **more)

    def compared(self, entry: entries_review.Entry) -> compare.Comparison:
        with self.pool.company(self.company) as conn:
            return compare.compare(conn, Actor(self.company, PERSON, self.clock.now()), entry, rulesets=self.rulesets)

    def accepted(self, entry: entries_review.Entry, **more: Any) -> entries_review.Entry:
        with self.pool.company(self.company) as conn:
            return decide.accept(
                conn, Actor(self.company, PERSON, self.clock.now()), entry.id, rulesets=self.rulesets, **more
            )

    def rejected(self, entry: entries_review.Entry, **more: Any) -> entries_review.Entry:
        with self.pool.company(self.company) as conn:
            return decide.reject(
                conn, Actor(self.company, PERSON, self.clock.now()), entry.id, rulesets=self.rulesets, **more
            )

    def ledger(self) -> list[tuple[Any, ...]]:
        """Action, resource, actor and reason of every entry, in order."""
        with self.pool.company(self.company) as conn:
            return conn.execute(
                "SELECT action, resource_id, actor_type, actor_name, reason FROM audit_entries JOIN audit_transactions "
                "ON audit_transactions.id = transaction_id ORDER BY audit_entries.id"
            ).fetchall()


@pytest.fixture
def queue(pool: Pool, company: UUID, clock: StoppedClock) -> Queue:
    return Queue(pool, company, clock, Rulesets())


@pytest.fixture
def other(pool: Pool, new_company: Callable[[str], UUID], clock: StoppedClock) -> Queue:
    """The queue of another company."""
    return Queue(pool, new_company("growth"), clock, Rulesets())
