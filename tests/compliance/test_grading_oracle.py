"""The kernel against the slow transcription of the algorithm, on random packs."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from compliance.grading import explain, grade
from compliance.grading.score import stored
from compliance.ruleset import load
from tests.compliance import oracle
from tests.compliance.records import RECORDS

RULES = load()
EXAMPLES = json.loads((Path(__file__).parent / "data" / "grading_examples.json").read_text(encoding="utf-8"))[
    "examples"
]


def _path(record, index, field):
    if index is None:
        return field
    if record.get("components"):
        return f"components[{index}].{field}"
    return {"polymer_or_grade": "material_subtype", "weight_g": "weight_grams"}[field]


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(record=RECORDS)
def test_the_kernel_agrees_with_the_slow_transcription(record):
    slow = oracle.grade(record)
    found = grade(record, RULES)
    assert found.grade == slow["grade"]
    assert found.score == (None if slow["score"] is None else stored(float(slow["score"])))
    trace = explain(record, RULES)
    for unit, (_, expected) in zip(trace["units"], slow["units"], strict=True):
        assert unit["grade"] == expected["grade"]
        fired = {rule["rule_id"] for part in unit["components"] for rule in part["rules"]}
        assert fired == expected.get("rules", set())
    assert {issue["field"] for issue in trace["missing"]} == {_path(record, *what) for what in slow["missing"]}
    assert found.provisional == trace["provisional"] == oracle.provisional(record)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["name"])
def test_the_slow_transcription_reproduces_the_worked_examples(example):
    level = {"tertiary": "transport"}.get(
        example["input"].get("packaging_level"), example["input"].get("packaging_level")
    )
    record = {**example["input"], "packaging_level": level}
    found, expected = oracle.grade(record), example["expected"]
    assert found["grade"] == expected["grade"]
    assert (None if found["score"] is None else stored(float(found["score"]))) == expected["score"]
    assert oracle.provisional(record) == expected["provisional"]
