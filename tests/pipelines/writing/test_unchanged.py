"""Rows found to be held as they are: only such that the write path calls unchanged too, and plain ones all of them."""

import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from uuid import UUID, uuid4

import polars as pl
import pytest

from compliance import ruleset
from pipelines.reading.rows import type_rows
from pipelines.reading.upload import read_upload
from pipelines.writing import merge
from pipelines.writing.patch import Patch, RowIssue, TypedPatch, from_typed
from pipelines.writing.write import prepare, write_patch
from schemas.actors import Actor, Origin
from schemas.issues import Issue
from warehouse.operate.sessions import Pool

NOW = datetime(2026, 11, 21, tzinfo=UTC)
BEFORE_THE_BAN = datetime(2026, 8, 11, 23, 59, tzinfo=UTC)
ORIGIN = Origin("import", None, None, "c")
RULES = ruleset.load()
ROWS = 240

CHOICES: Mapping[str, list[str]] = {
    "name": ['Bottle "1"', "Bottle; 2", "Bottle\n3"],
    "material": ["plastic", "glass", "paper"],
    "weight_grams": ["1", "12.5", "0.1", "900.07"],
    "food_contact": ["true", "false"],
    "markets": ["FR", "FR;DE", "US-CA", "GB;FR", "CA-QC"],
    "gtin": ["4006381333931"],
    "reusable": ["true", "false"],
    "use_contexts": ["food", "food;beverage"],
    "pfas_status": ["absent", "unknown"],
    "heavy_metals_sum_ppm": ["<100", "12.5", "<5"],
    "annual_volume_us_2026": ["7"],
    "annual_volume_us_ca_2026": ["1", "2"],
    "annual_volume_fr": ["1000", "2000"],
}


def portfolio(rng: random.Random, *, empty: float, cleared: float) -> list[dict[str, str]]:
    """Rows of a file; a cell is empty or the word that clears with these probabilities."""

    def cell(name: str) -> str:
        drawn = rng.random()
        if name == "name" or drawn >= empty + cleared:
            return rng.choice(CHOICES[name])
        return "" if drawn < empty else "null"

    return [{"sku_code": f"S{at:04}"} | {name: cell(name) for name in CHOICES} for at in range(ROWS)]


def typed(rows: list[dict[str, str]]) -> TypedPatch:
    upload = read_upload(pl.DataFrame(rows).write_csv().encode(), "p.csv", today=NOW.date())
    read = type_rows(upload, default_year=NOW.year, served_markets=frozenset({"US", "US-CA", "FR"}))
    assert read.errors.is_empty()
    return from_typed(read.values, read.presence, RULES)


def write(pool: Pool, company: UUID, asked: TypedPatch, now: datetime = NOW) -> None:
    with pool.company(company) as conn:
        write_patch(
            conn,
            Actor(company, ORIGIN, now),
            Patch.from_frames(asked.values, asked.presence),
            rules=RULES,
            import_id=uuid4(),
        )


def found(pool: Pool, company: UUID, asked: TypedPatch) -> set[int]:
    with pool.company(company) as conn:
        grades = merge.find(conn, asked, RULES)
    return set(asked.values["row"].filter(grades.is_not_null()))


def decided(pool: Pool, company: UUID, asked: TypedPatch, now: datetime = NOW) -> set[int]:
    """The rows that the write path finds unchanged."""
    with pool.company(company) as conn:
        patch = Patch.from_frames(asked.values, asked.presence)
        prepared = prepare(conn, patch, now=now, rules=RULES, whole_rows=False, locking=False)
    return {row for row, outcome in prepared.merged.rows(("row", "outcome")) if outcome == "unchanged"}


@pytest.mark.parametrize("seed", range(4))
def test_a_row_is_found_only_where_the_write_path_would_leave_it(pool: Pool, company: UUID, seed: int) -> None:
    rng = random.Random(seed)
    first = portfolio(rng, empty=0.3, cleared=0.05)
    write(pool, company, typed(first))
    second = portfolio(rng, empty=0.5, cleared=0.1)
    asked = typed([new if rng.random() < 0.3 else old for old, new in zip(first, second, strict=True)])
    some, all_of_them = found(pool, company, asked), decided(pool, company, asked)
    assert some <= all_of_them
    assert len(some) > 0.3 * ROWS


