"""Limits on substances, each at its boundary, and the one refusal by law."""

from datetime import date

import pytest

from compliance.catalogue import eu_codes
from compliance.ruleset import load
from compliance.substances import implied_status, pfas_food_contact_prohibited

RULES = load()
ABOVE, BELOW = "above_limit", "below_limit"
DECLARED = {"status": ABOVE}
MEASURED = {"status": ABOVE, "value": 25, "unit": "ppb"}


@pytest.mark.parametrize(
    ("substance", "value", "unit", "basis", "status"),
    [
        ("pfas", 24.999, "ppb", None, BELOW),
        ("pfas", 25, "ppb", None, ABOVE),
        ("pfas", 25, "ppb", "single", ABOVE),
        ("pfas", 249.999, "ppb", "sum", BELOW),
        ("pfas", 250, "ppb", "sum", ABOVE),
        ("pfas", 49.999, "mg_per_kg", None, BELOW),
        ("pfas", 50, "mg_per_kg", "total", ABOVE),
        ("pfas", 0.025, "mg_per_kg", "single", ABOVE),
        ("heavy_metals", 100, "mg_per_kg", None, BELOW),
        ("heavy_metals", 100.001, "mg_per_kg", None, ABOVE),
        ("svhc", 0.1, "percent_w_w", None, BELOW),
        ("svhc", 0.1001, "percent_w_w", None, ABOVE),
        ("svhc", 1000, "mg_per_kg", None, BELOW),
        ("svhc", 1001, "mg_per_kg", None, ABOVE),
        ("bpa", 5, "ppb", None, None),
        ("pfas", 25, None, None, None),
    ],
)
def test_a_measured_value_says_on_which_side_of_its_limit_it_is(substance, value, unit, basis, status):
    assert implied_status(substance, value, unit, basis, RULES) == status


def _refusal(**changed):
    facts = {"food_contact": True, "markets": ["FR"], "pfas": [None, DECLARED], "on": date(2026, 8, 12)}
    return pfas_food_contact_prohibited(**{**facts, **changed}, eu_codes=eu_codes(), rules=RULES)


@pytest.mark.parametrize(
    "changed",
    [
        {"food_contact": None},
        {"food_contact": False},
        {"markets": None},
        {"markets": []},
        {"markets": ["GB", "US-CA", "CH"]},
        {"pfas": [None, {"status": "unknown"}, {"status": BELOW}]},
        {"on": date(2026, 8, 11)},
    ],
)
def test_without_one_of_the_facts_nothing_is_refused(changed):
    assert _refusal(**changed) is None


def test_the_refusal_cites_the_law_and_says_that_the_declaration_decided():
    sentence = _refusal(markets=["GB", "BE-VLG"])
    assert "Article 5(5) of Regulation (EU) 2025/40" in sentence
    assert "the declaration says" in sentence
    assert "BE-VLG" in sentence


def test_a_measured_value_is_named_before_a_declaration():
    assert "the measured value of 25 ppb reaches the limit" in _refusal(pfas=[DECLARED, MEASURED])
