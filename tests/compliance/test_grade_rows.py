"""Grading many: the same grade as one by one, in the rows' order, out of the columns as they are stored."""

import json
import random

from compliance.grading import GRADED_INPUTS, explain, explain_row, grade, grade_rows, judged_rows
from compliance.ruleset import load

RULES = load()


def _records(count):
    chance = random.Random(11)
    for number in range(count):
        graph = [
            {
                "id": f"{number}-{place}",
                "component_type": kind,
                "material_family": "plastic",
                "polymer_or_grade": chance.choice(["PET", "HDPE", "PP", "PVC"]),
                "weight_g": chance.choice([0.5, 2, 30]),
                "colour": chance.choice(["natural", "dark"]),
            }
            for place, kind in enumerate(["body", "cap", "label"])
        ]
        yield {
            "material": chance.choice([None, "glass", "plastic"]),
            "material_subtype": chance.choice([None, "GL71", "PET"]),
            "packaging_format": chance.choice(["bottle", "tray", None]),
            "packaging_level": chance.choice(["sales", "transport", None]),
            "weight_grams": chance.choice([None, 0.0, 12.0, 13.5]),
            "use_contexts": chance.choice([None, [], ["food", "dangerous_goods"], ["pharmaceutical"]]),
            "svhc": chance.choice([None, {"status": "absent"}, {"status": "above_limit"}]),
            "components": chance.choice([[], graph]),
        }


def _rows(records):
    return [
        (
            *(record[name] for name in GRADED_INPUTS[:5]),
            None if record["use_contexts"] is None else "{" + ",".join(record["use_contexts"]) + "}",
            json.dumps(record["svhc"]) if record["svhc"] else None,
            json.dumps(record["components"]) if record["components"] else None,
        )
        for record in records
    ]


def test_many_are_graded_as_one_by_one_in_their_order():
    records = list(_records(400))
    one_by_one = [grade(record, RULES) for record in records]
    assert grade_rows(_rows(records), RULES) == [(g.grade, g.score, g.provisional) for g in one_by_one]
    assert len({g.grade for g in one_by_one}) > 3


def test_a_row_is_explained_as_its_record():
    records = list(_records(400))
    for record, row in zip(records, _rows(records), strict=True):
        assert explain_row(row, record, RULES, day=RULES) == explain(record, RULES)


def test_an_empty_graph_is_none():
    row = ("glass", "GL70", None, None, 200.0, None, None, "[]")
    assert grade_rows([row], RULES) == [("A", 100.0, False)]
    assert grade_rows([], RULES) == []


def test_stream_and_fired_rules_are_those_of_the_trace_that_none_overruled():
    records = list(_records(400))
    judged = judged_rows(_rows(records), RULES)
    assert [each.stream for each in judged] == [explain(record, RULES)["stream"] for record in records]
    of_traces = [
        sorted(
            {
                rule["rule_id"]
                for unit in explain(record, RULES)["units"]
                for part in unit["components"]
                for rule in part["rules"]
                if rule["verdict"] != "overruled"
            }
        )
        for record in records
    ]
    assert [list(each.rules) for each in judged] == of_traces
    assert len({rule for fired in of_traces for rule in fired}) > 20
