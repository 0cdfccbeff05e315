"""The file of the United Kingdom: the worked examples line by line, and random portfolios.

The regulator's rules themselves are `test_uk_rules`.
"""

import json
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, reject
from hypothesis import strategies as st

from compliance import catalogue
from compliance.filings.uk.rows import (
    DRINKS,
    RATINGS,
    UK_SKU_COLUMNS,
    Producer,
    Statements,
    lines_of,
    packaging_file,
    submission,
    sum_blocks,
)
from compliance.filings.uk.rules import FileRefused
from compliance.ruleset import load
from tests.compliance import uk_oracle
from tests.compliance.portfolios import frames, portfolios, rolled_up
from tests.drawing import examples

EXAMPLES = json.loads((Path(__file__).parent / "data" / "uk_examples.json").read_text(encoding="utf-8"))


def filed(skus, *, year=2025, half=1, ram=(), drinks=(), **options):
    """The file of these SKUs, rolled up in two blocks, as those of a large portfolio are in many."""
    producer = Producer(**{"organisation_id": "123456", **options})
    said = Statements(
        producer,
        year,
        half,
        pl.DataFrame(list(ram), schema=RATINGS),
        pl.DataFrame(list(drinks), schema=DRINKS, orient="row"),
    )
    blocks = [block for block in (skus[::2], skus[1::2]) if block]
    counted = (lines_of(portfolio(block), catalogue.pinned(), load(), said) for block in blocks)
    return packaging_file(sum_blocks(counted), producer, submission(producer, year, half))


def portfolio(skus):
    facts = [{name: sku.get(name) for name in UK_SKU_COLUMNS} for sku in skus]
    return frames(skus)._replace(skus=pl.DataFrame(facts, schema=UK_SKU_COLUMNS))


def lines(file):
    return [",".join(row.values()) for row in file.rows]


def listed(file):
    return [tuple(row) for row in file.uncounted.select("sku_code", "units", "reason", "fields").rows()]


@pytest.mark.parametrize("example", [each for each in EXAMPLES if "lines" in each], ids=lambda each: each["why"])
def test_worked_examples(example):
    options = {("household_type" if name == "type" else name): value for name, value in example["options"].items()}
    said = {
        "ram": example["ram"],
        "drinks": [(each["sku_code"], each["drinks_container"] == "Y") for each in example.get("drinks", ())],
    }
    file = filed(example["skus"], year=example["year"], half=example["half"] or 0, **said, **options)
    assert lines(file) == example["lines"]
    assert listed(file) == [tuple(entry.values()) for entry in example["uncounted"]]
    assert file.difference_kg == Decimal(str(example["difference_kg"]))


@pytest.mark.parametrize("example", [each for each in EXAMPLES if "refused" in each], ids=lambda each: each["why"])
def test_what_the_examples_refuse(example):
    with pytest.raises(FileRefused) as refused:
        filed(example["skus"], year=example["year"], half=example["half"] or 0, **example["options"])
    assert refused.value.numbers == [example["refused"]]


def test_reusable_packaging_has_no_place_on_a_marketplace_and_ndc_neither():
    keg = {"sku_code": "KEG", "packaging_level": "sales", "packaging_format": "drum", "reusable": True}
    with pytest.raises(FileRefused, match=r"82: .* Not counted: KEG \(reusable_with_om\)"):
        filed([made(keg, "metal", "steel")], activity="OM")
    can = {"sku_code": "CAN", "packaging_level": "sales", "packaging_format": "can", "use_contexts": ["beverage"]}
    sold = {"skus": [made(can, "metal", "aluminium")], "drinks": [("CAN", True)], "activity": "OM"}
    assert lines(filed(**sold)) == ["123456,,L,2025-H1,OM,HDC,,AL,,,,20,1000,,"]
    with pytest.raises(FileRefused, match=" 23: "):
        filed(**sold, household_type="NH")


