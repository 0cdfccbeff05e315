"""Sums of the portfolio by one property, as an assistant reads them: most plastic, worst brand, frequent reasons."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, get_args
from uuid import UUID, uuid4

import pytest

from connector.tools.kit import SHORT
from schemas.actors import Actor, Origin
from services.skus import listing
from services.skus.archive import archive_sku
from services.skus.listing import Place
from tests.api import portfolios
from tests.connector.assistants import Assistant
from tests.connector.questions.company import LAST_WEEK, VOLUMES, filled, part, place_units, published
from warehouse import library
from warehouse.figures import stored as figures
from warehouse.figures.gaps import Finding
from warehouse.figures.summaries import PROPERTIES, Measure
from warehouse.operate.clock import StoppedClock
from warehouse.skus.search import Search

pytestmark = pytest.mark.anyio

GRAMS = {"WTR-02": 12, "PCH-04": 8, "CHP-17": 5, "PMP-01": 9, "HTL-08": 5}
"""Plastic of a unit of each item, by its parts."""


async def summary(assistant: Assistant, by: str, **arguments: Any) -> dict[str, Any]:
    answer = await assistant.call("summarise_items", by=by, **arguments)
    assert not answer.refused, answer.text
    assert len(answer.text) <= SHORT
    return answer.told["answer"]


async def test_which_five_items_bring_most_plastic_to_germany(assistant: Assistant, clock: StoppedClock):
    await filled(assistant, clock)
    told = await summary(assistant, "item", market="Germany", material="plastic", limit=5)
    units = {code: row[3] for code, rows in VOLUMES.items() for row in rows if row[:2] == ("DE", 2025)}
    tonnes = {code: round(GRAMS[code] * number / 1e6, 6) for code, number in units.items()}
    assert told["year"] == 2025
    assert {row["of"]: row["tonnes"] for row in told["rows"]} == tonnes
    assert [row["of"] for row in told["rows"]] == sorted(tonnes, key=lambda code: -tonnes[code])
    assert told["rows"][0] == {
        "of": "WTR-02",
        "name": "Water bottle 0.5 l",
        "items": 1,
        "units": 4_000_000,
        "tonnes": 48,
        "share_percent": 70.0,
    }
    figures = await assistant.call("get_market_figures", market="DE", material="plastic")
    assert told["total"]["tonnes"] == figures.told["answer"]["total_tonnes"] == 68.59
    second = await summary(assistant, "item", market="DE", material="plastic", limit=1, offset=1)
    assert ([row["of"] for row in second["rows"]], second["page"]["next_offset"]) == (["CHP-17"], 2)
    of_pet = await summary(assistant, "item", market="FR", material="PET")
    assert [(row["of"], row["tonnes"]) for row in of_pet["rows"]][:2] == [("WTR-02", 20), ("PCH-04", 1)]


async def test_the_filters_of_the_list_leave_the_items_of_the_list(assistant: Assistant, clock: StoppedClock):
    await filled(assistant, clock)
    for filters in (
        {"search": "bottle"},
        {"supplier": "Préformes du Rhône"},
        {"component": "CAP-PP-28"},
        {"gap": "polymer_missing"},
        {"doc_status": "valid"},
        {"grade": "A"},
        {"market": "FR"},
    ):
        listed = (await assistant.call("list_packaging_items", limit=200, **filters)).told
        own = {name: value for name, value in filters.items() if name in ("grade", "market")}
        others = {name: value for name, value in filters.items() if name not in own}
        told = await summary(assistant, "item", sort="items", filters=others, **own)
        assert listed["page"]["total"] > 0
        assert {row["of"] for row in told["rows"] if row["items"]} == {item["sku_code"] for item in listed["items"]}
        assert told["total"]["items"] == listed["page"]["total"]


async def test_the_worst_brand_is_named_with_its_tonnes(assistant: Assistant):
    brands = [_brand(assistant, name) for name in ("Aurora", "Bellevue")]
    weights = {0: (8, 30), 1: (50,)}
    for brand, grams in weights.items():
        for weight in grams:
            _made(assistant, "PVC", weight, 1_000_000, brand_id=str(brands[brand]))
    _made(assistant, "PET", 500, 9_000_000, brand_id=str(brands[0]), colour="transparent")
    published(assistant)
    listed = (await assistant.call("list_packaging_items", grade="not_recyclable")).told["page"]["total"]
    assert listed == 3
    told = await summary(assistant, "brand", grade="not_recyclable")
    assert [(row["name"], row["items"], row["tonnes"]) for row in told["rows"]] == [
        ("Bellevue", 1, 50),
        ("Aurora", 2, 38),
    ]
    assert [row["of"] for row in told["rows"]] == [str(brands[1]), str(brands[0])]
    assert told["total"] == {"items": 3, "units": 3_000_000, "tonnes": 88}


async def test_the_tonnes_of_a_market_are_the_same_by_each_door(assistant: Assistant):
    """An item that weighs and has no category was in the one sum and not in the other."""
    items: list[tuple[dict[str, Any], list[tuple[str, int, int, int]]]] = [
        ({"components": [part("body", "glass", "glass", 200)]}, [("DE", 2026, 0, 1000), ("FR", 2026, 0, 10)]),
        ({"components": [part("body", "plastic", None, 7)]}, [("DE", 2026, 0, 500), ("GB", 2026, 1, 30)]),
        (
            {"components": [part("body", "paper", "PAP 21", 9), part("cap", "plastic", "PP", None)]},
            [("DE", 2026, 0, 1)],
        ),
        ({"weight_grams": 33}, [("DE", 2026, 0, 40), ("DE-BY", 2025, 0, 4), ("GB", 2026, 0, 9), ("GB", 2026, 2, 5)]),
        ({"material": "metal", "weight_grams": 12, "reusable": True}, [("DE", 2026, 0, 3), ("CA-ON", 2026, 0, 3)]),
        ({"material": "glass"}, [("DE", 2026, 0, 8)]),
        ({"components": [part("ink", "other", None, 2)]}, [("FR", 2026, 0, 11), ("GP", 2025, 0, 1)]),
    ]
    made = [assistant.made(**fields) for fields, _ in items]
    for item, (_, units) in zip(made, items, strict=True):
        place_units(assistant, item.sku_code, units)
    service = assistant.service
    actor = Actor(assistant.company, Origin("operator", "test", "test", str(uuid4())), service.clock.now())
    with service.writes.company(assistant.company) as conn:
        archive_sku(conn, actor, UUID(made[3].id), rules=service.rulesets.active(conn), dry_run=False)
    published(assistant)
    portfolios.weigh(service.writes, service.rulesets, service.settings.data_dir, assistant.company)
    stored = figures.current(service.settings.data_dir, assistant.company)
    assert stored is not None
    without = 0
    for market, year, half in {*figures.periods(stored), ("DE", 2025, 0), ("FR", 2025, 0)}:
        told = (await assistant.call("get_market_figures", market=market, year=year, half=half)).told["answer"]
        summed = await summary(assistant, "market", market=market, year=year, half=half)
        placed = Decimal(str(told["total_tonnes"])) + Decimal(str(told["uncounted"]["tonnes"]))
        assert placed == Decimal(str(summed["total"]["tonnes"])), (market, year, half)
        period = {"market": market, "year": year, "half": half}
        rows = figures.figure_rows(stored, "uncounted", period, limit=99, offset=0)
        assert float(sum(row["tonnes"] or 0 for row in rows.data)) == told["uncounted"]["tonnes"]
        without += told["uncounted"]["tonnes"] > 0
    assert without >= 4


async def test_the_most_frequent_reasons_are_rules_in_words(assistant: Assistant, clock: StoppedClock):
    await filled(assistant, clock)
    service = assistant.service
    told = await summary(assistant, "reason", grade="not_recyclable", sort="items")
    place = Place(service.writes, service.clock, service.rulesets, service.settings.data_dir, assistant.company)
    assert told["rows"]
    for row in told["rows"]:
        codes = listing.codes(place, Search(grade="not_recyclable"), Finding(rule=row["of"]), most=100)
        assert row["items"] == len(codes), row
        assert len(row["name"].split()) > 1
    assert [row["items"] for row in told["rows"]] == sorted((row["items"] for row in told["rows"]), reverse=True)
    assert told["total"]["items"] == 2


async def test_each_property_and_measure_is_short_and_gaps_are_those_of_the_list(
    assistant: Assistant, clock: StoppedClock
):
    await filled(assistant, clock)
    async with assistant.connected() as client:
        for by in PROPERTIES:
            for sort in get_args(Measure):
                answer = await assistant.ask(client, "summarise_items", {"by": by, "sort": sort})
                assert not answer.refused, answer.text
                assert len(answer.text) <= SHORT
        gaps = (await assistant.ask(client, "check_missing_data", {})).told["answer"]["gaps"]
        told = (await assistant.ask(client, "summarise_items", {"by": "gap", "sort": "items", "limit": 200})).told
    assert {row["of"]: row["items"] for row in told["answer"]["rows"]} == {gap["code"]: gap["skus"] for gap in gaps}


async def test_sums_of_long_names_are_cut_to_a_short_answer_that_says_where_it_goes_on(assistant: Assistant):
    for number in range(11):
        assistant.made(sku_code=f"{number:02}-{'é' * 250}", name="漢" * 250, material="glass")
    published(assistant)
    told = await summary(assistant, "item", sort="items")
    assert len(told["rows"]) == told["page"]["next_offset"] < told["page"]["total"] == 11
    whole = (await assistant.call("summarise_items", by="item", sort="items", limit=200)).told["answer"]
    assert len(whole["rows"]) == 11


async def test_another_company_sees_nothing(assistant: Assistant, assistants: Callable[[], Assistant]):
    other = assistants()
    brand = _brand(other, "Secret")
    made = _made(other, "PVC", 8, 1_000, brand_id=str(brand))
    published(other)
    refused = await assistant.call("summarise_items", by="item")
    assert (refused.refused, "No snapshot" in refused.text) == (True, True)
    published(assistant)
    for by in PROPERTIES:
        told = await summary(assistant, by)
        assert (told["rows"], told["total"]) == ([], {"items": 0, "units": 0, "tonnes": 0})
    answer = await assistant.call("summarise_items", by="item", filters={"search": made})
    assert made not in str(answer.told)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"by": "colour"}, ("by: ", "brand", "reason", "market", "period")),
        ({"by": "item", "sort": "weight"}, ("sort: ", "items", "units", "tonnes")),
        ({}, ("by: ",)),
        ({"by": "item", "market": "Atlantis"}, ("market: ",)),
        ({"by": "item", "year": 1e308}, ("year: ", "2100")),
        ({"by": "item", "material": "kryptonite"}, ("material: ", "nearest")),
        ({"by": "item", "filters": {"flag": "AV-99"}}, ("flag: ", "AV-1")),
        ({"by": "item", "filters": {"gap": "colour"}}, ("gap", "polymer_missing")),
        ({"by": "item", "filters": {"shade": "red"}}, ("shade", "not part of the contract")),
    ],
)
async def test_what_is_no_property_is_refused_with_those_there_are(
    assistant: Assistant, arguments: dict[str, str], words: tuple[str, ...]
):
    assistant.made()
    published(assistant)
    answer = await assistant.call("summarise_items", **arguments)
    assert answer.refused
    for word in words:
        assert word in answer.text, answer.text


def _brand(assistant: Assistant, name: str) -> UUID:
    with assistant.service.writes.company(assistant.company) as conn:
        return UUID(
            str(library.add(conn, "brand", assistant.company, uuid4(), values={"name": name}, at=LAST_WEEK)["id"])
        )


def _made(
    assistant: Assistant, polymer: str, grams: float, units: int, colour: str | None = None, **fields: Any
) -> str:
    """A bottle of one plastic that was placed in Germany; its code."""
    made = assistant.made(
        packaging_format="bottle",
        packaging_level="sales",
        use_contexts=["beverage"],
        markets=["DE"],
        components=[part("body", "plastic", polymer, grams, colour=colour)],
        **fields,
    )
    place_units(assistant, made.sku_code, [("DE", 2026, 0, units)])
    return made.sku_code
