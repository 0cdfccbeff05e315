"""Grading many: the same grade as one by one, in the rows' order, with the columns as they are stored."""

import json
import random

import polars as pl

from compliance.grading import grade, grade_frame
from compliance.ruleset import load

RULES = load()
COLUMNS = {
    "material": pl.String, "material_subtype": pl.String, "packaging_format": pl.String, "packaging_level": pl.String,
    "weight_grams": pl.Float64, "use_contexts": pl.String, "svhc": pl.String, "components": pl.String,
}  # fmt: skip


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


def _frame(records):
    rows = [
        {
            **record,
            "use_contexts": None if record["use_contexts"] is None else "{" + ",".join(record["use_contexts"]) + "}",
            "svhc": json.dumps(record["svhc"]) if record["svhc"] else None,
            "components": json.dumps(record["components"]) if record["components"] else None,
        }
        for record in records
    ]
    return pl.DataFrame(rows, schema=COLUMNS)


def test_a_frame_is_graded_as_its_rows_one_by_one_in_their_order():
    records = list(_records(400))
    found = grade_frame(_frame(records), RULES)
    one_by_one = [grade(record, RULES) for record in records]
    assert found.columns == ["recyclability_grade", "recyclability_score", "grade_provisional"]
    assert found.rows() == [(g.grade, g.score, g.provisional) for g in one_by_one]
    assert len({g.grade for g in one_by_one}) > 3


def test_a_frame_without_rows_has_the_columns_and_types():
    found = grade_frame(pl.DataFrame(schema=COLUMNS), RULES)
    assert dict(found.schema) == {
        "recyclability_grade": pl.String, "recyclability_score": pl.Float64, "grade_provisional": pl.Boolean,
    }  # fmt: skip


def test_an_empty_graph_is_none_and_further_columns_do_not_matter():
    record = {"material": "glass", "material_subtype": "GL70", "weight_grams": 200.0, "components": "[]"}
    frame = pl.DataFrame([record], schema=COLUMNS).with_columns(sku_code=pl.lit("x"))
    assert grade_frame(frame, RULES).row(0) == ("A", 100.0, False)
