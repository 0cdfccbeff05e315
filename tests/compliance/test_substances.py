"""Limits on substances, each at its boundary, and the one refusal by law."""

from datetime import date

import pytest

from compliance.conformity import against, judge
from compliance.grading.trace import explain
from compliance.readiness import findings
from compliance.ruleset import load
from compliance.statements import facts
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
        ("pfas", 25, None, None, ABOVE),  # decisions §13: in the unit of its limit
        ("heavy_metals", 100.001, None, None, ABOVE),
        ("svhc", 0.1, None, None, BELOW),
        ("pfas", 49, None, "total", BELOW),
    ],
)
def test_a_measured_value_says_on_which_side_of_its_limit_it_is(substance, value, unit, basis, status):
    assert implied_status(substance, value, unit, basis, RULES) == status


def _refusal(on=date(2026, 8, 12), **changed):
    part = {"component_type": "coating", "polymer_or_grade": "LDPE", "position_in_sku": 2}
    record = {
        "food_contact": True,
        "markets": ["FR"],
        "components": [{"component_type": "body"}, {**part, "substances": {"pfas": DECLARED}}],
    }
    return pfas_food_contact_prohibited({**record, **changed}, on=on, rules=RULES)


def _placed(market, year, units):
    return {"markets": None, "volumes": [{"market": market, "year": year, "half": 0, "units_placed": units}]}


@pytest.mark.parametrize(
    "changed",
    [
        {"food_contact": None},
        {"food_contact": False},
        {"markets": None},
        {"markets": []},
        {"markets": ["GB", "US-CA", "CH"]},
        {"components": [], "pfas": {"status": "unknown"}},
        {"components": [], "pfas": {"status": BELOW}},
        {"on": date(2026, 8, 11)},
        _placed("DE", 2025, 50_000),
        _placed("DE", 2026, 0),
        _placed("GB", 2026, 50_000),
    ],
)
def test_without_one_of_the_facts_nothing_is_refused(changed):
    assert _refusal(**changed) is None


def test_the_refusal_cites_the_law_and_says_that_the_declaration_decided():
    sentence = _refusal(markets=["GB", "BE-VLG"])
    assert "Article 5(5) of Regulation (EU) 2025/40" in sentence
    assert "the declaration of the component coating (LDPE) at position 2 says" in sentence
    assert "markets names BE-VLG" in sentence
    assert "archive it" in sentence


def test_a_measured_value_is_named_before_a_declaration():
    assert "the measured value of 25 ppb of the packaging itself reaches the limit" in _refusal(pfas=MEASURED)


@pytest.mark.parametrize(
    ("changed", "because"),
    [
        (_placed("DE", 2026, 50_000), "units of 2026 (50000) make DE a market"),
        (_placed("BE-VLG", 2031, 1), "units of 2031 (1) make BE-VLG a market"),
        ({**_placed("DE", 2026, 1), "markets": ["GB"]}, "units of 2026 (1) make DE a market"),
        ({**_placed("DE", 2026, 1), "markets": ["IT"]}, "markets names IT"),
        ({"markets": ["RE"]}, "markets names RE"),
    ],
)
def test_the_refusal_says_what_made_a_market_one(changed, because):
    """decisions §13: markets in effect; a territory of the Union that was stored under its own code is in it."""
    assert because in _refusal(**changed)


FOUND_BY = {"pfas_food_contact": "pfas_single", "heavy_metals": "heavy_metals_sum"}
SAID_BY = {
    "hm": "heavy_metals_sum", "hm_2001": "heavy_metals_94_62", "recyclable": "recyclable",
    "eps_food": "supd_bans_2021", "supd_plates": "supd_bans_2021", "supd_oxo": "supd_bans_2021",
    "tethered": "supd_tethered_caps", "rpet_2025": "supd_rpet_2025", "rplastic_2030": "supd_rplastic_2030",
    "bio_design": "compostable_other", "contact_manufacturer": "manufacturer_contact",
    "identification": "identification", "reuse_beverage": "reuse_small_shop", "double_walls": "double_walls",
}  # fmt: skip


def test_findings_and_statements_have_the_days_of_the_limits():
    days = {found.key: found.applies_from for found in findings()}
    assert all(days[key] == RULES.limits[code].applies_from for key, code in FOUND_BY.items())
    held = {fact.key: [*fact.dates.values()] for fact in facts.load("regulation")}
    assert [key for key, code in SAID_BY.items() if RULES.limits[code].applies_from not in held[key]] == []


