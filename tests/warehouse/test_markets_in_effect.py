"""Markets in effect (decisions §13): the rules in SQL and in the snapshot give what the pure function gives."""

from collections.abc import Callable
from itertools import product
from typing import Any
from uuid import UUID

import orjson
import polars as pl
import pytest

from compliance import scopes
from compliance.rollup.periods import units_placed
from warehouse.figures.gaps import missing
from warehouse.figures.market import readiness
from warehouse.figures.overview import overview
from warehouse.figures.reader import CONDITIONS, Now
from warehouse.figures.snapshots import Snapshot
from warehouse.operate.clock import StoppedClock
from warehouse.operate.sessions import Pool
from warehouse.skus.search import IN_MARKET

Write = Callable[..., None]
Publish = Callable[[], Snapshot]

DECLARED: tuple[list[str] | None, ...] = (None, [], ["DE"], ["US"], ["US-CA", "GB"])
PLACED: tuple[dict[str, int], ...] = (
    {},
    {"FR/2025/0": 9},
    {"FR/2026/0": 0},
    {"FR/2026/0": 10},
    {"FR/2029/0": 1},
    {"FR/2030/0": 1, "FR/2019/0": 7},
    {"FR/2100/0": 1},
    {"GB/2026/2": 5, "DE/2025/0": 3},
    {"US-CA/2027/0": 4},
    {"US/2025/0": 4, "US-NY/2026/0": 4},
)
MARKETS = ("DE", "FR", "GB", "US", "US-CA", "US-NY")
CASES = {f"S{place:02}": case for place, case in enumerate(product(DECLARED, PLACED))}


def effective(declared: list[str] | None, placed: dict[str, int]) -> list[str]:
    """The pure function over rows as they are stored."""
    rows = [(*key.split("/"), units) for key, units in placed.items()]
    return scopes.markets_in_effect(declared, [scopes.PlacedUnits(code, int(y), units) for code, y, _, units in rows])


def counts(code: str, declared: list[str] | None, placed: dict[str, int]) -> bool:
    return any(each == code or each.startswith(f"{code}-") for each in effective(declared, placed))


@pytest.fixture
def stored(write: Write, pool: Pool, company: UUID) -> None:
    """Each case as one SKU, with volumes in both spellings of JSON."""
    write(*({"sku_code": code} for code in CASES))
    with pool.company(company) as conn:
        for place, (code, (declared, placed)) in enumerate(CASES.items()):
            text = orjson.dumps(placed).decode() if placed else None
            spaced = text and (text.replace(":", ": ").replace(",", ", ") if place % 2 else text)
            conn.execute("UPDATE skus SET markets = %s, volumes = %s WHERE sku_code = %s", (declared, spaced, code))


@pytest.fixture
def now(pool: Pool, company: UUID, clock: StoppedClock) -> Now:
    with pool.company(company) as conn:
        return Now.read(conn, clock)


def test_postgres_and_the_snapshot_have_the_rule_of_the_pure_function(
    stored: None, pool: Pool, company: UUID, published: Publish
) -> None:
    with pool.company(company) as conn:
        for code in MARKETS:
            found = conn.execute(f"SELECT sku_code FROM skus WHERE {IN_MARKET}", {"market": code}).fetchall()
            assert {sku for (sku,) in found} == {sku for sku, case in CASES.items() if counts(code, *case)}, code
    rows = pl.read_parquet(published().skus).select("sku_code", "markets", "markets_in_effect").rows()
    assert {sku: in_effect for sku, _, in_effect in rows} == {sku: effective(*case) for sku, case in CASES.items()}
    assert {sku: declared for sku, declared, _ in rows} == {sku: declared for sku, (declared, _) in CASES.items()}


