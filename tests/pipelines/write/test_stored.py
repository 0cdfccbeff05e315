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


def test_one_code_is_found_by_itself(pool: Pool, company: UUID, clock: StoppedClock) -> None:
    """In a table that was never analysed, where Postgres would read all of a company's rows in place of ten codes."""
    records = {row: parse_sku({"sku_code": code, "name": "n"}) for row, code in enumerate(ODD)}
    with pool.company(company) as conn:
        write_records(conn, company, records, origin=ORIGIN, now=clock.now(), rulesets=Rulesets(), dry_run=False)
        conn.execute(
            "INSERT INTO skus SELECT (jsonb_populate_record(skus, jsonb_build_object('id', gen_random_uuid(), "
            "'sku_code', 'SKU-' || n))).* FROM skus, generate_series(1, 3000) AS n WHERE sku_code = 'a,b'"
        )
    with pool.company(company) as conn:
        for code in ODD:
            assert stored.read(conn, [code], (), clock.today(), locking=True)["sku_code"] == [code]
        assert stored.read(conn, ["not held"], (), clock.today(), locking=True)["sku_code"] == []
        conn.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        query = stored._query(("sku_code",), "", stored._ONE, locking=True).replace("%(code)s", "$1")
        conn.execute(f"PREPARE one (text) AS {query}")
        plan = conn.execute("EXPLAIN EXECUTE one ('SKU-7')").fetchall()
        conn.execute("DEALLOCATE one")
    assert "uq_skus_company_id_sku_code" in str(plan)
