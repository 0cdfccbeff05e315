"""Two answers to one question: a drawn portfolio has the same counts, units, tonnes and verdicts behind every door.

The doors are REST, the pages, the assistants' tools, and what a run of Dagster shows. What is right is counted here by
plain Python over what was sent (decisions §13, rollup.md §1).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from html import unescape
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given
from hypothesis import strategies as st

from compliance.filings.document import totals
from compliance.rollup.tonnes import Figures
from pipelines.figures import blocks, compute_figures, compute_obligations, loaded_catalogue
from pipelines.filings import tonnes_by_period
from tests.api.people import Browser, signed_in
from tests.api.portfolios import counted, service_behind, weighed
from tests.connector.assistants import Assistant, principal
from tests.drawing import examples
from warehouse.figures import overview as overview_figures
from warehouse.figures import snapshots, stored
from warehouse.figures.market import STATES
from warehouse.figures.stored import StoredFigures

THIS_YEAR = 2026
"""The year of the stopped clock."""
YEARS = (2024, 2025, 2026, 2027)
MARKETS = ("AT", "DE", "FR", "GB", "US", "US-CA")
HALVES = {"GB": (0, 1, 2)}
PERIODS = [(market, year, half) for market in MARKETS for year in YEARS for half in HALVES.get(market, (0,))]
CUP = {"packaging_format": "cup", "packaging_level": "sales", "use_contexts": ["takeaway", "food"]}
POLYMERS = ("EPS", "PET")


@st.composite
def skus(draw: st.DrawFn) -> dict[str, Any]:
    """A SKU as a program sends it, with volumes; `archived` is not sent."""
    weights = draw(st.lists(st.sampled_from((None, 0, 9, 12.3456789)), max_size=2))
    parts = [
        {"component_type": kind, "material_family": "plastic", "polymer_or_grade": draw(st.sampled_from(POLYMERS)),
         "weight_g": weight}
        for kind, weight in zip(("body", "closure"), weights, strict=False)
    ]  # fmt: skip
    units = st.sampled_from((0, 1, 7, 333_333, 4_000_000))
    placed = draw(st.dictionaries(st.sampled_from(PERIODS), units, max_size=5))
    found: dict[str, Any] = {
        "markets": draw(st.none() | st.lists(st.sampled_from(MARKETS), unique=True, max_size=2)),
        "volumes": [
            {"market": market, "year": year, "half": half, "units_placed": number}
            for (market, year, half), number in placed.items()
        ],
        "archived": draw(st.sampled_from((False, False, False, True))),
    }
    if parts:
        found["components"] = parts
    return found | (CUP if draw(st.booleans()) else {})


@dataclass(frozen=True)
class Company:
    """What was sent, and what it comes to."""

    sent: Mapping[str, dict[str, Any]]

    @cached_property
    def listed(self) -> dict[str, dict[str, Any]]:
        return {code: sku for code, sku in self.sent.items() if not sku["archived"]}

    def markets(self, sku: Mapping[str, Any]) -> set[str]:
        """The markets in effect."""
        placed = {row["market"] for row in sku["volumes"] if row["year"] >= 2026 and row["units_placed"]}
        return {*(sku["markets"] or ()), *placed}

    def in_market(self, market: str) -> dict[str, dict[str, Any]]:
        return {
            code: sku for code, sku in self.listed.items() if any(inside(each, market) for each in self.markets(sku))
        }

    def units(self, sku: Mapping[str, Any], market: str, year: int, half: int = 0) -> int:
        """The units of a period: its own row; of a year without one, what its halves have."""
        of_year = [row for row in sku["volumes"] if (row["market"], row["year"]) == (market, year)]
        rows = {row["half"]: row["units_placed"] for row in of_year}
        return rows.get(half, sum(rows.values()) if half == 0 else 0)

    def period(self, market: str | None) -> int | None:
        """The newest year up to this one of which there are units in a market, or in any."""
        years = [
            year
            for year in YEARS
            if year <= THIS_YEAR
            and any(
                self.units(sku, each, year)
                for sku in self.listed.values()
                for each in MARKETS
                if market is None or inside(each, market)
            )
        ]
        return max(years, default=None)

    def units_of_period(self, sku: Mapping[str, Any], market: str | None) -> int:
        year = self.period(market)
        inside_it = [each for each in MARKETS if market is None or inside(each, market)]
        return 0 if year is None else sum(self.units(sku, each, year) for each in inside_it)

    def tonnes(self) -> dict[tuple[str, int, int], float]:
        """The tonnes of each period in which a part with a weight was placed: of archived SKUs, too."""
        found: dict[tuple[str, int, int], Fraction] = {}
        for market, year, half in PERIODS:
            for sku in self.sent.values():
                weights = [
                    Fraction(str(g)) for part in sku.get("components", ()) if (g := part["weight_g"]) is not None
                ]
                if (units := self.units(sku, market, year, half)) and weights:
                    key = (market, year, half)
                    found[key] = found.get(key, Fraction()) + units * sum(weights)
        return {key: written(grams) for key, grams in found.items()}


def inside(code: str, market: str) -> bool:
    return code == market or code.startswith(f"{market}-")


def written(grams: Fraction) -> float:
    """Tonnes to six places, half away from zero."""
    return int(grams + Fraction(1, 2)) / 1e6


@dataclass(frozen=True)
class Doors:
    """A company as it is asked by each door."""

    caller: Any
    browser: Browser
    told: dict[str, dict[str, Any]] = field(default_factory=dict)

    def total(self, **filters: object) -> int:
        return self.caller.get("/skus", params={"limit": 1, **filters}).json()["pagination"]["total"]

    def rows(self, path: str, **filters: object) -> list[dict[str, Any]]:
        answer = self.caller.get(path, params={"limit": 200, **filters}).json()
        assert len(answer["data"]) == answer["pagination"]["total"]
        return answer["data"]

    def ask(self, *calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
        """What the tools answer, over one connection; the same call is made once."""
        assistant = Assistant(service_behind(self.caller), principal(self.caller.company))
        new = [call for call in calls if str(call) not in self.told]

        async def told() -> None:
            async with assistant.connected() as client:
                for tool, given in new:
                    answer = await assistant.ask(client, tool, given)
                    assert not answer.refused, answer.text
                    self.told[str((tool, given))] = answer.told.get("answer", answer.told)

        self.caller.http.portal.call(told)
        return [self.told[str(call)] for call in calls]

    @property
    def figures(self) -> StoredFigures:
        return stored.current(service_behind(self.caller).settings.data_dir, self.caller.company)

    def computed(self) -> Figures:
        """The figures as a run computes them from the snapshot."""
        service, company = service_behind(self.caller), self.caller.company
        with service.writes.company(company) as conn:
            catalogue, rules = loaded_catalogue(conn), service.rulesets.active(conn)
        snapshot = snapshots.current(service.settings.data_dir, company)
        return compute_figures(blocks(snapshot), catalogue.entries, rules, lambda: None)

    def page(self, address: str) -> str:
        answer = self.browser.get(address)
        assert answer.status_code == 200, address
        return unescape(answer.text.partition("<main")[2])

    def on_page(self, address: str) -> int:
        """How many items the list page says that it has."""
        return int(re.search(r"Items found: ([\d,]+)", self.page(address))[1].replace(",", ""))


@pytest.fixture
def open_doors(stopped, join, pool):
    """Writes a portfolio as a new company, counts and weighs it."""

    def opened(portfolio: Iterable[dict[str, Any]]) -> tuple[Company, Doors]:
        company = Company({f"S-{number}": sku for number, sku in enumerate(portfolio)})
        caller = replace(join(), http=stopped.http)
        bodies = [
            {"sku_code": code, "name": code} | {name: value for name, value in sku.items() if name != "archived"}
            for code, sku in company.sent.items()
        ]
        rows = caller.post("/skus/batch", {"skus": bodies}).json()["results"]
        assert {row["outcome"] for row in rows} == {"created"}, rows
        for row in rows:
            if company.sent[row["sku_code"]]["archived"]:
                assert caller.post(f"/skus/{row['id']}/archive", {}).status_code == 200
        counted(caller)
        weighed(caller)
        browser = signed_in(caller, pool)
        return company, Doors(caller, browser)

    return opened


PART = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "EPS", "weight_g": 9}


def like(markets: list[str] | None, placed: Mapping[tuple[str, int, int], int], **more: Any) -> dict[str, Any]:
    """A SKU like those that are drawn."""
    volumes = [
        {"market": market, "year": year, "half": half, "units_placed": units}
        for (market, year, half), units in placed.items()
    ]
    return {"markets": markets, "volumes": volumes, "archived": False, "components": [PART], **CUP, **more}


SEEN = [
    like(None, {("DE", 2026, 0): 50_000, ("FR", 2025, 0): 8}),
    like(["FR"], {("AT", 2025, 0): 7, ("FR", 2024, 0): 333_333}),
    like(["GB"], {("GB", 2026, 1): 4_000_000, ("GB", 2025, 1): 7, ("GB", 2025, 2): 1}),
    like(["US-CA", "DE"], {("US", 2026, 0): 3, ("US-CA", 2026, 0): 4, ("DE", 2027, 0): 5}),
    like([], {("FR", 2026, 0): 0}, components=[{**PART, "weight_g": None}]),
    like(["DE"], {("DE", 2025, 0): 4_000_000, ("DE", 2026, 0): 1}, archived=True),
    like(None, {("GB", 2025, 0): 9, ("GB", 2025, 1): 7}),
]
"""What the doors were seen to differ in."""


@examples(
    4,
    phases=[Phase.explicit, Phase.generate],  # an example is a company: to shrink one would take minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(portfolio=st.lists(skus(), min_size=4, max_size=9))
@example(portfolio=SEEN)
def test_every_door_gives_the_same_counts_units_tonnes_and_verdicts(open_doors, portfolio):
    company, doors = open_doors(portfolio)
    check_counts(company, doors)
    check_units(company, doors)
    check_tonnes(company, doors)
    check_verdicts(doors)


def check_counts(company: Company, doors: Doors) -> None:
    """The items of each market, gap and ban, and all of them."""
    by_market = {market: len(company.in_market(market)) for market in MARKETS}
    overview, missing, *by_tool = doors.ask(
        ("compliance_overview", {}),
        ("check_missing_data", {"limit": 200}),
        *(("check_market_readiness", {"market": market}) for market in MARKETS),
        *(("list_packaging_items", {"market": market, "limit": 1}) for market in MARKETS),
    )
    assert overview["skus"] == doors.total() == doors.on_page("/items") == len(company.listed)
    named = {market for sku in company.listed.values() for market in company.markets(sku)}
    assert {row["market"]: row["skus"] for row in overview["markets"]} == {each: by_market[each] for each in named}
    assert {row["code"]: row["skus"] for row in overview["jurisdictions"]} == {each: by_market[each] for each in named}
    for place, (market, count) in enumerate(by_market.items()):
        readiness, items = by_tool[place], by_tool[place + len(MARKETS)]
        assert doors.total(market=market) == readiness["skus"] == items["page"]["total"] == count, market
        assert sum(readiness[each] for each in ("blocked", "to_decide", "incomplete", "ready")) == count
        for gap in readiness["missing"]:
            found = doors.total(gap=gap["code"], market=market)
            assert found == gap["skus"], f"{gap['code']} in {market}, as the list that a reader opens next"
    without = sum(not company.markets(sku) for sku in company.listed.values())
    assert overview["skus_without_market"] == doors.total(gap="markets_missing") == without
    for gap in missing["gaps"]:
        assert doors.total(gap=gap["code"]) == gap["skus"], gap["code"]
    sold = [company.markets(sku) for sku in company.listed.values()]
    in_union = sum(not markets or bool({"AT", "DE", "FR"} & set(markets)) for markets in sold)
    without_doc = {gap["code"]: gap["skus"] for gap in missing["gaps"]}.get("doc_missing", 0)
    assert without_doc == in_union, "outside of the Union nobody asks for its declaration (Article 4(1))"
    details = doors.rows("/skus", include="compliance")
    flags = Counter(flag["code"] for sku in details for flag in sku["compliance"]["annex_v_flags"])
    assert {flag["code"]: flag["skus"] for flag in overview["annex_v_flags"]} == flags
    charts = re.findall(r'<a href="(/items\?[^"]+)">.*?<td class="number">([\d,]+)</td>', doors.page("/portfolio"))
    assert {market for address, _ in charts for market in re.findall(r"market=([\w-]+)", address)} == named
    for address, count in charts:
        if re.search("market=|flag=", address):
            assert doors.on_page(address) == int(count.replace(",", "")), address


def check_units(company: Company, doors: Doors) -> None:
    """The units beside gaps and markets, which are those of one named year."""
    markets = ("GB", "US")
    missing, *ready = doors.ask(
        ("check_missing_data", {"limit": 200}), *(("check_market_readiness", {"market": each}) for each in markets)
    )
    asked = [(each, state) for each, found in zip(markets, ready, strict=True) for state in STATES if found[state]]
    classes = doors.ask(
        *(("check_market_readiness", {"market": market, "state": state, "limit": 200}) for market, state in asked)
    )
    assert missing.get("period") == company.period(None)
    in_gap = Counter[str]()
    for item in missing["items"]:
        assert item["units"] == company.units_of_period(company.sent[item["sku_code"]], None), item["sku_code"]
        for gap in item["gaps"]:
            in_gap[gap] += item["units"]
    for gap in missing["gaps"]:
        assert gap["units"] == in_gap[gap["code"]], gap["code"]
    if missing["gaps"] and missing.get("period"):
        assert f"Units {missing['period']}" in doors.page("/portfolio")
    listed = defaultdict[str, dict[str, int]](dict)
    for (market, state), found in zip(asked, classes, strict=True):
        assert found.get("period") == company.period(market), market
        assert found["pagination"]["total"] == len(found["items"]) == found[state]
        listed[market] |= {item["sku_code"]: item["units"] for item in found["items"]}
    for market, of_items in listed.items():
        assert of_items == {
            code: company.units_of_period(sku, market) for code, sku in company.in_market(market).items()
        }


def check_tonnes(company: Company, doors: Doors) -> None:
    """The tonnes of each market and period, and the rows that are not counted in them."""
    expected = company.tonnes()
    by_category: dict[tuple[str, int, int], float] = defaultdict(float)
    for row in doors.rows("/figures/tonnes"):
        by_category[row["market"], row["year"], row["half"]] += row["tonnes"]
    assert by_category == pytest.approx(expected, abs=5e-6), "rows are rounded each"
    keys = [*expected]
    overview, *told = doors.ask(
        ("compliance_overview", {}),
        *(("get_market_figures", dict(zip(("market", "year", "half"), key, strict=True))) for key in keys),
    )
    assert periods(overview["tonnes"]["by_market"]) == expected
    computed = doors.computed()
    assert {key: float(totals(computed, *key)["total_tonnes"]) for key in keys} == expected, "a declaration's total"
    of_page = dict[tuple[str, int, int], float]()
    for year in {year for _, year, _ in keys}:
        shown = overview_figures.tonnes_of_year(doors.figures, str(year), THIS_YEAR)
        of_page |= periods(shown["rows"])
        assert shown["uncounted"] == len(doors.rows("/figures/uncounted", year=year))
    assert of_page == expected
    in_runs = tonnes_by_period(computed, THIS_YEAR)
    for (market, year, half), found in zip(keys, told, strict=True):
        assert found["total_tonnes"] == expected[market, year, half], (market, year, half)
        assert found["uncounted"]["total"] == len(doors.rows("/figures/uncounted", market=market, year=year, half=half))
        if not half and (name := f"{market}-{year}") in in_runs:
            assert in_runs[name] == found["total_tonnes"], "a run of Dagster"


def check_verdicts(doors: Doors) -> None:
    """The verdicts of each market's latest year, and its figures beside its readiness."""
    computed = compute_obligations(doors.computed())["verdict"]
    assert Counter(row["verdict"] for row in doors.rows("/figures/obligations")) == Counter(computed)
    latest = doors.ask(*(("get_market_figures", {"market": market}) for market in MARKETS))
    ready = doors.ask(*(("check_market_readiness", {"market": market}) for market in MARKETS))
    for market, figure, readiness in zip(MARKETS, latest, ready, strict=True):
        beside = readiness.get("figures")
        if not figure["periods"]:
            assert beside is None, market
            continue
        assert beside["year"] == figure["year"], market
        verdicts = [row["verdict"] for row in doors.rows("/figures/obligations", market=market, year=figure["year"])]
        assert [row["verdict"] for row in beside["obligations"]] == verdicts, market
        assert [row["verdict"] for row in figure["obligations"]] == verdicts, market
        assert sum(row["tonnes"] for row in beside["tonnes"]) == pytest.approx(figure["total_tonnes"], abs=5e-6)
        assert beside["uncounted"] == figure["uncounted"]["total"]


def periods(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, int, int], float]:
    return {(row["market"], row["year"], row["half"]): row["tonnes"] for row in rows}
