"""Regrading a row: it changes where its grade or its trace does, and the trace is never made to find that out."""

from functools import cache

import orjson
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from compliance.grading import GRADED_INPUTS, explain, grade, grade_many, grade_rows, regrade_many, regrade_rows
from compliance.grading.many import regrade
from compliance.grading.many.regrade import regrade_block
from compliance.ruleset import load, parse
from tests.compliance.packs import pack
from tests.compliance.records import RECORDS
from tests.drawing import examples
from tests.ruling import BOTTLE, FEATURE, GLASS, LINES, texts

RULES = load()
DETACHED = {("dfr_rules.csv", "ANY-005"): {"verdict": "compatible enough"}}
BLACK = {("dfr_rules.csv", "PP_RIGID-009"): {"effect": "limited", "verdict": "limited"}}
CHANGES = (
    {},
    LINES,
    FEATURE,
    {("scoring.csv", "cap_1"): {"value": "94.5"}},
    DETACHED,
    BLACK,
    {("dfr_rules.csv", "PET_BOTTLE-003"): {"feature": "too small or too large"}},
    {("dfr_rules.csv", "ANY-011b"): {"source_url": "https://example.org/other"}},
    {("materials.csv", "GL71"): {"group": "GLASS_OTHER"}},
    {("limits.csv", next(iter(RULES.limits))): {"source_note": "read once more"}},
)


@cache
def others():
    """The rule-sets of all changes; made where they are asked for, since every worker loads this module."""
    return [parse(f"2027-01-{day:02}", texts(change)) for day, change in enumerate(CHANGES, start=1)]


def row(record):
    """A record as it is stored."""
    contexts = record.get("use_contexts")
    held = {name: record.get(name) for name in GRADED_INPUTS}
    held["use_contexts"] = None if contexts is None else "{" + ",".join(contexts) + "}"
    for name in ("svhc", "components"):
        held[name] = None if record.get(name) is None else orjson.dumps(record[name]).decode()
    return tuple(held.values())


def without_version(record, rules):
    return {name: value for name, value in explain(record, rules).items() if name != "ruleset_version"}


@examples(250, suppress_health_check=list(HealthCheck))
@given(record=RECORDS, in_arrays=st.sampled_from(range(len(CHANGES))))
def test_a_row_changes_where_its_grade_or_its_trace_does(record, in_arrays):
    stored = row(record)
    [held] = grade_rows([stored], RULES)
    for at, rules in enumerate(others()):
        found = grade(record, rules)
        answer = (found.grade, found.score, found.provisional)
        differs = answer != held or without_version(record, rules) != without_version(record, RULES)
        assert regrade_rows([stored], [held], [RULES], rules) == [answer if differs else None], rules.version
        if at == in_arrays:
            assert regrade_block([stored], [held], [RULES], rules) == [answer if differs else None], rules.version


@pytest.mark.parametrize(
    ("change", "bottle", "glass"),
    [({}, False, False), (LINES, True, False), (FEATURE, True, False), (DETACHED, True, False)],
)
def test_only_what_a_change_is_about_changes(change, bottle, glass):
    rows = [row(BOTTLE), row(GLASS)]
    answers = regrade_rows(rows, grade_rows(rows, RULES), [RULES] * 2, parse("2027-02-01", texts(change)))
    assert [answer is not None for answer in answers] == [bottle, glass]


def test_a_row_changes_where_only_what_an_open_fact_could_give_does():
    body = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PP", "weight_g": 20.0}
    clear = row({"packaging_format": "tub", "components": [body | {"colour": "transparent"}]})
    untold = row({"packaging_format": "tub", "components": [body]})
    held, other = grade_rows([untold, clear], RULES), parse("2027-02-02", texts(BLACK))
    assert grade_rows([untold, clear], other) == held
    assert regrade_rows([untold, clear], held, [RULES] * 2, other) == [held[0], None]


def test_a_grade_that_is_not_what_it_should_be_is_put_right_by_its_own_version():
    [held] = grade_rows([row(BOTTLE)], RULES)
    assert regrade_rows([row(BOTTLE)], [held], [RULES], RULES) == [None]
    assert regrade_rows([row(BOTTLE)], [("A", 100.0, False)], [RULES], RULES) == [held]


def test_what_nobody_can_explain_any_more_is_graded_anew():
    [held] = grade_rows([row(GLASS)], RULES)
    assert regrade_rows([row(GLASS)], [held], [None], RULES) == [held]


def test_many_rows_are_compared_as_one_by_one():
    rows = [row(pack(number)) for number in range(120)]
    held = grade_many(rows, RULES)
    held[7] = ("A", 12.5, False)
    for rules in (load("2026-11-21"), RULES, *others()[1:4], others()[8]):
        graded_by = [RULES if number % 5 else None for number in range(len(rows))]
        assert regrade_many(rows, held, graded_by, rules) == regrade_rows(rows, held, graded_by, rules), rules.version


def test_traces_are_made_only_where_something_differs(monkeypatch):
    rows = [row(pack(number)) for number in range(300)]
    held, asked = grade_many(rows, RULES), []
    monkeypatch.setattr(regrade, "regrade_rows", lambda *args: asked.append(args) or regrade_rows(*args))
    unchanged, one_changed = others()[0], parse("2027-03-01", texts(FEATURE))
    assert regrade_many(rows, held, [RULES] * 300, unchanged) == [None] * 300
    assert all(row[GRADED_INPUTS.index("components")] is None for [row], *_ in asked)  # the kernel remembers these
    asked.clear()
    changed = [answer is not None for answer in regrade_many(rows, held, [RULES] * 300, one_changed)]
    assert sum(changed) > 0
    graphs = [row for [row], *_ in asked if row[GRADED_INPUTS.index("components")] is not None]
    assert len(graphs) == sum(changed)
