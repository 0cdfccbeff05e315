"""Made-up packs at the edges of the law, each judged by hand from its text; every door answers that and the same.

The text is Regulation (EU) 2025/40 and the Annex of Directive (EU) 2019/904; a comment names the article that decides.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.api.portfolios import counted, service_behind, weighed
from tests.connector.assistants import Assistant, principal


def part(kind: str, family: str | None, grams: float | None, text: str | None = None, **more: Any) -> dict[str, Any]:
    """A component; None is not given."""
    given = {"component_type": kind, "material_family": family, "weight_g": grams, "polymer_or_grade": text, **more}
    return {name: value for name, value in given.items() if value is not None}


def plastic(text: str, grams: float | None = 20, *, recycled: float | None = None, **more: Any) -> dict[str, Any]:
    return part("body", "plastic", grams, text, recycled_content_percent=recycled, **more)


JAR: dict[str, Any] = {
    "packaging_format": "jar",
    "packaging_level": "sales",
    "use_contexts": ["food"],
    "food_contact": True,
    "markets": ["DE"],
}
BAG = {**JAR, "packaging_format": "bag", "use_contexts": ["household"], "food_contact": False}
BOX = {**JAR, "packaging_format": "box", "markets": ["FR"]}
CUP = {**BOX, "packaging_format": "cup", "use_contexts": ["beverage"]}
BOTTLE = {**CUP, "packaging_format": "bottle"}
MEDICINE = {**JAR, "use_contexts": ["pharmaceutical"], "food_contact": False}
DANGEROUS = {**JAR, "use_contexts": ["dangerous_goods"], "food_contact": False, "packaging_format": "drum"}
GLASS = part("body", "glass", 95)
DEPENDS, CERTAIN = "depends", "certain"


@dataclass
class Pack:
    """Fields of a SKU; its flags with their certainty, what rules no ban out, its state at recycled content of 2030
    (None: not held against it), and its states at Articles 6 and 7 in the evidence."""

    fields: dict[str, Any]
    flags: dict[str, str] = field(default_factory=dict)
    undecided: list[str] = field(default_factory=list)
    recycled: str | None = None
    article_6: str = "later"
    article_7: str = "later"
    units: list[tuple[str, int, int]] = field(default_factory=list)


def of(base: dict[str, Any], *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**base, "components": list(parts), **more}


HORECA, NONE = "AV-3", "not_concerned"
FRESH, PORTION = "AV-2", "AV-4"
PACKS = {
    # Annex V, point 6; Article 3(1)(55) to (57): carrier bags below 15 micron
    "bag 14.9": Pack(of(BAG, plastic("PE", thickness_um=14.9)), {"AV-6": DEPENDS}, recycled="undecided"),
    "bag 15": Pack(of(BAG, plastic("PE", thickness_um=15)), recycled="undecided"),
    "bag silent": Pack(of(BAG, plastic("PE")), undecided=["thickness_um"], recycled="undecided"),
    "bag GB": Pack(of(BAG, plastic("PE"), markets=["GB"]), article_6=NONE, article_7=NONE),
    "bag paper": Pack(of(BAG, part("body", "paper", 5)), article_7=NONE),
    "carrier": Pack(of({**BAG, "packaging_format": "carrier bag"}, plastic("PE")), {"AV-6": DEPENDS},
                    recycled="undecided"),
    # Directive (EU) 2019/904, Annex, Part B; 67(5) of the Regulation: EPS since 2021, XPS from 2029; oxo: Article 5
    "EPS transport": Pack(of(BOX, plastic("EPS"), packaging_level="transport"), recycled="undecided"),
    "EPS sales": Pack(of(BOX, plastic("EPS")), {FRESH: DEPENDS, "SUPD-B7": DEPENDS}, recycled="undecided"),
    "XPS sales": Pack(of(BOX, plastic("XPS")), {FRESH: DEPENDS, "SUPD-B7X": DEPENDS}, recycled="undecided"),
    "EPS reused": Pack(of(BOX, plastic("EPS"), reusable=True), recycled="undecided"),
    "EPS cup": Pack(of(CUP, plastic("EPS")), {HORECA: DEPENDS, "SUPD-B9": CERTAIN}, recycled="undecided"),
    "EPS cup US": Pack(of(CUP, plastic("EPS"), markets=["US-CA"]), article_6=NONE, article_7=NONE),
    "EPS cup RE": Pack(of(CUP, plastic("EPS"), markets=["RE"]), {HORECA: DEPENDS, "SUPD-B9": CERTAIN},
                       recycled="undecided"),  # Réunion is of France
    "oxo": Pack(of(BAG, plastic("PE", additives=["oxo_degradable"], thickness_um=40)), {"SUPD-OXO": CERTAIN},
                recycled="undecided"),
    "plate PE": Pack(of({**BOX, "packaging_format": "plate"}, part("body", "paper", 9), part("coating", "plastic", 1,
                     "PE"), reusable=False), {"SUPD-B3": CERTAIN}, recycled="undecided"),  # *wholly or partly* plastic
    "units only": Pack(of(CUP, plastic("EPS"), markets=None), {HORECA: DEPENDS, "SUPD-B9": CERTAIN}, units=[
        ("FR", 2026, 10)], recycled="undecided"),
    "units 0": Pack(of(CUP, plastic("EPS"), markets=["GB"]), units=[("FR", 2026, 0)], article_6=NONE, article_7=NONE),
    "units 2025": Pack(of(CUP, plastic("EPS"), markets=["GB"]), units=[("FR", 2025, 9)], article_6=NONE,
                       article_7=NONE),  # the Regulation applies from 12 August 2026 (Article 71)
    # 7(5)(b): less than 5 % of the whole; 7(1)(b): 10 % of contact-sensitive plastic other than PET
    "cap 5 %": Pack(of(JAR, GLASS, part("cap", "plastic", 5, "PP", recycled_content_percent=0)), recycled="below"),
    "cap 4.999 %": Pack(of(JAR, part("body", "glass", 95.001), part("cap", "plastic", 4.999, "PP")), article_7=NONE),
    "cap light": Pack(of(JAR, GLASS, part("cap", "plastic", None, "PP")), recycled="undecided", article_7="open"),
    "cap mainly": Pack(of(JAR, part("body", "glass", 95.001), part("cap", "plastic", 4.999, "PP"), material="plastic"),
                       article_7=NONE),
    "glue": Pack(of(JAR, GLASS, part("adhesive", "plastic", 10, "PE")), article_7=NONE),  # 3(1)(52): no main part
    "glue mainly": Pack(of(JAR, GLASS, part("adhesive", "plastic", 10, "PE"), material="plastic"), article_7=NONE),
    # 7(1)(a) to (d), at the limit and a hundredth below it
    "PET 30": Pack(of(JAR, plastic("PET", recycled=30)), recycled="meets"),
    "PET 29.99": Pack(of(JAR, plastic("PET", recycled=29.99)), recycled="below"),
    "PP 10": Pack(of(JAR, plastic("PP", recycled=10)), recycled="meets"),
    "PP 9.99": Pack(of(JAR, plastic("PP", recycled=9.99)), recycled="below"),
    "rest 35": Pack(of(JAR, plastic("PP", recycled=35), use_contexts=["household"], food_contact=False),
                    recycled="meets"),
    "rest 34.99": Pack(of(JAR, plastic("PP", recycled=34.99), use_contexts=["household"], food_contact=False),
                       recycled="below"),
    "bottle 30": Pack(of(BOTTLE, plastic("HDPE", recycled=30)), recycled="meets"),
    "bottle 29.99": Pack(of(BOTTLE, plastic("HDPE", recycled=29.99)), recycled="below"),
    "bottle reused": Pack(of(BOTTLE, plastic("PP", recycled=10), reusable=True), recycled="meets"),  # (b)
    "bottle glass": Pack(of(BOTTLE, part("body", "glass", 40), part("cap", "plastic", 9, "PP",
                         recycled_content_percent=10)), recycled="meets"),  # no plastic bottle: 2019/904, Part F
    "PP GB": Pack(of(JAR, plastic("PP", recycled=0), markets=["GB"]), article_6=NONE, article_7=NONE),
    "PP CH+DE": Pack(of(JAR, plastic("PP", recycled=0), markets=["CH", "DE"]), recycled="below"),
    "PP nowhere": Pack(of(JAR, plastic("PP", recycled=0), markets=None), recycled="below"),
    "PP unweighed": Pack(of(JAR, plastic("PP", None, recycled=10)), recycled="meets"),
    "PLA": Pack(of(JAR, plastic("PLA", recycled=0)), recycled="to_decide"),  # 7(4)(e)
    # 6(11), 7(4), 9(1): exempt, or perhaps
    "medicine": Pack(of(MEDICINE, plastic("PP", recycled=0)), recycled="to_decide", article_6="open", article_7="open"),
    "acid drum": Pack(of(DANGEROUS, plastic("HDPE"), packaging_level="transport"), article_6=NONE, article_7=NONE),
    "acid can": Pack(of(DANGEROUS, plastic("HDPE")), recycled="to_decide", article_6="open", article_7="open"),
    "tea bag": Pack(of({**CUP, "packaging_format": "tea bag"}, plastic("PP", recycled=0)), recycled="to_decide",
                    article_7="open"),
    "wood box": Pack(of(BOX, part("body", "wood", 50)), article_6="open", article_7=NONE),
    "wood crate": Pack(of(BOX, part("body", "wood", 50), packaging_level="transport"), article_7=NONE),
}  # fmt: skip


@pytest.fixture
def portfolio(caller):
    """All packs of a company, counted; `gone` was archived, `new name` renamed."""
    gone = Pack(of(JAR, plastic("PP", recycled=0)), units=[("DE", 2026, 1000)])
    renamed = Pack(of(JAR, plastic("PP", recycled=0)))
    rows = [
        {
            "sku_code": code,
            "name": code,
            **pack.fields,
            "volumes": [{"market": market, "year": year, "units_placed": units} for market, year, units in pack.units],
        }
        for code, pack in {**PACKS, "gone": gone, "old name": renamed}.items()
    ]
    ids = written(caller, rows)
    assert caller.post(f"/skus/{ids['gone']}/archive", {}).status_code == 200
    assert caller.request("PATCH", f"/skus/{ids['old name']}", json={"sku_code": "new name"}).status_code == 200
    counted(caller)
    weighed(caller)
    return caller


def written(caller: Any, rows: list[dict[str, Any]]) -> dict[str, str]:
    """The ids of new SKUs by code."""
    results = caller.post("/skus/batch", {"skus": rows}).json()["results"]
    assert {row["outcome"] for row in results} == {"created"}, results
    return {row["sku_code"]: row["id"] for row in results}


def listed(caller: Any) -> dict[str, dict[str, Any]]:
    rows = caller.get("/skus?include=components,compliance&limit=200").json()["data"]
    return {row["sku_code"]: row for row in rows}


def told(caller: Any, *calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """What an assistant of the company is answered."""
    assistant = Assistant(service_behind(caller), principal(caller.company))

    async def ask() -> list[dict[str, Any]]:
        async with assistant.connected() as client:
            return [(await assistant.ask(client, tool, arguments)).told["answer"] for tool, arguments in calls]

    return asyncio.run(ask())


def test_each_pack_is_judged_as_by_hand_at_every_door(portfolio):
    rows = listed(portfolio)
    assert rows.keys() == {*PACKS, "new name"}
    flags = {
        code: {flag["code"]: flag["certainty"] for flag in rows[code]["compliance"]["annex_v_flags"]} for code in PACKS
    }
    assert flags == {code: pack.flags for code, pack in PACKS.items()}
    undecided = {code: rows[code]["compliance"]["annex_v_undecided"] for code in PACKS}
    assert undecided == {code: pack.undecided for code, pack in PACKS.items()}
    held, bans, bpa = told(
        portfolio, *(("check_items_against_rule", {"rule": rule, "limit": 100}) for rule in
                     ("recycled_content_2030", "format_bans", "bpa_in_food_contact")))  # fmt: skip
    recycled = {item["sku_code"]: item["state"] for item in held["items"]}
    assert {code: recycled.get(code) for code in PACKS} == {code: pack.recycled for code, pack in PACKS.items()}
    assert (recycled.get("gone"), recycled.get("old name"), recycled["new name"]) == (None, None, "below")
    assert held["counts"] == {state: list(recycled.values()).count(state) for state in held["counts"]}
    banned = {item["sku_code"]: item["state"] for item in bans["items"]}
    assert {code: banned.get(code) for code in PACKS} == {code: _ban(pack) for code, pack in PACKS.items()}
    assert {item["sku_code"] for item in bpa["items"]} == {"new name"} | {
        code for code, pack in PACKS.items() if pack.fields["food_contact"] and pack.article_6 is not NONE
    }
    evidence = portfolio.get("/evidence?limit=200").json()["data"]
    states = {row["sku_code"]: {each["article"]: each["state"] for each in row["articles"]} for row in evidence}
    assert {code: (states[code][6], states[code][7]) for code in PACKS} == {
        code: (pack.article_6, pack.article_7) for code, pack in PACKS.items()
    }
    assert "gone" not in states


def _ban(pack: Pack) -> str | None:
    if CERTAIN in pack.flags.values():
        return "affected"
    return "depends" if pack.flags else "undecided" if pack.undecided else None


def test_the_table_itself_asks_evidence_of_article_7_where_recycled_content_is_held_against_it():
    held = {code for code, pack in PACKS.items() if pack.recycled}
    assert held == {code for code, pack in PACKS.items() if pack.article_7 is not NONE}
    assert len(PACKS) > 40


MARKS = {
    "household": ({"use_contexts": ["household"]}, "not_recorded"),
    "industrial": ({"use_contexts": ["industrial"]}, "not_for_households"),  # as its scope in France has it
    "both": ({"use_contexts": ["industrial", "food"]}, "not_recorded"),
    "sent": ({"use_contexts": ["industrial"], "packaging_level": "e_commerce"}, "not_for_households"),
    "transport": ({"packaging_level": "transport"}, "not_for_households"),
    "nothing said": ({"use_contexts": []}, "not_recorded"),
    "wine": ({"use_contexts": ["beverage"], "material": "glass"}, "exempt"),
    "marked": ({"sorting_label_scheme": "triman_fr"}, "has_mark"),
    "other mark": ({"sorting_label_scheme": "harmonised_eu"}, "lacks_mark"),
    "Belgium": ({"markets": ["BE"]}, None),
}


def test_the_french_mark_is_asked_of_what_ends_in_households(caller):
    """Code de l'environnement, R541-12-17: household packaging, but of drinks in glass."""
    rows = [{**BOX, "material": "paper", "sku_code": code, "name": code, **more} for code, (more, _) in MARKS.items()]
    written(caller, rows)
    [answer] = told(caller, ("check_items_against_rule", {"rule": "triman_mark", "limit": 100}))
    found = {item["sku_code"]: item["state"] for item in answer["items"]}
    assert found == {code: state for code, (_, state) in MARKS.items() if state}


