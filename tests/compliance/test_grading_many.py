"""Grading in arrays against the kernel: the same answers to the last bit, under every published rule-set."""

import os

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from compliance.grading import grade_many, grade_rows, regrade_many
from compliance.grading.many import steps, tables
from compliance.grading.many.parts import frames_of
from compliance.grading.many.regrade import grade_block
from compliance.grading.many.steps import answers, grade_skus
from compliance.ruleset import load, versions
from tests.compliance.packs import pack
from tests.compliance.records import RECORDS
from tests.compliance.structures import realistic
from tests.compliance.test_regrading import row
from tests.compliance.worked import EXAMPLES
from tests.compliance.worked import record_of as worked_record
from tests.drawing import examples

BLOCKS = 4
FROM = int(os.environ.get("PCDS_PACKS_FROM", "0"))
PACKS = int(os.environ.get("PCDS_PACKS", "1600"))
"""Numbered packs from `FROM` on, and realistic packs, for each rule-set; `make oracle` compares 100 000 of each."""


def agree(rows, rules):
    """The arrays themselves say of all rows what the kernel says of each: a block that they leave to it is a fault."""
    with tables.tables_of(rules) as lent:
        block = grade_skus(frames_of(rows), lent)
    assert answers(block, rows) == grade_rows(rows, rules)


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("version", versions())
def test_arrays_agree_with_the_kernel_on_every_numbered_pack(version, block):
    agree([row(pack(number)) for number in range(FROM + block, FROM + PACKS, BLOCKS)], load(version))


@pytest.mark.parametrize("version", versions())
def test_arrays_agree_with_the_kernel_on_a_realistic_portfolio_as_on_each_numbered_pack(version):
    rows = realistic(PACKS, seed=7 + FROM)
    agree(rows, load(version))
    grades, _, provisional = zip(*grade_rows(rows, load(version)), strict=True)
    assert len(set(grades)) >= 4
    assert len(set(provisional)) == 2


@pytest.mark.parametrize("version", versions())
def test_arrays_agree_with_the_kernel_on_the_worked_examples(version):
    records = [worked_record(each.values[1]) for each in EXAMPLES if each.values[0] == version]
    assert len(records) > 30
    agree([row(record) for record in records], load(version))


@examples(40, suppress_health_check=list(HealthCheck))
@given(records=st.lists(RECORDS, min_size=1, max_size=12), version=st.sampled_from(versions()))
def test_arrays_agree_with_the_kernel_on_any_packs(records, version):
    agree([row(record) for record in records], load(version))


def test_packs_of_very_many_parts_are_graded_as_the_kernel_grades_them():
    wide = pack(5) | {"components": [line for number in range(5, 25) for line in pack(number).get("components", ())]}
    assert len(wide["components"]) > 40
    agree([row(pack(1)), row(wide), row(pack(2)), row(wide | {"packaging_format": "tray"})], load())


def test_words_outside_the_vocabularies_are_left_to_the_kernel():
    body = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PP", "weight_g": 20.0}
    odd = row({"packaging_format": "tub", "components": [body | {"colour": "mauve"}]})
    assert grade_block([row(pack(1)), odd], load()) == grade_rows([row(pack(1)), odd], load())


def test_a_sku_without_a_graph_needs_a_material_and_a_weight():
    bare = [
        ("glass", "GL70", None, None, weight, None, None, graph)
        for weight in (None, 0.0, 12.5)
        for graph in (None, "[]")
    ]
    agree([*bare, (None,) * 8, ("paper", None, "box", "sales", 3.0, "{pharmaceutical}", None, None)], load())


def test_declarations_have_more_than_their_status():
    body = {
        "component_type": "body",
        "material_family": "plastic",
        "polymer_or_grade": "PP",
        "weight_g": 20.0,
        "id": "x",
    }
    entry = {"status": "above_limit", "value": 1200.0, "unit": "mg/kg", "evidence": "a report"}
    own = body | {"substances": {"pfas": {"status": "absent"}, "svhc": entry}}
    bare = {"packaging_format": "tub", "material": "plastic", "material_subtype": "PP", "weight_grams": 3}
    agree([row({"packaging_format": "tub", "components": [own]}), row(bare | {"svhc": entry}), row(bare)], load())


def test_blocks_are_put_together_in_order(monkeypatch):
    rows = [row(pack(number)) for number in range(100)]
    whole = grade_many(rows, load())
    monkeypatch.setattr("compliance.grading.rows.BLOCK", 7)
    assert grade_many(rows, load()) == whole
    assert grade_block([], load()) == []


def test_rows_without_components_are_left_to_the_kernels_memory(monkeypatch):
    bare = ("glass", "GL70", "jar", "sales", 3.0, None, None, None)
    rows = [bare if number % 2 else row(pack(5)) for number in range(40)]
    asked = []
    monkeypatch.setattr(steps, "grade_rows", lambda left, rules: asked.append(len(left)) or grade_rows(left, rules))
    agree(rows, load())
    assert asked == [20]


def test_rows_without_components_make_no_arrays(monkeypatch):
    bare = [("glass", "GL70", "jar", "sales", float(number), None, None, None) for number in range(40)]
    expected = grade_rows(bare, load())
    monkeypatch.delattr("compliance.grading.many.regrade.grade_block")
    monkeypatch.delattr("compliance.grading.many.regrade.regrade_block")
    assert grade_many(bare, load()) == expected
    assert regrade_many(bare, expected, [load()] * 40, load()) == [None] * 40


def test_tables_that_are_full_start_anew_and_say_the_same(monkeypatch):
    rows = [row(pack(number)) for number in range(200)]
    whole = grade_many(rows, load())
    with tables.tables_of(load()) as before:
        pass
    monkeypatch.setattr(tables, "_LARGEST", 10)
    monkeypatch.setattr("compliance.grading.rows.BLOCK", 50)
    assert grade_many(rows, load()) == whole
    with tables.tables_of(load()) as after:
        assert after is not before


def test_the_kernel_is_asked_once_for_what_is_new(monkeypatch):
    rows = [row(pack(number)) for number in range(300)]
    tables._kept.cache_clear()
    asked = []
    real = tables.outcome
    monkeypatch.setattr(tables, "outcome", lambda *args: asked.append(args[1:]) or real(*args))
    grade_many(rows, load())
    once = len(asked)
    assert once == len(set(asked)) > 100
    grade_many(rows, load())
    assert len(asked) == once


def test_few_rows_and_many_have_the_answers_of_the_kernel():
    for count in (0, 1, 24, 25, 60):
        rows = [row(pack(number)) for number in range(count)]
        assert grade_many(rows, load()) == grade_rows(rows, load())