def test_a_file_of_nothing_that_is_rated_is_refused_with_the_reason_and_what_was_left_out():
    jar = {"sku_code": "JAR", "packaging_level": "sales", "packaging_format": "jar", "volumes": placed(half=2)}
    with pytest.raises(FileRefused, match=r"82: .* Not counted: JAR \(rating_missing\)\.") as refused:
        filed([{**jar, "components": [part("body", "glass", "glass", 200)]}], half=2)
    assert refused.value.uncounted is not None
    assert refused.value.uncounted["reason"].to_list() == ["rating_missing"]


def test_a_body_takes_the_first_rating_that_one_of_its_layers_has():
    cup = {"sku_code": "CUP", "packaging_level": "sales", "packaging_format": "cup"}
    graph = [part("coating", "plastic", "LDPE", 2), part("body", "paper", "PAP21", 18)]
    sku = {**cup, "components": graph, "volumes": placed(half=2)}
    rated = [{"sku_code": "CUP", "component_type": "body", "rating": "R-M"}]
    assert lines(filed([sku], half=2, ram=rated)) == ["123456,,L,2025-H2,SO,HH,P1,FC,,,,20,,,R-M"]
    first = [*rated, {"sku_code": "CUP", "component_type": "coating", "rating": "A"}]
    assert lines(filed([sku], half=2, ram=first)) == ["123456,,L,2025-H2,SO,HH,P1,FC,,,,20,,,A"]
    other = {"sku_code": "JAR", "packaging_level": "sales", "packaging_format": "jar", "volumes": placed(half=2)}
    jar = {**other, "components": [part("body", "glass", "glass", 5)]}
    file = filed([sku, jar], half=2, ram=[{"sku_code": "JAR", "component_type": "body", "rating": "G"}])
    assert listed(file) == [("CUP", 1000, "rating_missing", ["ram:body"])]


def test_a_reusable_bottle_of_a_large_organisation_is_never_a_drinks_container_and_not_asked():
    facts = {"packaging_level": "sales", "packaging_format": "bottle", "use_contexts": ["beverage"], "reusable": True}
    bottle = made({"sku_code": "KEG", **facts}, "glass", "glass")
    assert lines(filed([bottle])) == ["123456,,L,2025-H1,SO,RU,P1,GL,,,,20,,,"]
    assert lines(filed([bottle], drinks=[("KEG", True)])) == ["123456,,L,2025-H1,SO,RU,P1,GL,,,,20,,,"]
    year = {"half": 0, "organisation_size": "S"}
    yearly = {**bottle, "volumes": placed(half=0)}
    assert lines(filed([yearly], drinks=[("KEG", True)], **year)) == ["123456,,S,2025-P0,SO,HDC,,GL,,,,20,1000,,"]
    with pytest.raises(FileRefused, match="drinks_container_undecided"):
        filed([yearly], **year)


def test_a_marketplace_rates_and_names_shapes_where_it_can_and_is_asked_for_neither():
    level = {"packaging_level": "sales", "volumes": placed(half=2)}
    tub = {"sku_code": "TUB", "packaging_format": "tub", **level, "components": [part("body", "plastic", "PP", 20)]}
    odd = {"sku_code": "ODD", **level, "components": [part("body", "plastic", "PP", 3)]}
    rated = [{"sku_code": "TUB", "component_type": "body", "rating": "A"}]
    assert lines(filed([tub, odd], half=2, activity="OM", ram=rated)) == [
        "123456,,L,2025-H2,OM,HH,P6,PL,,,,3,,,",
        "123456,,L,2025-H2,OM,HH,P6,PL,Rigid,,,20,,,A",
    ]
    with pytest.raises(FileRefused, match="plastic_shape_missing"):
        filed([odd], half=2, ram=rated)


ANY_LEVEL = st.sampled_from(["sales", "grouped", "transport", "e_commerce", None])
ANY_USES = st.sampled_from([None, [], ["beverage"], ["food"]])
UNITS = st.integers(0, 10**6)
PERIODS = [(2025, 1), (2025, 2), (2026, 1), (2027, 2)]


