"""The worked examples in full, and what a caller is told about a grade."""

import json

import pytest

from compliance.grading import Grade, explain, grade, warnings
from compliance.grading.assessment import assess, rounded_score
from compliance.ruleset import load, versions
from compliance.words import resolve_format
from tests.compliance.worked import EXAMPLES, record_of

RULES = load()
BOTTLE = {
    "packaging_format": "bottle",
    "packaging_level": "sales",
    "components": [
        {
            "id": "b",
            "component_type": "body",
            "material_family": "plastic",
            "polymer_or_grade": "HDPE",
            "weight_g": 50.0,
        },
        {"id": "c", "component_type": "cap", "material_family": "plastic", "polymer_or_grade": "PP", "weight_g": 5.0},
    ],
}


@pytest.mark.parametrize(("version", "example"), EXAMPLES)
def test_a_worked_example_comes_out_as_worked(version, example):
    rules = load(version)
    record, expected = record_of(example), example["expected"]
    trace = explain(record, rules)
    fired = {rule["rule_id"] for unit in trace["units"] for part in unit["components"] for rule in part["rules"]}
    units = [
        [unit.unit.name, unit.stream, unit.result.grade, rounded_score(unit.result.score)]
        for unit in assess(record, rules).units
    ]

    assert grade(record, rules) == Grade(expected["grade"], expected["score"], expected["provisional"], version)
    assert trace["provisional"] == expected["provisional"]
    assert trace["stream"] == expected["stream"]
    assert sorted(fired) == expected["rules"]
    assert [issue["field"] for issue in trace["missing"]] == expected["missing"]
    if "no_guideline_row" in expected:
        assert [each["material"] for each in trace["no_guideline_row"]] == expected["no_guideline_row"]
    assert trace["weight_share_percent"] == expected["weight_share_percent"]
    assert trace["limited_features"] == expected["limited_features"]
    assert units == expected["units"]
    assert bool(trace["open"]) <= expected["provisional"] <= bool(trace["open"] or trace["no_guideline_row"])

    told = json.loads(json.dumps(trace))
    assert (told["indicative"], told["ruleset_version"]) == (True, version)
    assert told["reason"].endswith(".")
    for unit in told["units"]:
        assert unit["component_ids"] == [part["component_id"] for part in unit["components"]]


def test_the_trace_names_the_records_components_and_an_implied_body_has_no_id():
    assert [unit["component_ids"] for unit in explain(BOTTLE, RULES)["units"]] == [["b", "c"]]
    implied = {"material": "glass", "weight_grams": 300.0, "packaging_format": "jar"}
    assert explain(implied, RULES)["units"][0]["component_ids"] == [None]


def test_the_trace_says_which_open_attribute_left_which_rules_unasked():
    assumptions = explain(BOTTLE, RULES)["assumptions"]
    assert any(text.startswith("components[0].colour is not given:") and "PE_RIGID-012" in text for text in assumptions)
    assert sum("very high concern" in text for text in assumptions) == 1


def test_a_rule_that_a_stricter_one_replaces_is_traced_as_overruled():
    pack = {**BOTTLE, "components": [{**BOTTLE["components"][0], "adhesive_type": "permanent"}]}
    rules = explain(pack, RULES)["units"][0]["components"][0]["rules"]
    assert {"rule_id": "PE_RIGID-027", "verdict": "incompatible"}.items() <= {
        key: value for rule in rules if rule["rule_id"] == "PE_RIGID-027" for key, value in rule.items()
    }.items()
    sleeve = {
        "component_type": "sleeve",
        "material_family": "plastic",
        "polymer_or_grade": "PET",
        "weight_g": 1.0,
        "coverage_percent": 80,
        "density_g_cm3": 1.38,
    }
    body = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PVC", "weight_g": 20.0}
    tub = {
        "packaging_format": "tub",
        "packaging_level": "sales",
        "components": [{**body, "polymer_or_grade": "PP"}, sleeve],
    }
    verdicts = {rule["rule_id"]: rule["verdict"] for rule in explain(tub, RULES)["units"][0]["components"][1]["rules"]}
    assert verdicts["PP_RIGID-014"] == "limited"
    assert verdicts["PP_RIGID-016"] == "overruled"


def test_svhc_above_the_limit_disqualifies_wherever_it_is_declared():
    above = {"status": "above_limit"}
    on_component = {**BOTTLE, "components": [{**BOTTLE["components"][0], "substances": {"svhc": above}}]}
    assert grade({**BOTTLE, "svhc": above}, RULES).score == 0
    assert grade(on_component, RULES).score == 0
    assert grade({**BOTTLE, "svhc": {"status": "unknown"}}, RULES).grade == "A"


def test_a_record_of_which_nothing_is_known_is_not_assessed():
    assert grade({}, RULES) == Grade("not_assessed", None, False, RULES.version)
    assert [issue["field"] for issue in explain({}, RULES)["missing"]] == ["material"]


