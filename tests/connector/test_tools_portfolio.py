"""Overview, readiness and gaps, bulk checks, facts and statements, as an assistant reads them."""

from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

import pytest

from compliance.readiness import findings
from compliance.statements.answers import vocabulary
from connector.tools import figures
from connector.tools.kit import SHORT
from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_volumes
from services.skus.write import write_volumes
from services.statements import NOT_UNDERSTOOD
from tests.api.portfolios import weigh
from tests.connector.assistants import Assistant
from warehouse.figures.snapshots import publish

pytestmark = pytest.mark.anyio

COMPONENTS = [{"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20}]


def published(assistant: Assistant) -> None:
    service = assistant.service
    publish(service.writes, assistant.company, service.settings.data_dir, service.clock.now(), service.rulesets)


async def test_the_portfolio_is_told_from_the_snapshot_and_says_when_newer_writes_exist(assistant: Assistant):
    made = assistant.made(components=COMPONENTS, markets=["FR"], food_contact=True)
    published(assistant)
    overview = (await assistant.call("compliance_overview")).told
    assert overview["answer"]["skus"] == 1
    assert overview["newer_writes"] == 0
    assert overview["as_of"] == "2026-11-21T09:30:00Z"
    assert [entry["code"] for entry in overview["answer"]["jurisdictions"]] == ["FR"]
    market = (await assistant.call("check_market_readiness", market="fr")).told["answer"]
    assert (market["market"], market["skus"]) == ("FR", 1)
    missing = (await assistant.call("check_missing_data", sku_code=made.sku_code)).told["answer"]
    assert [item["sku_code"] for item in missing["items"]] == [made.sku_code]
    assert "doc_missing" in {gap["code"] for gap in missing["items"][0]["gaps"]}
    item = (await assistant.call("get_packaging_item", sku_code=made.sku_code)).told["item"]
    trace = item["compliance"]["grade_trace"]
    assert {name: missing["items"][0][name] for name in ("missing", "open")} == {
        name: trace[name] for name in ("missing", "open")
    }
    assistant.made()
    later = (await assistant.call("compliance_overview")).told
    assert later["newer_writes"] == 1
    assert later["next_step"].startswith("Newer writes than this snapshot: 1")


async def test_without_a_snapshot_the_tool_says_so_and_another_companys_item_is_none(
    assistant: Assistant, assistants: Callable[[], Assistant]
):
    other = assistants()
    theirs = other.made(markets=["FR"])
    published(other)
    for tool in ("compliance_overview", "check_missing_data"):
        assert (await assistant.call(tool)).refused
    published(assistant)
    assert (await assistant.call("compliance_overview")).told["answer"]["skus"] == 0
    for named in ({"id": theirs.id}, {"sku_code": theirs.sku_code}):
        answer = await assistant.call("check_missing_data", **named)
        assert answer.refused
        assert "not_found" in answer.text
    answer = await assistant.call("check_market_readiness", market="'; DROP TABLE skus")
    assert answer.refused


async def test_the_overview_says_how_many_more_items_the_plan_allows(assistant: Assistant, new_company):
    starter = replace(assistant, who=replace(assistant.who, company_id=new_company("starter")))
    starter.made()
    published(starter)
    told = (await starter.call("compliance_overview")).told["answer"]
    assert told["plan"] == {"sku_limit": 100, "skus_held": 1, "skus_left": 99}


async def test_rows_are_checked_as_an_import_would_and_nothing_is_created(assistant: Assistant):
    held = assistant.made(material="glass", weight_grams=10)
    rows = [
        {"sku_code": held.sku_code, "name": "Bottle", "weight_grams": 12},
        {"sku_code": "N-1", "name": "New", "markets": ["FR", "DE"]},
        {"sku_code": "N-2", "name": "Bad", "gtin": "123"},
    ]
    told = (await assistant.call("check_bulk_import", rows=rows)).told["import"]
    assert told["counts"] == {"total": 3, "created": 1, "updated": 1, "unchanged": 0, "rejected": 1}
    [fault] = told["errors"]
    assert (fault["line"], fault["field"], fault["code"]) == (4, "gtin", "invalid_gtin")
    text = "Artikelnummer;Bezeichnung;Verpackungsgewicht (g)\nN-1;Glas;12,5\n"
    assert (await assistant.call("check_bulk_import", csv=text)).told["import"]["counts"]["created"] == 1
    assert (await assistant.call("list_packaging_items")).told["page"]["total"] == 1


async def test_what_a_table_asks_is_said_and_answered_by_a_mapping(assistant: Assistant):
    text = "SKU;Name;Weight\nN-1;Jar;180\n"
    answer = await assistant.call("check_bulk_import", csv=text)
    [asked] = answer.told["import"]["source"]["asked"]
    assert "1 question is open" in answer.told["next_step"]
    settled = (await assistant.call("check_bulk_import", csv=text, mapping=asked["answer"])).told
    assert settled["import"]["source"]["asked"] == []
    assert "questions" not in settled["next_step"]
    assert (await assistant.call("check_bulk_import", import_id="latest", mapping=asked["answer"])).refused


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"csv": "a,b\n1,2\n", "rows": []},
        {"csv": "nothing"},
        {"rows": [{"sku_code": {"a": 1}, "name": "x"}]},
        {"import_id": str(uuid4())},
        {"import_id": "x"},
    ],
)
async def test_a_bulk_check_that_cannot_be_answered_says_what_would_be_right(assistant: Assistant, arguments: dict):
    answer = await assistant.call("check_bulk_import", **arguments)
    assert answer.refused
    assert answer.text.endswith((".", ". "))


