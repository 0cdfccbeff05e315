"""Sums of a drawn portfolio by each property equal those of a loop over its records."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compliance import ruleset
from compliance.grading import explain
from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from schemas.skus.types import VolumeRow
from services.skus.archive import archive_sku
from services.skus.write import write_records, write_volumes
from warehouse.figures.snapshots import publish
from warehouse.figures.summaries import PROPERTIES, Filters, Measure, summarise
from warehouse.operate.clock import StoppedClock
from warehouse.operate.sessions import Connection, Pool
from warehouse.rules import Rulesets

GRADED = dict.fromkeys(("material", "material_subtype", "packaging_format", "packaging_level", "weight_grams", "svhc"))
GRADED |= {"use_contexts": (), "components": ()}
"""What a grade asks for of an item of which nothing is recorded."""
YEARS, MARKETS = (2025, 2026), ("DE", "FR", "US-CA", "GB")
PART = st.fixed_dictionaries(
    {"component_type": st.just("body"), "material_family": st.sampled_from(["plastic", "paper"])},
    optional={"weight_g": st.sampled_from([1, 2.5, 40]), "polymer_or_grade": st.sampled_from(["PET", "PP"])},
)
VOLUME = st.fixed_dictionaries(
    {
        "market": st.sampled_from(MARKETS),
        "year": st.sampled_from(YEARS),
        "half": st.sampled_from([0, 1, 2]),
        "units_placed": st.sampled_from([0, 1, 700, 10**9]),
    }
).filter(lambda row: row["half"] == 0 or row["market"] == "GB")
SKU = st.fixed_dictionaries(
    {"volumes": st.lists(VOLUME, max_size=4, unique_by=lambda row: (row["market"], row["year"], row["half"]))},
    optional={
        "components": st.lists(PART, min_size=1, max_size=3),
        "markets": st.lists(st.sampled_from(MARKETS), unique=True, max_size=2),
        "material": st.sampled_from(["plastic", "glass"]),
        "weight_grams": st.sampled_from([5, 12.5]),
        "packaging_format": st.sampled_from(["bottle", "tray"]),
        "packaging_level": st.sampled_from(["sales", "transport"]),
        "product_category": st.sampled_from(["food", "care"]),
        "ppwr_role": st.sampled_from(["importer", "manufacturer"]),
        "reusable": st.booleans(),
        "archived": st.booleans(),
    },
)
FILTERS = st.builds(
    Filters,
    market=st.sampled_from([None, "DE", "US", "GB"]),
    year=st.sampled_from([None, *YEARS]),
    material=st.sampled_from([None, "plastic", "glass"]),
    grade=st.none(),  # what the rules say of a SKU is held against the lists elsewhere
    polymer=st.sampled_from([None, None, "PET"]),
    codes=st.sampled_from([None, None, ("S0", "S2"), ()]),
    half=st.sampled_from([0, 0, 1, 2]),
    suppliers=st.none(),
)


@pytest.mark.long
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.lists(SKU, min_size=1, max_size=6), by=st.sampled_from(PROPERTIES), filters=FILTERS)
def test_each_property_is_summed_as_a_loop_does(  # noqa: PLR0917  (fixtures are asked for by name)
    records: list[dict[str, Any]],
    by: str,
    filters: Filters,
    pool: Pool,
    new_company: Callable[[str], UUID],
    clock: StoppedClock,
    tmp_path: Path,
) -> None:
    company = new_company("enterprise")
    pool.run(company, lambda conn: _store(conn, company, records, clock))
    snapshot = publish(pool, company, tmp_path, clock.now(), Rulesets())
    for measure in get_args(Measure):
        summary = summarise(snapshot, ruleset.load(), clock.today(), filters, by=by, measure=measure)
        assert [row[measure] for row in summary.rows] == sorted((row[measure] for row in summary.rows), reverse=True)
        least = summarise(snapshot, ruleset.load(), clock.today(), filters, by=by, measure=measure, least_first=True)
        assert [row[measure] for row in least.rows] == sorted(row[measure] for row in summary.rows)
    if by in ("reason", "rule", "ban", "gap", "provisional", "declaration", "grade"):
        return  # what the rules say of a SKU is held against the lists elsewhere
    rows, total, year = _summed(records, by, filters)
    assert summary.year == year
    found = {row["of"]: (row["items"], row["units"], row["tonnes"]) for row in summary.rows}
    assert found == {value: (*counted[:2], pytest.approx(counted[2], abs=1e-6)) for value, counted in rows.items()}
    assert (summary.total["items"], summary.total["units"]) == total[:2]
    assert summary.total["tonnes"] == pytest.approx(total[2], abs=1e-6)


def _store(conn: Connection, company: UUID, records: list[dict[str, Any]], clock: StoppedClock) -> None:
    actor = Actor(company, Origin("api_key", "k", "tests", "c-1"), clock.now())
    for number, record in enumerate(records):
        body = {name: value for name, value in record.items() if name not in ("volumes", "archived")}
        sku = parse_sku({"sku_code": f"S{number}", "name": "n", **body})
        [done] = write_records(conn, actor, {0: sku}, rulesets=Rulesets(), dry_run=False).values()
        assert done.id is not None, done.errors
        if record["volumes"]:
            rows = [VolumeRow(**row) for row in record["volumes"]]
            write_volumes(conn, actor, f"S{number}", rows, rulesets=Rulesets(), dry_run=False)
        if record.get("archived"):
            archive_sku(conn, actor, UUID(done.id), rules=ruleset.load(), dry_run=False)


class Line(NamedTuple):
    """A part of an item where it was placed; `market` and `year` are None where it was placed nowhere."""

    value: str | None
    item: int
    is_held: bool
    market: str | None
    year: int | None
    units: int
    grams: float


def _summed(
    records: list[dict[str, Any]], by: str, filters: Filters
) -> tuple[dict[str | None, tuple[int, int, float]], tuple[int, int, float], int | None]:
    """Return items, units and tonnes by value and in total, and the year."""
    held = [_units(record, filters.market) for record in records if not record.get("archived")]
    latest = max((year for units in held for _, year in units if year <= 2026), default=None)
    year = filters.year or (None if by == "period" else latest)
    lines = [line for number, record in enumerate(records) for line in _lines(number, record, by, filters, year)]
    whole = [line for line in lines if line.units or by != "market" or line.market is None]
    values = {line.value for line in lines}
    by_value = {value: _sum([line for line in lines if line.value == value]) for value in values}
    kept = {value: counted for value, counted in by_value.items() if counted[0] or counted[1]}
    return kept, _sum(whole if by == "market" else lines), year


def _sum(lines: list[Line]) -> tuple[int, int, float]:
    units = {(line.item, line.market, line.year): line.units for line in lines}
    items = {line.item for line in lines if line.is_held}
    return len(items), sum(units.values()), sum(line.grams * line.units for line in lines) / 1e6


def _units(record: dict[str, Any], market: str | None, half: int = 0) -> dict[tuple[str, int], int]:
    """Return the units by market and year that are not 0: of a half, else of the year, else of its halves together."""
    years, halves = dict[tuple[str, int], int](), defaultdict[tuple[str, int], int](int)
    for row in record["volumes"]:
        place = row["market"], row["year"]
        if row["half"]:
            halves[place] += row["units_placed"] if half in (0, row["half"]) else 0
        elif not half:
            years[place] = row["units_placed"]
    return {place: units for place, units in {**halves, **years}.items() if units and _is_in(place[0], market)}


def _is_in(code: str, market: str | None) -> bool:
    return market is None or code == market or code.startswith(f"{market}-")


def _lines(number: int, record: dict[str, Any], by: str, filters: Filters, year: int | None) -> Iterator[Line]:
    placed = {place for place, units in _units(record, None).items() if place[1] >= 2026}
    in_effect = {
        code for code in {*record.get("markets", ()), *(code for code, _ in placed)} if _is_in(code, filters.market)
    }
    units = {place: n for place, n in _units(record, filters.market, filters.half).items() if year in (None, place[1])}
    if (filters.market and not units and not in_effect) or not (filters.codes is None or f"S{number}" in filters.codes):
        return
    places: list[tuple[str | None, int | None, int]] = [(*place, n) for place, n in units.items()]
    if by == "market" and not record.get("archived"):
        places += [(code, None, 0) for code in in_effect - {code for code, _ in units}]
    own = {"material_family": record.get("material"), "weight_g": record.get("weight_grams")}
    for part in record.get("components", [own]):
        if filters.material not in (None, part["material_family"]):
            continue
        if filters.polymer not in (None, part.get("polymer_or_grade")):
            continue
        for market, of_year, n in places or [(None, None, 0)]:
            values = {
                "item": f"S{number}",
                "category": record.get("product_category"),
                "format": record.get("packaging_format"),
                "level": record.get("packaging_level"),
                "role": record.get("ppwr_role"),
                "reusable": str(record["reusable"]).lower() if "reusable" in record else None,
                "material": part["material_family"],
                "polymer": part.get("polymer_or_grade"),
                "stream": explain({**GRADED, **record}, ruleset.load())["stream"],
                "market": market,
                "period": of_year and str(of_year),
            }
            is_held, grams = not record.get("archived"), part.get("weight_g") or 0
            yield Line(values.get(by), number, is_held, market, of_year, n, grams)
