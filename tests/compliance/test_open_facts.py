"""What would settle a provisional grade: the open facts of its trace, beside the slow transcription's trials."""

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from compliance.grading import explain, grade
from compliance.grading.provisional import GRADES
from compliance.ruleset import load, versions
from compliance.words import resolve_material
from schemas.messages import LANGUAGES
from tests.compliance import oracle
from tests.compliance.oracle_parts import by
from tests.compliance.records import RECORDS
from tests.drawing import examples

RULES = load()
STEPS = {"A": 3, "B": 2, "C": 1, "not_recyclable": 0, "not_assessed": 0}
PET = {"id": "b", "component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20.0}
BOTTLE = {"packaging_format": "bottle", "packaging_level": "sales", "components": [PET]}


def with_ids(record):
    """The record as it is stored: each line of its graph with an id, here its place."""
    lines = [{**line, "id": str(place)} for place, line in enumerate(record.get("components") or ())]
    return {**record, **({"components": lines} if lines else {})}


def tried(record, other):
    """The fact that a trial gives: the component's id and the field; neither a graph nor an id has the implied body."""
    if not record.get("components"):
        (field,) = other["_body"]
        return None, "material_subtype" if field == "_code" else field
    for before, after in zip(record["components"], other["components"], strict=True):
        for field, value in after.items():
            if field not in before or before[field] != value:
                return before["id"], "polymer_or_grade" if field == "_code" else field
    raise AssertionError("a trial gives one fact")


def reached_by_trials(record):
    """The other grades that the values of each open field give, by the slow transcription."""
    first, found = oracle.grade(record), {}
    if first["grade"] == "not_assessed":
        return found
    for other in oracle.trials(record, first):
        became = oracle.grade(other)["grade"]
        if became != first["grade"]:
            found.setdefault(tried(record, other), set()).add(became)
    return found


def named(trace):
    return {(fact["component_id"], fact["field"]): fact["could_become"] for fact in trace["open"]}


@examples(150, suppress_health_check=list(HealthCheck))
@given(record=RECORDS, version=st.sampled_from(versions()))
def test_each_open_fact_gives_exactly_the_grades_listed_and_no_other_fact_changes_the_grade(record, version):
    record = with_ids(record)
    trace = explain(record, load(version))
    with by(version):
        expected = reached_by_trials(record)
    found = named(trace)
    assert len(found) == len(trace["open"])
    assert {fact: set(grades) for fact, grades in found.items() if grades} == expected
    assert {field for (_, field), grades in found.items() if not grades} <= {
        "polymer_or_grade",
        "material_subtype",
        "components",
    }
    assert trace["provisional"] == grade(record, load(version)).provisional
    assert bool(trace["open"]) <= trace["provisional"] <= bool(trace["open"] or trace["no_guideline_row"])


@examples(150, suppress_health_check=list(HealthCheck))
@given(record=RECORDS)
def test_the_strongest_effect_stands_first(record):
    trace = explain(with_ids(record), RULES)
    now = grade(record, RULES).grade
    spans = [
        max(steps) - min(steps)
        for fact in trace["open"]
        for steps in [[STEPS[each] for each in (now, *fact["could_become"])]]
    ]
    assert spans == sorted(spans, reverse=True)
    for fact in trace["open"]:
        assert fact["could_become"] == [each for each in GRADES if each in fact["could_become"]]
        assert now not in fact["could_become"]


def test_a_bottle_of_unknown_colour_is_asked_for_it_first():
    [first, *_] = explain(BOTTLE, RULES)["open"]
    assert (first["field"], first["component_id"]) == ("colour", "b")
    assert first["ask"].startswith("What colour is the pack?")
    assert "not_recyclable" in first["could_become"]
    told = explain({**BOTTLE, "components": [PET | {"colour": "carbon_black"}]}, RULES)
    assert "colour" not in [fact["field"] for fact in told["open"]]


def test_a_material_that_hides_its_layers_asks_for_the_components():
    carton = {
        "material": "paper",
        "material_subtype": "LPB",
        "weight_grams": 30.0,
        "packaging_format": "beverage carton",
    }
    assert {"field": "components", "component_id": None, "could_become": []}.items() <= explain(carton, RULES)["open"][
        -1
    ].items()


def test_a_text_that_nobody_knows_asks_for_the_material_of_its_part():
    jar = PET | {"material_family": "glass", "polymer_or_grade": "no such stuff", "colour": "natural"}
    open_facts = explain({**BOTTLE, "components": [jar]}, RULES)["open"]
    assert ("polymer_or_grade", "b", []) in [(f["field"], f["component_id"], f["could_become"]) for f in open_facts]


@examples(150, suppress_health_check=list(HealthCheck))
@given(record=RECORDS, version=st.sampled_from(versions()))
def test_a_material_that_is_given_is_never_asked_for(record, version):
    """Given is what a known text says (issue 37): that no row covers it is a reason of its own, no missing fact."""
    record, rules = with_ids(record), load(version)
    trace = explain(record, rules)
    lines = record.get("components") or [{"polymer_or_grade": record.get("material_subtype"), "id": None}]
    given_in = {
        line["id"]
        for line in lines
        for code in [resolve_material(line.get("polymer_or_grade") or "", rules)]
        if code and rules.materials[code].specified and not code.endswith("_UNSPECIFIED")
    }
    asked = {
        fact["component_id"] for fact in trace["open"] if fact["field"] in ("polymer_or_grade", "material_subtype")
    }
    asked |= {lines[int(at[11])]["id"] for at in (each["field"] for each in trace["missing"])
              if at.endswith("].polymer_or_grade") and at[12] == "]"}  # fmt: skip
    assert not asked & given_in
    assert {each["code"] for each in trace["no_guideline_row"]} <= {"no_guideline_row"}


def test_without_a_grade_what_is_missing_speaks():
    trace = explain({"material": "plastic"}, RULES)
    assert trace["open"] == []
    assert next(issue["message"] for issue in trace["missing"]) == RULES.question("polymer_or_grade").en


def test_every_field_that_a_rule_asks_of_a_part_has_a_question():
    fields = {rule.field for rule in RULES.rules.values() if rule.recordable} & RULES.makes_provisional
    assert [field for field in sorted(fields) if not RULES.question(field, "body")] == []


def test_every_rule_has_its_text_in_every_language():
    for lang in LANGUAGES[1:]:
        assert [rule for rule in RULES.rules if not RULES.texts.get(rule, {}).get(lang)] == []
