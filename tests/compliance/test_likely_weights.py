"""Weights that no packaging has are told by format and level, and the bounds are wide enough to be believed."""

import csv
import re
from pathlib import Path

import polars as pl
import pytest

from compliance import ruleset
from compliance.weights import are_likely, bounds_of, unlikely_weight
from schemas.vocabularies import VOCABULARIES

CASES = Path(__file__).parents[1] / "pipelines" / "reading" / "meaning" / "files" / "cases.csv"
TABLE = Path(ruleset.__file__).with_name("likely_weights.csv")


def test_every_bound_is_of_a_known_format_or_level_and_has_a_reason():
    formats = {found.key for found in ruleset.load().formats.values()}
    with TABLE.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            assert row["format"] in {*formats, ""}
            assert row["level"] in {*VOCABULARIES["packaging_level"], "service", ""}
            assert 0 < float(row["least_g"]) < float(row["most_g"])
            assert len(row["reason"]) > 5


@pytest.mark.parametrize(
    ("weight_g", "form", "level", "unlikely"),
    [
        (180, None, None, False),
        (8_400, None, None, True),
        (0, None, None, False),
        (None, "jar", None, False),
        (2_160, "Honigglas", None, False),
        (2_160, "Jar", None, True),
        (2_160, "Glas mit Deckel", "grouped", False),
        (25_000, "pallet", "transport", False),
        (25_000, None, "transport", False),
        (25_000, "Bottle", "sales", True),
        (0.001, "film", None, True),
        (0.3, "lid", "sales", False),
    ],
)
def test_a_weight_outside_the_bounds_is_unlikely(weight_g, form, level, unlikely):
    found = unlikely_weight(weight_g, form, level)
    assert (found is not None) is unlikely
    assert found is None or (found.code, found.field) == ("unlikely_value", "weight_grams")


def test_a_file_s_rows_are_judged_as_one_record_is():
    rows = [
        (g, f, lv) for g in (0, 0.001, 20, 2_160, 90_000) for f in (None, "jar", "pallet") for lv in (None, "grouped")
    ]
    frame = pl.DataFrame(
        rows, schema=["weight_grams", "packaging_format", "packaging_level"], orient="row", strict=False
    )
    assert are_likely(frame).to_list() == [unlikely_weight(*row) is None for row in rows]
    assert are_likely(frame.select("weight_grams")).to_list() == [
        unlikely_weight(g, None, None) is None for g, *_ in rows
    ]


def test_half_of_the_wrong_weights_that_were_stored_would_have_been_told():
    """The files of `cases.csv` whose weights were stored in another unit, of a case, or as a total."""
    wrong = ("k01a", "k01c", "k01d", "k01f", "k01j", "k03", "k04", "k06a", "k10a", "k13")
    told = []
    with CASES.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["file"].startswith(wrong):
                weights = re.findall(r'"weight_grams": ([\d.]+)', row["stored_by_4203bb82"])
                told.append(any(unlikely_weight(float(weight), None, None) for weight in weights))
    assert 2 * sum(told) >= len(told)
    assert bounds_of("jar", None).most_g < bounds_of(None, None).most_g