LAYERS = [("4.999", 95.001, 4.999), ("5", 95, 5), ("5.001", 94.999, 5.001)]
"""Board with plastic of just below, of exactly and of just above 5 %, in grams."""
CODES = {"DE": ("paper", "other_composites"), "FR": ("papier_carton", "papier_carton"), "GB": ("PC", "FC")}
"""What up to 5 % is counted as, and what more is (Article 3(1)(24): *no more than 5 %*)."""


@pytest.mark.parametrize(("code", "board", "coating"), LAYERS)
def test_a_coating_of_exactly_a_twentieth_makes_no_composite(caller, code, board, coating):
    layers = [part("body", "paper", board, "kraft"), part("coating", "plastic", coating, "PE")]
    units = [{"market": market, "year": 2025, "units_placed": 1_000_000} for market in ("DE", "FR")]
    halves = [{"market": "GB", "year": 2025, "half": half, "units_placed": 500_000} for half in (1, 2)]
    box = of(BOX, *layers, use_contexts=["household"])
    written(caller, [{**box, "sku_code": code, "name": code, "volumes": units + halves}])
    counted(caller)
    weighed(caller)
    for market, (within, beyond) in CODES.items():
        rows = caller.get(f"/figures/tonnes?market={market}&year=2025").json()["data"]
        of_year = {row["category_code"]: row["tonnes"] for row in rows if row["half"] == 0}
        assert of_year == {beyond if coating > 5 else within: 100}, market