def test_overview_readiness_and_gaps_count_markets_in_effect(stored: None, published: Publish, now: Now) -> None:
    snapshot = published()
    told = overview(snapshot, now)
    by_market = {row["market"]: row["skus"] for row in told["markets"]}
    named = {code for case in CASES.values() for code in effective(*case)}
    expected = {code: sum(counts(code, *case) for case in CASES.values()) for code in named}
    assert by_market == expected
    assert {row["code"]: row["skus"] for row in told["jurisdictions"]} == expected
    assert {code: readiness(snapshot, code, now)["skus"] for code in MARKETS} == {
        code: sum(counts(code, *case) for case in CASES.values()) for code in MARKETS
    }
    without = sum(not effective(*case) for case in CASES.values())
    gaps = {gap["code"]: gap["skus"] for gap in missing(snapshot, now)["gaps"]}
    assert told["skus_without_market"] == gaps["markets_missing"] == without
    assert gaps["volume_missing"] == sum(not placed for _, placed in CASES.values())
    assert "markets_missing" in CONDITIONS


HALVES: tuple[dict[str, int], ...] = (
    {"GB/2025/1": 3, "GB/2025/2": 4},
    {"GB/2025/0": 100, "GB/2025/1": 3, "GB/2025/2": 4},
    {"GB/2025/0": 0, "GB/2025/1": 3, "GB/2025/2": 4},
    {"GB/2025/0": 50, "FR/2024/0": 8},
    {"GB/2024/0": 7, "FR/2026/0": 6, "US-CA/2026/0": 5},
    {"GB/2027/0": 1000, "FR/2023/0": 9, "US/2026/0": 2},
)


def units_of_year(placed: list[dict[str, int]], code: str, year: int) -> int:
    """Units of a year by the rollup's own rule, over the market and its subdivisions."""
    rows = [
        {"sku": str(place), "market": market, "year": int(year), "half": int(half), "units": units}
        for place, each in enumerate(placed)
        for key, units in each.items()
        for market, year, half in [key.split("/")]
    ]
    frame = pl.DataFrame(rows, schema_overrides={"half": pl.Int8})
    inside = [each for each in sorted(set(frame["market"])) if each == code or each.startswith(f"{code}-")]
    found = pl.concat(units_placed(frame.filter(pl.col("market") == each), each) for each in inside)
    return int(found.filter((pl.col("year") == year) & (pl.col("half") == 0))["units"].sum())


@pytest.fixture
def place(write: Write, pool: Pool, company: UUID) -> Callable[[list[str] | None], None]:
    """Writes a SKU for each of `HALVES`, with these markets as they are stored."""

    def placed(declared: list[str] | None) -> None:
        write(*({"sku_code": f"S{number}"} for number in range(len(HALVES))))
        with pool.company(company) as conn:
            for number, units in enumerate(HALVES):
                values = (orjson.dumps(units).decode(), declared, f"S{number}")
                conn.execute("UPDATE skus SET volumes = %s, markets = %s WHERE sku_code = %s", values)

    return placed


@pytest.mark.parametrize(("code", "year"), [("GB", 2025), ("FR", 2026), ("US", 2026), ("US-CA", 2026)])
def test_units_beside_a_market_are_those_of_its_newest_year_up_to_todays(
    place: Callable[[list[str] | None], None], published: Publish, now: Now, code: str, year: int
) -> None:
    place([code])
    told: dict[str, Any] = readiness(published(), code, now)
    assert told["period"] == year
    undeclared = next(row for row in told["missing"] if row["code"] == "composition_missing")
    assert (undeclared["skus"], undeclared["units"]) == (len(HALVES), units_of_year(list(HALVES), code, year))


def test_units_beside_a_gap_are_of_one_year_over_all_markets(
    place: Callable[[list[str] | None], None], published: Publish, now: Now
) -> None:
    assert missing(published(), now)["period"] is None
    place(None)
    told = missing(published(), now)
    assert told["period"] == 2026
    assert {item["sku_code"]: item["units"] for item in told["items"]} == {
        "S0": 0, "S1": 0, "S2": 0, "S3": 0, "S4": 11, "S5": 2,
    }  # fmt: skip
    assert {gap["units"] for gap in told["gaps"] if gap["skus"] == len(HALVES)} == {13}