def test_an_unknown_material_text_is_warned_of_with_the_three_nearest():
    record = {**BOTTLE, "components": [{**BOTTLE["components"][0], "polymer_or_grade": "polyethylenne"}]}
    [warning] = warnings(record, RULES)
    assert (warning.code, warning.field) == ("polymer_unresolved", "components[0].polymer_or_grade")
    assert "polyethylene" in warning.message
    assert warning.message.count("“") == 3


def test_a_family_that_the_text_contradicts_is_warned_of_and_the_text_decides():
    record = {"material": "plastic", "material_subtype": "tinplate", "weight_grams": 90.0, "packaging_format": "can"}
    [warning] = warnings(record, RULES)
    assert (warning.code, warning.field) == ("material_conflict", "material_subtype")
    assert explain(record, RULES)["stream"] == "steel"


def test_a_family_word_as_material_text_is_no_material_and_no_warning():
    record = {"material": "plastic", "material_subtype": "plastic", "weight_grams": 9.0, "packaging_format": "tub"}
    assert warnings(record, RULES) == []
    assert [issue["field"] for issue in explain(record, RULES)["missing"]] == ["material_subtype"]


def test_a_text_that_means_no_material_leaves_the_grade_to_the_family_and_nothing_open():
    body = {"component_type": "body", "material_family": "glass", "weight_g": 300.0, "colour": "transparent"}
    jar = {"packaging_format": "jar", "packaging_level": "sales"}
    for version in versions():
        plain = grade({**jar, "components": [body]}, load(version))
        assert plain.grade == "A"
        for text in ("plastic", "metal", "unknown"):
            pack = {**jar, "components": [{**body, "polymer_or_grade": text}]}
            assert grade(pack, load(version)) == plain, text
            assert warnings(pack, load(version)) == []
        assert grade({**jar, "components": [{**body, "polymer_or_grade": "no such stuff"}]}, load(version)).provisional


def test_a_unit_that_was_not_assessed_makes_nothing_provisional():
    body = {
        "component_type": "body",
        "material_family": "plastic",
        "polymer_or_grade": "PVC",
        "weight_g": 30.0,
        "colour": "transparent",
        "additives": [],
    }
    unknown = {
        "component_type": "cap",
        "material_family": "glass",
        "polymer_or_grade": "no such stuff",
        "weight_g": None,
        "separable": True,
    }
    for version in versions():
        alone = grade({**BOTTLE, "components": [body]}, load(version))
        found = grade({**BOTTLE, "components": [body, unknown]}, load(version))
        assert (found.grade, found.provisional) == (alone.grade, alone.provisional) == ("not_recyclable", False)


def test_a_trace_says_how_sure_a_rule_is_where_it_is_not_its_published_source_alone():
    for rule in RULES.rules.values():
        assert rule.published == ((rule.basis, rule.confidence) == ("source", "published"))
    rules = [rule for part in explain(BOTTLE, RULES)["units"][0]["components"] for rule in part["rules"]]
    assert rules
    for rule in rules:
        held = RULES.rules[rule["rule_id"]]
        said = (None, None) if held.published else (held.basis, held.confidence)
        assert (rule["basis"], rule["confidence"]) == said
    assert any(rule["basis"] for rule in rules)


def _packed(packaging_format, body, other):
    """A body of 20 g and another part of 2 g, each given by type, family and material."""
    names = ("component_type", "material_family", "polymer_or_grade", "weight_g")
    lines = ((*body, 20.0), (*other, 2.0))
    return {"packaging_format": packaging_format, "components": [dict(zip(names, line, strict=True)) for line in lines]}


@pytest.mark.parametrize(
    ("packed", "rule_id"),
    [
        (_packed("bottle", ("body", "glass", "clear glass"), ("cap", "metal", "zamak")), "GLASS-030"),
        (_packed("tray", ("body", "plastic", "PP"), ("seal", "plastic", "PET/PE")), "PP_RIGID-040"),
        (_packed("tray", ("body", "plastic", "PET"), ("seal", "plastic", "PA/PE")), "PET_RIGID_OTHER-030"),
    ],
)
def test_lidding_and_zamak_have_a_rule_from_2026_11_26_on(packed, rule_id):
    """Before, the pack was not assessed for want of a row; nothing asks what the given material is made of."""
    before = explain(packed, load("2026-11-22"))
    assert (before["missing"], [each["code"] for each in before["no_guideline_row"]]) == ([], ["no_guideline_row"])
    assert before["reason"].startswith("Not assessed, because no guideline row covers the material that is given: ")
    trace = explain(packed, load("2026-11-26"))
    assert trace["missing"] == []
    assert [rule["rule_id"] for rule in trace["units"][0]["components"][1]["rules"]] == [rule_id]


@pytest.mark.parametrize(
    ("text", "key"),
    [("dosette", "portion_pack"), ("coffee pads", "coffee_pod"), ("Hemdchenbeutel", "carrier_bag"), ("pad", None)],
)
def test_a_single_dose_is_no_coffee_pod_and_has_a_grade(text, key):
    found = resolve_format(text, load("2026-11-26"))
    assert (found and found.key) == key
    assert resolve_format("dosette", load("2026-11-22")).flags == {"compostable_art_9"}
