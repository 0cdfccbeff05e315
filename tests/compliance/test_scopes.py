"""Which packaging a scope is about: the answers of a record, case by case, and tables that contradict themselves."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance import catalogue, scopes
from compliance.scopes import FACTS, Face, Standing, judge_scope, standing_of
from compliance.tables import TableError

FACE = Face("sales", False, None, "jar", ("food",))
LEVELS = ["sales", "grouped", "transport", "e_commerce", None]
CONTEXTS = ["food", "beverage", "industrial", "dangerous_goods", "other", "household"]


def said(**changed):
    return judge_scope("de_system", standing_of(FACE._replace(**changed)))


@pytest.mark.parametrize(
    ("changed", "verdict", "named"),
    [
        ({}, "in", ()),
        ({"packaging_level": "transport"}, "out", "packaging_level"),
        ({"packaging_level": None}, "ask", ("packaging_level",)),
        ({"packaging_level": None, "use_contexts": ()}, "ask", ("packaging_level", "use_contexts")),
        ({"packaging_level": None, "use_contexts": ("industrial",)}, "out", "household_like"),
        ({"packaging_level": "transport", "reusable": True}, "out", "packaging_level"),
        ({"reusable": True}, "out", "reusable"),
        ({"reusable": None}, "in", ()),
        ({"packaging_format_key": "can", "use_contexts": ("beverage",)}, "ask", ("reuse_deposit_system",)),
        ({"packaging_format_key": None, "use_contexts": ("beverage",)}, "ask", ("reuse_deposit_system",)),
        ({"packaging_format_key": "bottle", "use_contexts": ()}, "ask", ("use_contexts",)),
        ({"packaging_format_key": "bottle", "use_contexts": (), "reuse_deposit_system": True}, "out",
         "deposit_container"),
        ({"packaging_format_key": "bottle", "reuse_deposit_system": True}, "in", ()),
        ({"packaging_format_key": "can", "use_contexts": ("beverage", "food"), "reuse_deposit_system": True}, "out",
         "deposit_container"),
        ({"packaging_format_key": "jar", "use_contexts": ("beverage",), "reuse_deposit_system": True}, "in", ()),
        ({"packaging_format_key": "can", "use_contexts": ("beverage",), "reuse_deposit_system": False}, "in", ()),
        ({"use_contexts": ("industrial",)}, "out", "household_like"),
        ({"use_contexts": ("industrial",), "packaging_level": "e_commerce"}, "out", "household_like"),
        ({"use_contexts": ("food", "industrial")}, "ask", ("use_contexts",)),
        ({"use_contexts": ("other",)}, "ask", ("use_contexts",)),
        ({"use_contexts": ("other",), "packaging_level": "e_commerce"}, "in", ()),
        ({"use_contexts": ("household", "dangerous_goods")}, "ask", ("hazardous_contents",)),
        ({"use_contexts": ("dangerous_goods",)}, "ask", ("use_contexts", "hazardous_contents")),
    ],
)  # fmt: skip
def test_the_german_system_is_about_what_typically_becomes_waste_in_households(changed, verdict, named):
    found = said(**changed)
    assert (found.verdict, found.fact if verdict == "out" else found.fields) == (verdict, named)


FACES = st.builds(
    Face,
    st.sampled_from(LEVELS),
    st.sampled_from([True, False, None]),
    st.sampled_from([True, False, None]),
    st.sampled_from(["bottle", "can", "jar", None]),
    st.lists(st.sampled_from(CONTEXTS), unique=True, max_size=3).map(tuple),
)


@given(FACES, st.sampled_from(sorted(scopes.scopes())))
def test_a_judgement_says_one_thing_whatever_the_order_of_uses_and_a_code_leads_back(face, key):
    standing = standing_of(face)
    found = judge_scope(key, standing)
    assert (found.verdict == "ask") == bool(found.fields)
    assert (found.verdict == "out") == (found.fact in FACTS)
    assert set(found.fields) <= set(scopes.asked_fields())
    assert judge_scope(key, standing_of(face._replace(use_contexts=face.use_contexts[::-1]))) == found
    assert Standing.from_code(standing.code) == standing
    assert judge_scope("all", standing).verdict == "in"


def _changed(path, source, change):
    with source.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    change(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda rows: rows.pop(0), "all is missing"),
        (lambda rows: rows[1].update(packaging_levels="sale"), "de_system: packaging_level lets in"),
        (lambda rows: rows[1].update(household_like="perhaps"), "household_like lets in"),
        (lambda rows: rows[1].update(unknown_reusable="out"), "unknown_reusable is in or ask"),
        (lambda rows: rows[1].update(confidence="sure"), "how sure"),
        (lambda rows: rows[1].update(scope_key="household"), "household stands more than once"),
    ],
)
def test_a_table_of_scopes_with_a_fault_is_refused_and_the_fault_named(tmp_path, change, fault):
    with pytest.raises(TableError, match=fault):
        scopes.read(_changed(tmp_path / "scopes.csv", scopes.PINNED, change))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda rows: rows.pop(), "the last row of hazardous_contents does not fit"),
        (lambda rows: rows[0].update(fact="colour"), "colour is no fact"),
        (lambda rows: rows[-1].update(field="colour"), "a field stands beside an answer"),
    ],
)
def test_a_fact_without_an_answer_for_every_record_is_refused(tmp_path, change, fault):
    with pytest.raises(TableError, match=fault):
        scopes.read_facts(_changed(tmp_path / "scope_facts.csv", scopes.FACTS_TABLE, change))


def test_every_jurisdiction_says_what_its_duties_reach_and_those_not_served_what_is_missing():
    found = catalogue.coverages()
    assert len(found) == 61
    assert sum(entry.served for entry in catalogue.pinned()) == 49
    assert found["DE"]["transport"] == found["DE"]["deposit"] == "N"
    assert found["BE-VLG"]["missing_to_serve"]
    assert found["FR"]["missing_to_serve"] is None


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda rows: rows.pop(0), "AT has no row"),
        (lambda rows: rows[0].update(code="XX"), "XX: the catalogue has no such row"),
        (lambda rows: rows[1].update(code="AT"), "AT stands 2 times"),
        (lambda rows: rows[0].update(covers_deposit="maybe"), "AT: covers_… has an unknown value"),
        (lambda rows: rows[0].update(confidence=""), "AT: no source"),
        (lambda rows: rows[0].update(missing_to_serve="a law"), "AT: missing_to_serve"),
    ],
)
def test_a_table_of_coverage_with_a_fault_is_refused_and_the_fault_named(tmp_path, change, fault):
    with pytest.raises(TableError, match=fault):
        catalogue.read(_changed(tmp_path / "coverage.csv", catalogue.PINNED_COVERAGE, change))