def test_the_limit_of_heavy_metals_is_the_one_before_under_both_rule_sets():
    now, before = RULES.limits["heavy_metals_sum"], RULES.limits["heavy_metals_94_62"]
    assert (now.comparator, now.value, now.unit) == (before.comparator, before.value, before.unit)
    assert before.applies_from == date(2001, 6, 30)
    for rules in (load("2026-11-21"), RULES):
        assert implied_status("heavy_metals", 100.1, "mg_per_kg", None, rules) == ABOVE


def test_what_the_record_cannot_decide_is_said_where_a_sentence_rests_on_it():
    """Article 70(3) keeps two derogations from 5(4); 6(11) exempts some packs of medicines and wood."""
    bottle = {"sku_code": "A", "name": "Bottle", "material": "glass", "weight_grams": 300, "packaging_level": "sales",
              "heavy_metals": {"status": ABOVE, "value": 150, "unit": "mg_per_kg"}}  # fmt: skip
    [fact] = against(bottle, RULES, on=date(2026, 11, 28))
    assert "2001/171/EC (glass)" in str(fact.message)
    blocking = next(found for found in findings() if found.key == "heavy_metals")
    assert "2001/171/EC (glass)" in blocking.sentence
    for record, conditions in (
        (
            {"material": "plastic", "use_contexts": ["pharmaceutical"]},
            ("outer packaging that preserves", "medical dev"),
        ),
        ({"material": "wood", "packaging_format": "box"}, ("porcelain", "is assumed")),
        ({"material": "paper", "packaging_format": "tea bag"}, ("12 February 2028",)),
    ):
        reason = explain(bottle | record, RULES)["reason"]
        assert all(part in reason for part in conditions), reason


def test_what_each_part_declares_is_declared():
    """The draft said *nothing is declared about bisphenol A* of what the rule of BPA called *declared free*."""
    said = {substance: {"status": "absent"} for substance in ("pfas", "svhc", "bpa", "heavy_metals")}
    body = {"id": "b", "component_type": "body", "material_family": "glass", "weight_g": 200, "substances": said}
    silent = body | {"id": "c", "component_type": "cap", "substances": {"bpa": {"status": "unknown"}}}

    def asked(*parts):
        judged = judge({"food_contact": True, "components": parts}, RULES, on=date(2026, 11, 29))
        return [point.field for point in judged.open if point.field.startswith("substances.")]

    assert asked(body) == []
    assert asked(body, silent) == asked() == [f"substances.{substance}" for substance in said]


@pytest.mark.parametrize(
    ("facts", "field", "said"),
    [
        ({"packaging_format": "tray", "use_contexts": ["food"]}, "packaging_level", "Its level is not said"),
        ({"packaging_format": "Dings", "packaging_level": "sales"}, "packaging_format", "in words that are known"),
        ({"packaging_format": "tray", "packaging_level": "sales"}, "use_contexts", "What it is used for"),
    ],
)
def test_a_declaration_says_which_fact_keeps_a_ban_from_being_ruled_out(facts, field, said):
    body = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PP", "weight_g": 9}
    judged = judge({**facts, "components": [body]}, RULES, on=date(2026, 11, 29))
    assert [point.field for point in judged.open if said in str(point.message)] == [field]


def test_a_value_just_above_its_limit_is_told_whole():
    """100.0004 mg/kg read *100 is above the limit* of 100."""
    metals = {"status": ABOVE, "value": 100.0004, "unit": "mg_per_kg"}
    [issue] = against({"heavy_metals": metals}, RULES, on=date(2026, 11, 29))
    assert "100.0004 mg_per_kg" in str(issue.message)


def graded_points(**facts):
    judged = judge(facts, RULES, on=date(2026, 11, 29))
    return [
        str(point.message) for point in judged.open if point.field == "components" and "body" not in str(point.message)
    ]


def test_a_draft_says_what_the_grade_is_worth_and_never_that_too_little_is_recorded_of_what_is_exempt():
    """A certain grade below C said nothing, a provisional one did; a drum of Article 6(11) lacked facts."""
    pvc = [{"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PVC", "weight_g": 20}]
    [below] = graded_points(packaging_format="bottle", components=pvc)
    assert "below C" in below
    [exempt] = graded_points(use_contexts=["dangerous_goods"], packaging_level="transport", components=pvc)
    assert "Article 6(11)(f)" in exempt
    assert "too little is recorded" in graded_points(packaging_format="bottle")[0]