LIMITS = [
    # market, units of 1 g, year, duty, its limit: verdict
    ("DE", 80_000_000, "completeness_declaration", 80, "above"),  # VerpackG 11(4): exempt below 80 000 kg of glass
    ("DE", 79_999_999, "completeness_declaration", 80, "near"),
    ("DE", 63_999_999, "completeness_declaration", 80, "below"),
    ("DE", 10_000_000, "simplified_declaration", 10, "above"),  # below 10 t
    ("DE", 9_999_999, "simplified_declaration", 10, "near"),
    ("DE", 0, "register", None, None),
    ("GB", 25_000_000, "small_producer", 25, "near"),  # more than 25 t
    ("GB", 25_000_001, "small_producer", 25, "undecidable"),  # and a turnover of more than 1 million
    ("GB", 50_000_000, "declare", 50, "near"),
]


def test_a_threshold_is_reached_exactly_where_its_words_say(caller):
    """A year for each case, from that of Germany's law on: of one market and duty no two are alike."""
    jar = {**JAR, "material": "glass", "weight_grams": 1, "markets": None}
    placed = [{"market": market, "units_placed": units} for market, units, *_ in LIMITS]
    written(caller, [{**jar, "sku_code": f"L{place}", "name": "Jar", "volumes": [row | {"year": 2026 + place}]}
                     for place, row in enumerate(placed)])  # fmt: skip
    counted(caller)
    weighed(caller)
    for place, (market, _, duty, limit, verdict) in enumerate(LIMITS):
        rows = caller.get(f"/figures/obligations?market={market}&year={2026 + place}").json()["data"]
        found = [row for row in rows if (row["obligation"], row["threshold_tonnes"]) == (duty, limit)]
        assert [row["verdict"] for row in found] == ([verdict] if verdict else []), LIMITS[place]


def test_germany_has_no_simplified_report_before_its_law(caller):
    """VerpackDG, section 9(2), is of 12 August 2026; the completeness declaration was in the VerpackG before it."""
    jar = {**JAR, "material": "glass", "weight_grams": 1, "markets": None, "sku_code": "DE-1", "name": "Jar"}
    units = [{"market": "DE", "year": year, "units_placed": 5_000_000} for year in (2025, 2026)]
    written(caller, [{**jar, "volumes": units}])
    counted(caller)
    weighed(caller)
    for year, duties in ((2025, {"completeness_declaration"}),
                         (2026, {"completeness_declaration", "simplified_declaration"})):  # fmt: skip
        rows = caller.get(f"/figures/obligations?market=DE&year={year}").json()["data"]
        assert {row["obligation"] for row in rows if row["verdict"] == "below"} == duties, year
