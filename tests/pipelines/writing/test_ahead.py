"""A patch prepared and staged without locks, and a writer that comes between: nothing is lost, nothing is written
twice."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from compliance import ruleset
from pipelines.writing.patch import Prepared, from_records
from pipelines.writing.write import prepare, stage_rows, write_patch
from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from services.skus.write import write_records
from warehouse.operate.clock import StoppedClock
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets

NOW = datetime(2026, 11, 21, tzinfo=UTC)
ORIGIN = Origin("import", None, None, "c")


@pytest.mark.parametrize("rows", [3, 300], ids=["few", "many"])
@pytest.mark.parametrize("between", ["another field", "the same field", "a new SKU", "nobody"])
def test_what_changed_meanwhile_is_seen(pool: Pool, company: UUID, clock: StoppedClock, between: str, rows: int):
    def write(**fields: object) -> None:
        body = parse_sku({"sku_code": "S000", "name": "n", **fields})
        with pool.company(company) as conn:
            write_records(conn, Actor(company, ORIGIN, clock.now()), {0: body}, rulesets=Rulesets(), dry_run=False)

    if between != "a new SKU":
        write(description="old", product_category="old")
    bodies = [{"sku_code": f"S{at:03}", "name": "n", "description": "ours"} for at in range(rows)]
    rules = ruleset.load()
    patch, _ = from_records(list(enumerate(map(parse_sku, bodies))), rules)
    meanwhile = iter([between])

    def import_chunk() -> Prepared:
        """As an import does it: prepared and staged ahead, repeated as a whole where another made one of its codes."""
        with pool.company(company) as conn:
            ahead = stage_rows(conn, prepare(conn, patch, now=NOW, rules=rules, whole_rows=False, locking=False))
            if next(meanwhile, "nobody") != "nobody":
                write(**{"description": "theirs"} if between == "the same field" else {"product_category": "theirs"})
            return write_patch(conn, Actor(company, ORIGIN, NOW), patch, rules=rules, import_id=uuid4(), ahead=ahead)

    done = pool.retrying(company, import_chunk)
    with pool.company(company) as conn:
        held = conn.execute(
            "SELECT description, product_category, version FROM skus WHERE sku_code = 'S000'"
        ).fetchall()
    expected = {
        "another field": ("ours", "theirs", 3),
        "the same field": ("ours", "old", 3),
        "a new SKU": ("ours", "theirs", 2),
        "nobody": ("ours", "old", 2),
    }
    assert held == [expected[between]]
    assert done.counts["created"] == rows - 1
    assert done.counts["updated"] == 1