async def test_statements_are_judged_with_their_sources(assistant: Assistant):
    right = await assistant.call(
        "check_regulation_statement", statement="Klasse A erfordert mindestens 95 %.", lang="de"
    )
    assert right.told["verdict"] == "supported"
    assert "Annex II" in right.told["entries"][0]["source"]
    assert right.told["provisions"][0]["article"] == "Annex II, Table 3"
    assert right.told["read_as"].startswith("Grade a; ")
    wrong = await assistant.call("check_pricing_statement", statement="The Starter plan holds up to 1,000 SKUs.")
    assert wrong.told["verdict"] == "contradicted"
    unknown = await assistant.call("check_pricing_statement", statement="The Growth plan costs 99 euros a month.")
    assert (unknown.told["verdict"], unknown.told["entries"]) == ("not_covered", [])
    strange = await assistant.call(
        "check_regulation_statement", statement="Packaging shimmers Ada-Lovelace recyclable."
    )
    assert strange.told["not_understood"] == ["shimmers", "ada", "lovelace"]
    assert len(strange.told["provisions"]) == 3
    counted = {sample.labels["word"] for metric in NOT_UNDERSTOOD.collect() for sample in metric.samples}
    assert counted <= vocabulary("regulation") | vocabulary("service") | {"other"}
    assert "other" in counted
    facts = (await assistant.call("get_product_facts", limit=200)).told
    assert facts["page"]["total"] == len(facts["facts"])


async def test_a_claim_is_judged_in_place_of_the_words(assistant: Assistant):
    """Decisions §13: `claim` is optional; what stands in it is judged, and told as the sentence that was judged."""
    said = {"about": ["shipping carton", "reusable"], "demand": "oblige", "figure": "40 %", "when": "from:2030"}
    told = (await assistant.call("check_regulation_statement", statement="Cartons must be reused.", claim=said)).told
    assert told["verdict"] == "contradicted"
    assert told["read_as"] == "Shipping carton, reusable; is required, 40 %, from 2030."
    assert any("Cardboard" in exception["sentence"] for exception in told["exceptions"])
    for refused in ({"figure": "5 bananas"}, {"when": "from:2030-13"}, {"when": "soon"}, {"demand": "wish"}):
        answer = await assistant.call("check_regulation_statement", statement="Cartons.", claim={**said, **refused})
        assert answer.refused, refused
        assert "invalid_body: " in answer.text, refused


async def test_a_market_is_told_with_its_tonnes_thresholds_and_what_is_missing(assistant: Assistant):
    can = assistant.made(
        packaging_level="sales",
        packaging_format="can",
        use_contexts=["beverage"],
        markets=["DE"],
        components=[{**COMPONENTS[0], "material_family": "metal", "polymer_or_grade": "aluminium", "weight_g": 14}],
    )
    rows = [{"market": "DE", "year": 2025, "units_placed": 2_500_000}]
    service, origin = assistant.service, Origin("operator", "test", "test", str(uuid4()))
    with service.writes.company(assistant.company) as conn:
        write_volumes(
            conn,
            Actor(assistant.company, origin, service.clock.now()),
            can.sku_code,
            parse_volumes(rows),
            rulesets=service.rulesets,
            dry_run=False,
        )
    published(assistant)
    told = (await assistant.call("check_market_readiness", market="DE")).told["answer"]
    assert "figures" not in told
    assert (told["coverage"]["deposit"], told["coverage"]["confidence"]) == ("N", "official_page")
    assert (told["registers"]["is"], "LUCID" in told["registers"]["register"]) == ("undecided", True)
    assert {"seat", "sells_directly_abroad"} <= set(told["registers"]["depends_on"])
    assert told["marks"]["not_recorded"] == {"items": 1}
    assert told["marks"]["change_by"] == "2027-02-12"
    item = (await assistant.call("get_packaging_item", sku_code=can.sku_code)).told["item"]
    assert (item["marks"]["is"], "Which marks" in item["marks"]["asks"][0]) == ("not_recorded", True)
    need = told["authorised_representative"]
    assert (need["required"], [question["field"] for question in need["asks"]]) == (
        "depends",
        ["seat", "sells_directly_abroad"],
    )
    weigh(service.writes, service.rulesets, service.settings.data_dir, assistant.company)
    told = (await assistant.call("check_market_readiness", market="DE")).told["answer"]["figures"]
    [aluminium] = told["tonnes"]
    assert (aluminium["tonnes"], aluminium["undecided_tonnes"], aluminium["confidence"]) == (35, 35, "official_page")
    light = next(row for row in told["obligations"] if row["material"].startswith("plastics"))
    assert (light["verdict"], light["fields"]) == ("undecidable", ["reuse_deposit_system"])
    assert [row["sku_code"] for row in told["scope_missing_first"]] == [can.sku_code]
    for tool in ("check_market_readiness", "get_market_figures"):  # a part of a country, as writes keep it
        of_part, of_country = [(await assistant.call(tool, market=code)).told for code in ("DE-BY", "DE")]
        assert of_part["answer"] == of_country["answer"]
    placed, nothing = [
        (await assistant.call("get_market_figures", market="DE", year=year)).told for year in (told["year"], 2040)
    ]
    assert (placed["answer"]["total_tonnes"] > 0, "rather than 0 tonnes" in placed["next_step"]) == (True, False)
    assert (nothing["answer"]["total_tonnes"], "rather than 0 tonnes" in nothing["next_step"]) == (0, True)