@st.composite
def statements(draw):
    """What a producer may say: itself, a period, ratings and drinks containers of whatever SKUs."""
    size = draw(st.sampled_from("LS"))
    year, half = draw(st.sampled_from(PERIODS)) if size == "L" else (draw(st.sampled_from([2024, 2025, 2026])), 0)
    codes = st.sampled_from([f"SKU-{number}" for number in range(10)])
    drinks = draw(st.dictionaries(codes, st.booleans()))
    kinds = st.sampled_from(["body", "coating", "label", "cap", "seal"])
    ram = draw(st.dictionaries(st.tuples(codes, kinds), st.sampled_from(uk_oracle.RATINGS)))
    return {
        "year": year,
        "half": half,
        "organisation_size": size,
        "activity": draw(st.sampled_from([*uk_oracle.ACTIVITIES, "OM", "OM"])),
        "household_type": draw(st.sampled_from(["HH", "NH"])),
        "drinks": list(drinks.items()),
        "ram": [{"sku_code": sku, "component_type": kind, "rating": each} for (sku, kind), each in ram.items()],
    }


def not_for_a_marketplace(said):
    """Drinks containers that are not household packaging have no place on a marketplace: refused as 23."""
    return said["organisation_size"] == "L" and said["activity"] == "OM" and said["household_type"] == "NH"


@pytest.mark.long
@examples(60, suppress_health_check=list(HealthCheck))
@given(portfolios(), statements(), st.data())
def test_no_row_that_the_regulator_refuses_is_written_and_nothing_else_refuses_a_file(skus, said, data):
    """Rows are judged by the transcription of the published rules. What is left out of a file is listed."""
    told = [
        {
            **sku,
            "packaging_level": data.draw(ANY_LEVEL),
            "use_contexts": data.draw(ANY_USES),
            "volumes": [{"market": "GB", "year": said["year"], "half": said["half"], "units_placed": data.draw(UNITS)}],
        }
        for sku in skus
    ]
    refused = None
    try:
        file = filed(told, **said)
    except FileRefused as refusal:
        refused = refusal.numbers
    if refused:
        assert refused == ["82"] or (refused == ["23"] and not_for_a_marketplace(said))
        return
    assert [(row, uk_oracle.codes(row)) for row in file.rows if uk_oracle.codes(row)] == []
    reasons = {reason for _, _, reason, _ in listed(file)}
    large_only = {"rating_missing", "plastic_shape_missing", "reusable_with_om"}
    assert said["organisation_size"] == "L" or not reasons & large_only
    assert said["activity"] != "OM" or "plastic_shape_missing" not in reasons


@pytest.mark.long
@examples(40, suppress_health_check=list(HealthCheck))
@given(portfolios(), st.data())
def test_the_file_and_its_difference_are_what_the_figures_count(skus, data):
    """Of a small organisation nothing is left out but what has no level, so that the sums can be compared."""
    levelled = [
        {
            **sku,
            "packaging_level": data.draw(ANY_LEVEL),
            "use_contexts": None,
            "volumes": [{"market": "GB", "year": 2025, "half": 0, "units_placed": data.draw(UNITS)}],
        }
        for sku in skus
    ]
    counted = rolled_up([sku for sku in levelled if sku["packaging_level"]]).tonnes
    exact = sum(counted["grams"], Decimal(0)) / 1000
    try:
        file = filed(levelled, half=0, organisation_size="S")
    except FileRefused:
        reject()  # less than half a kilogram of everything: a file without rows
    weights = [Decimal(each["packaging_material_weight"]) for each in file.rows]
    assert sum(weights) + file.difference_kg == exact
    unlevelled = {code for code, _, reason, _ in listed(file) if reason == "packaging_level_missing"}
    assert unlevelled == {
        sku["sku_code"] for sku in levelled if not sku["packaging_level"] and sku["volumes"][0]["units_placed"]
    }


def placed(*, half=1):
    return [{"market": "GB", "year": 2025, "half": half, "units_placed": 1000}]


def part(kind, family, text, grams):
    return {"component_type": kind, "material_family": family, "polymer_or_grade": text, "weight_g": grams}


def made(facts, family, text):
    return {**facts, "components": [part("body", family, text, 20)], "volumes": placed()}
