"""Stored rows are found by their codes, whatever characters these have and however many they are."""

from uuid import UUID

import pytest

from pipelines.steps import stored
from pipelines.steps.origin import Origin
from pipelines.steps.records import write_records
from pipelines.steps.stored import FEW
from schemas.models import parse_sku
from warehouse.clock import StoppedClock
from warehouse.rulesets import Rulesets
from warehouse.sessions import Pool

ORIGIN = Origin("import", None, None, "c")
ODD = ['a"b', "a\\b", "a,b", "{a}", "a'b", "NULL", "null", "é %s %(codes)s", "a  b", "\\", '"', "a\tb", "\ue5e5x"]


@pytest.mark.parametrize("more", [0, FEW], ids=["few", "many"])
def test_a_code_of_any_characters_is_found(pool: Pool, company: UUID, clock: StoppedClock, more: int) -> None:
    records = {row: parse_sku({"sku_code": code, "name": "n"}) for row, code in enumerate(ODD)}
    with pool.company(company) as conn:
        write_records(conn, company, records, origin=ORIGIN, now=clock.now(), rulesets=Rulesets(), dry_run=False)
    codes = [*ODD, *(f"not held {at}" for at in range(more))]
    with pool.company(company) as conn:
        held = stored.read(conn, codes, (), clock.today(), locking=False)
        assert sorted(held["sku_code"]) == sorted(ODD)
        assert stored.lock_versions(conn, codes) == dict.fromkeys(ODD, 1)
        assert stored.lock_versions(conn, []) == {}