def _plastic(code: str, grams: float | None, share: float | None, *, kind: str = "body") -> dict[str, object]:
    part = {"component_type": kind, "material_family": "plastic", "polymer_or_grade": code, "weight_g": grams}
    return part if share is None else {**part, "recycled_content_percent": share}


async def test_a_part_without_a_value_leaves_open_only_what_it_could_change(assistant: Assistant):
    """decisions §13: caps have no value, and no item met or missed the minimum; weights were named that are there."""
    food = {"food_contact": True, "use_contexts": ["food"]}
    assistant.made(sku_code="MEETS", components=[_plastic("PET", 90, 100), _plastic("PP", 5, None, kind="cap")], **food)
    assistant.made(sku_code="BELOW", components=[_plastic("PET", 90, 0), _plastic("PP", 5, None, kind="cap")], **food)
    assistant.made(sku_code="OPEN", components=[_plastic("PET", 50, 20), _plastic("PP", 45, None, kind="cap")], **food)
    assistant.made(
        sku_code="UNWEIGHED", components=[_plastic("PP", None, 8), _plastic("PP", 5, 12, kind="cap")], **food
    )
    assistant.made(
        sku_code="MAYBE-PET", components=[_plastic("PET", None, 20), _plastic("PP", 5, 20, kind="cap")], **food
    )
    assistant.made(sku_code="ALONE", material="plastic", material_subtype="PP", recycled_content_percent=12, **food)
    published(assistant)
    told = (await assistant.call("check_items_against_rule", rule="recycled_content_2030")).told["answer"]
    assert told["counts"] == {"below": 1, "undecided": 3, "to_decide": 0, "meets": 2}
    items = {item["sku_code"]: item for item in told["items"]}
    assert {code: item["state"] for code, item in items.items()} == {
        "MEETS": "meets",
        "BELOW": "below",
        "OPEN": "undecided",
        "UNWEIGHED": "undecided",
        "MAYBE-PET": "undecided",
        "ALONE": "meets",
    }
    assert items["OPEN"]["facts_missing"] == ["components[1].recycled_content_percent"]
    assert items["UNWEIGHED"]["facts_missing"] == ["components[0].weight_g"]
    assert items["UNWEIGHED"]["recycled_plastic_between"] == [8, 12]
    assert items["MAYBE-PET"]["facts_missing"] == ["components[0].weight_g"]
    assert items["MEETS"]["minimum_rule"] == "rc_pet_contact_2030"
    assert "facts_missing" not in items["MEETS"]
    for state, number in told["counts"].items():
        page = (await assistant.call("check_items_against_rule", rule="recycled_content_2030", state=state)).told
        assert (page["answer"]["page"]["total"], len(page["answer"]["items"])) == (number, number)


