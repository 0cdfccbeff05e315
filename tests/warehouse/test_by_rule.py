"""Items held against the minimum of recycled content: what is not known decides nothing."""

from types import SimpleNamespace

import polars as pl
import pytest

from compliance.ruleset import load
from warehouse.figures.by_rule import facts_of, hold_against_minimum
from warehouse.figures.source import COMPONENTS, SKUS

RULES = load()


@pytest.fixture
def judged(tmp_path):
    """State and facts of one SKU with these parts: type, family, text, grams, recycled percent."""

    def judge(*parts, **sku):
        named = ("component_type", "material_family", "polymer_or_grade", "weight_g", "recycled_content_percent")
        rows = [
            {"sku_code": "A", "position": place, **dict(zip(named, part, strict=True))}
            for place, part in enumerate(parts)
        ]
        record = {"sku_code": "A", "name": "A", "food_contact": False, "use_contexts": [], **sku}
        files = {"skus": [record], "components": rows}
        schemas = {"skus": SKUS, "components": COMPONENTS}
        for name, found in files.items():
            pl.DataFrame(found, schemas[name]).write_parquet(tmp_path / name)
        held, plastics = hold_against_minimum(
            SimpleNamespace(skus=[tmp_path / "skus"], components=[tmp_path / "components"]), RULES
        )
        if held.is_empty():
            return None, []
        row = held.row(0, named=True)
        return row["state"], facts_of(row, plastics.to_dicts())["facts_missing"]

    return judge


def test_a_part_that_may_be_below_a_twentieth_is_not_below_the_minimum_for_certain(judged):
    """Article 7(5)(b): a window without recycled content in a box whose board has no weight was *below*."""
    window = ("liner", "plastic", "PET", 2, 0)
    assert judged(("body", "paper", "PAP21", None, None), window) == ("undecided", ["components[0].weight_g"])
    assert judged(("body", "paper", "PAP21", 38, None), window) == ("below", [])
    assert judged(("body", "paper", "PAP21", 38.1, None), window) == (None, [])
    assert judged(("body", "paper", "PAP21", None, None), ("liner", "plastic", "PET", 2, 35))[0] == "meets"
    assert judged(("body", "plastic", "PP", None, 0), ("cap", "plastic", "PP", 2, 34.9))[0] == "below"


def test_a_plastic_that_nobody_names_is_neither_pet_nor_other(judged):
    """Article 7(1)(a) and (b): 20 % are enough of another plastic, and too little of PET."""
    for text in (None, "plastic", "Qwertz 7"):
        found = judged(("body", "plastic", text, 10, 20), food_contact=True)
        assert found == ("undecided", ["components[0].polymer_or_grade"]), text
    assert judged(("body", "plastic", "PP", 10, 20), food_contact=True) == ("meets", [])
    assert judged(("body", "plastic", "rPET", 10, 20), food_contact=True) == ("below", [])


def test_a_coating_of_plastic_is_a_plastic_part(judged):
    assert judged(("body", "paper", "PAP21", 9, None), ("coating", "plastic", "LDPE", 1, 0)) == ("below", [])
    assert judged(("body", "paper", "PAP21", 9, None), ("varnish", "plastic", "PP", 1, 0)) == (None, [])


@pytest.mark.parametrize(("family", "text"), [("composite", None), ("composite", "C/PAP 81"), ("other", "Qwertz 7")])
def test_what_may_be_plastic_is_to_decide(judged, family, text):
    state, missing = judged(("body", family, text, 10, None))
    assert (state, len(missing)) == ("to_decide", 1)
    assert judged(material=family, material_subtype=text)[0] == "to_decide"


def test_what_nobody_says_the_material_of_is_to_decide_and_wax_is_no_plastic(judged):
    assert judged()[0] == "to_decide"
    assert judged(("body", "other", "ceramic", 10, None)) == (None, [])


def test_transport_of_dangerous_goods_is_exempt_as_in_the_averages(judged):
    """Article 7(4)(f): the averages listed it as exempt, and the rule asked whether an exemption applies."""
    drum = ("body", "plastic", "HDPE", 900, 0)
    assert judged(drum, use_contexts=["dangerous_goods"], packaging_level="transport") == (None, [])
    assert judged(drum, use_contexts=["dangerous_goods"], packaging_level="sales")[0] == "to_decide"
