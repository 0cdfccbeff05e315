"""Format bans: the worked examples in full, and what a flag says."""

import json
from pathlib import Path

import pytest

from compliance.annex_v import flags
from compliance.ruleset import load

RULES = load()
EXAMPLES = json.loads((Path(__file__).parent / "data" / "annex_v_examples.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["why"])
def test_a_worked_example_raises_the_flags_it_should(example):
    found = [{key: flag[key] for key in ("code", "certainty", "depends_on")} for flag in flags(example["sku"], RULES)]
    assert found == example["flags"]


def test_a_flag_says_from_when_why_and_on_what_it_depends():
    film = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "LDPE", "weight_g": 18}
    [flag] = flags({"packaging_level": "grouped", "packaging_format": "shrink wrap", "components": [film]}, RULES)
    assert flag["applies_from"] == "2030-01-01"
    assert flag["reference"] == "Art. 25(1); Annex V point 1"
    assert flag["reason"] == (
        "Single-use plastic grouped packaging at the point of sale, "
        "if: convenience grouping at point of sale, not necessary for handling"
    )


def test_layers_of_several_plastics_are_one_material_against_paper():
    def layer(kind, family, text, grams):
        return {"component_type": kind, "material_family": family, "polymer_or_grade": text, "weight_g": grams}

    graph = [
        layer("body", "paper", "PAP21", 5),
        layer("coating", "plastic", "LDPE", 3),
        layer("liner", "plastic", "PP", 3),
    ]
    bowl = {"packaging_level": "sales", "packaging_format": "bowl", "use_contexts": ["takeaway"], "components": graph}
    assert [flag["code"] for flag in flags(bowl, RULES)] == ["AV-3"]
    graph[2]["separable"] = True
    assert flags(bowl, RULES) == []