def test_a_file_sent_again_is_found_whole_with_its_grades(pool: Pool, company: UUID) -> None:
    asked = typed(portfolio(random.Random(7), empty=0.3, cleared=0))
    write(pool, company, asked)
    with pool.company(company) as conn:
        grades = merge.find(conn, asked, RULES)
        held = dict(conn.execute("SELECT sku_code, recyclability_grade FROM skus").fetchall())
    assert dict(zip(asked.values["sku_code"], grades, strict=True)) == held


def test_nothing_is_found_in_another_company(pool: Pool, company: UUID, new_company: Callable[[str], UUID]) -> None:
    rows = portfolio(random.Random(3), empty=0.3, cleared=0)
    write(pool, company, typed(rows))
    assert found(pool, new_company("enterprise"), typed(rows)) == set()


@pytest.mark.parametrize(("alike_in_three", "likely"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_comparison_is_worth_its_cost_where_most_rows_are_held(
    pool: Pool, company: UUID, alike_in_three: int, likely: bool
) -> None:
    rows = portfolio(random.Random(3), empty=0.3, cleared=0)
    write(pool, company, typed(rows))
    sent = [row if at % 3 < alike_in_three else row | {"name": "other"} for at, row in enumerate(rows)]
    with pool.company(company) as conn:
        assert merge.likely(conn, typed(sent), RULES) is likely


def test_a_file_of_no_row_that_can_be_found_is_not_compared(pool: Pool, company: UUID) -> None:
    rows = [{"sku_code": "S1", "name": "Bottle", "description": "null"}]
    with pool.company(company) as conn:
        assert not merge.likely(conn, typed(rows), RULES)
        assert not merge.likely(conn, typed(rows).part(0, 0), RULES)
    assert found(pool, company, typed(rows)) == set()


def test_two_halves_are_found_as_the_whole_is(pool: Pool, company: UUID) -> None:
    rows = portfolio(random.Random(5), empty=0.3, cleared=0)
    write(pool, company, typed(rows))
    asked = typed([row if at % 5 else row | {"name": "other"} for at, row in enumerate(rows)])
    halves = [asked.part(0, ROWS // 2), asked.part(ROWS // 2, ROWS)]
    assert found(pool, company, halves[0]) | found(pool, company, halves[1]) == found(pool, company, asked)


def test_what_the_law_refuses_by_now_is_looked_at_although_it_is_held(pool: Pool, company: UUID) -> None:
    rows = [
        {
            "sku_code": f"S{at}",
            "name": "Wrap",
            "food_contact": "yes",
            "markets": "FR",
            "pfas_status": "above_limit" if at == 1 else "",
            "weight_grams": "1",
        }
        for at in range(4)
    ]
    asked = typed(rows)
    write(pool, company, asked, BEFORE_THE_BAN)
    assert found(pool, company, asked) == {0, 2, 3}
    assert decided(pool, company, asked, BEFORE_THE_BAN) == {0, 1, 2, 3}
    assert decided(pool, company, asked) == {0, 2, 3}


def test_a_graph_a_cleared_cell_and_a_row_with_a_fault_are_looked_at(pool: Pool, company: UUID) -> None:
    rows = [
        {
            "sku_code": f"S{at}",
            "name": "Jar",
            "weight_grams": "1",
            "pfas_status": "",
            "pfas_value": "",
            "material": "glass",
        }
        for at in range(8)
    ]
    write(pool, company, typed(rows))
    rows[1]["material"] = "null"
    asked = typed(rows)
    assert found(pool, company, asked) == {0, 2, 3, 4, 5, 6, 7}
    faulty = TypedPatch(
        asked.values, asked.presence, [RowIssue(2, Issue("required", "A value needs its status.", "pfas_status"))]
    )
    assert found(pool, company, faulty) == {0, 3, 4, 5, 6, 7}
    graph = pl.Series("components", [None] * 4 + ['[{"component_type":"body"}]'] + [None] * 3)
    with_graph = TypedPatch(
        asked.values.with_columns(graph), asked.presence.with_columns(graph.is_not_null()), asked.issues
    )
    assert found(pool, company, with_graph) == {0, 2, 3, 5, 6, 7}