async def test_the_cap_of_a_glass_bottle_is_no_plastic_bottle(assistant: Assistant):
    """Article 7(1)(b), not (c): Directive (EU) 2019/904 excepts glass bottles with plastic caps. And 7(5)(b)."""
    drink = {"use_contexts": ["beverage"], "food_contact": True, "packaging_format": "bottle", "reusable": False}
    for code, family, cap in (("GLASS", "glass", 40), ("PLASTIC", "plastic", 40), ("MIXED", "composite", 40)):
        body = {"component_type": "body", "material_family": family, "polymer_or_grade": "PP", "weight_g": 300}
        body |= {"recycled_content_percent": 30}
        parts = [body, _plastic("PP", cap, 12, kind="cap")]
        assistant.made(sku_code=code, components=parts, **drink)
    light = [{"component_type": "body", "material_family": "glass", "weight_g": 300}, _plastic("PP", 3, 0, kind="cap")]
    assistant.made(sku_code="LIGHT", components=light, **drink)
    published(assistant)
    told = (await assistant.call("check_items_against_rule", rule="recycled_content_2030")).told["answer"]
    rules = {item["sku_code"]: (item["state"], item.get("minimum_rule")) for item in told["items"]}
    assert rules == {
        "GLASS": ("meets", "rc_other_contact_2030"),
        "PLASTIC": ("below", "rc_sup_bottle_2030"),
        "MIXED": ("to_decide", None),
    }


async def test_what_may_be_compostable_or_no_plastic_is_asked_and_never_below(assistant: Assistant):
    """Article 7(4)(e) exempts compostable plastic; bio-based plastics are plastics (Article 3(1)(53))."""
    food = {"food_contact": True, "use_contexts": ["food"], "packaging_format": "tray"}
    for code, family, text in (("PLA", "plastic", "PLA"), ("PLA-BIO", "bio_based", "PLA"), ("BIO", "bio_based", None),
                               ("BIO-PE", "bio_based", "HDPE"), ("PULP", "bio_based", "moulded pulp")):  # fmt: skip
        body = _plastic("PP", 9, 0) | {"material_family": family, "polymer_or_grade": text}
        assistant.made(sku_code=code, components=[body], **food)
    jar = {"component_type": "body", "material_family": "glass", "weight_g": 30.97}  # with its cap 32.6 g, 1.63 are 5 %
    assistant.made(sku_code="FIVE", components=[jar, _plastic("PP", 1.63, 0, kind="cap")], **food)
    bag = food | {"packaging_format": "tea bag"}
    assistant.made(sku_code="TEA", material="plastic", material_subtype="PP", recycled_content_percent=0, **bag)
    published(assistant)
    told = (await assistant.call("check_items_against_rule", rule="recycled_content_2030")).told["answer"]
    states = {item["sku_code"]: (item["state"], item.get("facts_missing", [""])[0][:18]) for item in told["items"]}
    compost, kind = "whether it is comp", "what it is made of"
    assert states == {
        "BIO-PE": ("below", ""), "FIVE": ("below", ""), "PLA": ("to_decide", compost),
        "PLA-BIO": ("to_decide", compost), "BIO": ("to_decide", kind), "TEA": ("to_decide", compost)}  # fmt: skip


async def test_the_longest_answer_on_a_market_is_short_and_says_what_it_left_off(
    assistant: Assistant, monkeypatch: pytest.MonkeyPatch
):
    """Every finding of the table, with codes of the longest kind, and a full table of tonnes and of thresholds."""
    assistant.made(components=COMPONENTS, markets=["DE"])
    published(assistant)
    real = figures.market_figures.readiness
    codes = [f"{'X' * 55}-{number:03}" for number in range(10)]
    tonnes = {"category_code": "plastics", "category_name": "Plastics", "tonnes": 12.5, "units": 9, "skus": 3}
    duty = {"year": 2026, "material": "plastics", "threshold": "80 t", "verdict": "below", "fields": ["material"] * 3}

    def everything(*given: object) -> dict[str, object]:
        rows = [
            {**finding.as_dict(), "kind": finding.kind, "skus": number + 1, "units": 5, "examples": codes}
            for number, finding in enumerate(findings())
        ]
        found = real(*given)
        by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in ("blocks", "decide", "missing")}
        return {
            **found,
            **by_kind,
            "figures": {
                "year": 2026,
                "tonnes": [tonnes] * 14,
                "obligations": [duty] * 11 + [{**duty, "verdict": "above"}],
                "scope_missing_first": [{"sku_code": code, "fields": ["reusable"]} for code in codes],
            },
        }

    monkeypatch.setattr(figures.market_figures, "readiness", everything)
    answer = await assistant.call("check_market_readiness", market="DE")
    told = answer.told["answer"]
    assert len(answer.text) <= SHORT
    assert told["left_off"].keys() == {"tonnes", "obligations", "scope_missing_first", "missing"}
    assert told["left_off"]["tonnes"] + len(told["figures"]["tonnes"]) == 14
    assert told["figures"]["obligations"][0]["verdict"] == "above"
    assert [row["skus"] for row in told["missing"]] == sorted((row["skus"] for row in told["missing"]), reverse=True)
    assert len(told["blocks"]) == sum(finding.kind == "blocks" for finding in findings())
    assert "get_market_figures" in answer.told["next_step"]
