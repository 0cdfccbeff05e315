"""The file of the United Kingdom: the worked examples line by line, each published rule, and random portfolios."""

import json
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from compliance import catalogue
from compliance.declarations.uk.lines import DRINKS, UK_SKU_COLUMNS, Statements, lines_of
from compliance.declarations.uk.producer import FileRefused, Producer, submission
from compliance.declarations.uk.ratings import RATINGS
from compliance.declarations.uk.rows import packaging_file, summed
from compliance.declarations.uk.rules import hold
from compliance.declarations.uk.tables import columns
from compliance.ruleset import load
from tests.compliance.portfolios import frames, portfolios, rolled_up

EXAMPLES = json.loads((Path(__file__).parent / "data" / "uk_examples.json").read_text(encoding="utf-8"))


def filed(skus, *, year=2025, half=1, ram=(), drinks=(), **options):
    """The file of these SKUs, each rolled up as a block of its own."""
    producer = Producer(**{"organisation_id": "123456", **options})
    said = Statements(
        producer, year, half, pl.DataFrame(list(ram), schema=RATINGS),
        pl.DataFrame(list(drinks), schema=DRINKS, orient="row"),
    )  # fmt: skip
    blocks = (lines_of(portfolio([sku]), catalogue.pinned(), load(), said) for sku in skus)
    return packaging_file(summed(blocks), producer, submission(producer, year, half))


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
    file = filed(example["skus"], year=example["year"], half=example["half"] or 0, ram=example["ram"], **options)
    assert lines(file) == example["lines"]
    assert listed(file) == [tuple(entry.values()) for entry in example["uncounted"]]
    assert file.difference_kg == Decimal(str(example["difference_kg"]))


@pytest.mark.parametrize("example", [each for each in EXAMPLES if "refused" in each], ids=lambda each: each["why"])
def test_what_the_examples_refuse(example):
    with pytest.raises(FileRefused) as refused:
        filed(example["skus"], year=example["year"], half=example["half"] or 0, **example["options"])
    assert refused.value.numbers == [example["refused"]]


def row(**cells):
    good = {
        "packaging_type": "HH", "packaging_class": "P1", "packaging_material": "GL", "packaging_material_weight": "7",
        "ram_rag_rating": "G",
    }  # fmt: skip
    return dict.fromkeys(columns(), "") | good | cells


def refused(*rows, half=2, **options):
    producer = Producer(**{"organisation_id": "123456", **options})
    with pytest.raises(FileRefused) as found:
        hold(rows, producer, submission(producer, 2025, half))
    return found.value.numbers


@pytest.mark.parametrize(
    ("number", "cells"),
    [
        ("03", {"packaging_type": "CW", "ram_rag_rating": ""}),
        ("03", {"packaging_class": "P2", "ram_rag_rating": ""}),
        ("05", {"packaging_material": "XX"}),
        ("09", {"packaging_material_weight": "0"}), ("09", {"packaging_material_weight": "1,000"}),
        ("37", {"packaging_type": "HDC", "packaging_class": "", "packaging_material": "PC",
                "packaging_material_units": "5", "ram_rag_rating": ""}),
        ("38", {"packaging_type": "HDC", "packaging_class": ""}), ("39", {"packaging_material_units": "5"}),
        ("45", {"packaging_material": "OT"}), ("45", {"packaging_material": "OT", "packaging_material_subtype": "a,b"}),
        ("47", {"packaging_material_subtype": "Rigid"}),
        ("51", {"packaging_material": "OT", "packaging_material_subtype": "pet"}),
        ("100", {"ram_rag_rating": ""}), ("100", {"ram_rag_rating": "B"}), ("101", {"packaging_material": "PL"}),
        ("109", {"packaging_type": "NH"}), ("908", {"packaging_type": "NDC", "packaging_material_units": "5",
                                                    "ram_rag_rating": ""}),
    ],
)  # fmt: skip
def test_each_published_rule_refuses_its_row(number, cells):
    assert refused(row(**cells)) == [number]


def test_rules_of_small_organisations_and_marketplaces_and_of_the_whole_file():
    small = {"organisation_size": "S", "half": 0}
    sp = {"packaging_type": "SP", "ram_rag_rating": ""}
    assert refused(row(**sp, packaging_material="PL", packaging_material_subtype="Rigid"), **small) == ["105"]
    assert refused(row(**{**sp, "ram_rag_rating": "G"}), **small) == ["106"]
    assert refused(row(**sp, packaging_class="P5"), **small) == ["903"]
    assert refused(row(packaging_type="RU", ram_rag_rating=""), activity="OM") == ["23"]
    assert refused(row(), row()) == ["40"]
    assert refused() == ["82"]


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


LEVELS = ["sales", "grouped", "transport", "e_commerce", None]


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(portfolios(), st.data())
def test_the_file_and_its_difference_are_what_the_figures_count(skus, data):
    """Of a small organisation nothing is left out but what has no level, so that the sums can be compared."""
    levelled = [
        {**sku, "packaging_level": data.draw(st.sampled_from(LEVELS)),
         "volumes": [{"market": "GB", "year": 2025, "half": 0, "units_placed": data.draw(st.integers(0, 10**6))}]}
        for sku in skus
    ]  # fmt: skip
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
