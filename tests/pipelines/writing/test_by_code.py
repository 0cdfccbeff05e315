"""Stored rows are found by their codes, whatever characters these have and however many they are."""

import re
from uuid import UUID

import pytest

from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from services.skus.write import write_records
from warehouse.operate.clock import StoppedClock
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets
from warehouse.skus import portfolio
from warehouse.skus.portfolio import FEW
from warehouse.skus.tables import STORED_COLUMNS

ORIGIN = Origin("import", None, None, "c")
ODD = ['a"b', "a\\b", "a,b", "{a}", "a'b", "NULL", "null", "é %s %(codes)s", "a  b", "\\", '"', "a\tb", "\ue5e5x"]


@pytest.mark.parametrize("more", [0, FEW], ids=["few", "many"])
def test_a_code_of_any_characters_is_found(pool: Pool, company: UUID, clock: StoppedClock, more: int) -> None:
    records = {row: parse_sku({"sku_code": code, "name": "n"}) for row, code in enumerate(ODD)}
    with pool.company(company) as conn:
        write_records(conn, Actor(company, ORIGIN, clock.now()), records, rulesets=Rulesets(), dry_run=False)
    codes = [*ODD, *(f"not held {at}" for at in range(more))]
    with pool.company(company) as conn:
        held = portfolio.read(conn, codes, (), clock.today(), locking=False)
        assert sorted(held["sku_code"]) == sorted(ODD)
        assert portfolio.lock_versions(conn, codes) == dict.fromkeys(ODD, 1)
        assert portfolio.lock_versions(conn, []) == {}


@pytest.mark.parametrize("form", [portfolio._BY_ONE, portfolio._BY_FEW], ids=["one", "few"])
def test_a_few_codes_are_found_each_by_itself(pool: Pool, company: UUID, clock: StoppedClock, form: str) -> None:
    """In a table that was never analysed, where Postgres would read all of a company's rows in place of ten codes."""
    records = {row: parse_sku({"sku_code": code, "name": "n"}) for row, code in enumerate(ODD)}
    with pool.company(company) as conn:
        write_records(conn, Actor(company, ORIGIN, clock.now()), records, rulesets=Rulesets(), dry_run=False)
        names = [column.name for column in STORED_COLUMNS]
        conn.execute(
            f"INSERT INTO skus ({', '.join(names)}) SELECT {', '.join(f'made.{name}' for name in names)} "
            "FROM skus, generate_series(1, 3000) AS n, LATERAL jsonb_populate_record(skus, jsonb_build_object("
            "'id', gen_random_uuid(), 'sku_code', 'SKU-' || n)) AS made WHERE skus.sku_code = 'a,b'"
        )
    with pool.company(company) as conn:
        for code in ODD:
            assert portfolio.read(conn, [code], (), clock.today(), locking=True)["sku_code"] == [code]
        assert portfolio.read(conn, ["not held"], (), clock.today(), locking=True)["sku_code"] == []
        held = portfolio.read(conn, ["SKU-9", "not held", "SKU-10", "SKU-1"], (), clock.today(), locking=True)
        assert held["sku_code"] == ["SKU-1", "SKU-10", "SKU-9"], "locked in their order"
        conn.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        query = portfolio._query(form, ("sku_code",), locking=True)
        kind, asked = ("text", "'SKU-7'") if form == portfolio._BY_ONE else ("text[]", "'{SKU-7,SKU-8}'")
        conn.execute(f"PREPARE asked ({kind}) AS {re.sub(r'%[(]codes?[)]s', '$1', query)}")
        plan = conn.execute(f"EXPLAIN EXECUTE asked ({asked})").fetchall()
        conn.execute("DEALLOCATE asked")
    assert "Index Scan using uq_skus_company_id_sku_code" in str(plan)
