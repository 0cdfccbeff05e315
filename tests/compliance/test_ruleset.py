"""Rule-sets: the published one holds together, and one that contradicts itself is refused."""

import csv
import re
import shutil

import pytest

from compliance.ruleset import FURTHER, load, read, versions
from compliance.tables import RULES, TableError, rows
from schemas.vocabularies import VOCABULARIES

VOCABULARY_OF = {"additives": "additive"}


def _copy(tmp_path, name, change):
    folder = tmp_path / "2027-01-01"
    shutil.copytree(RULES / versions()[-1], folder)
    with (folder / name).open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    change(table)
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, table[0].keys())
        writer.writeheader()
        writer.writerows(table)
    return folder


def test_the_newest_version_is_read_once_and_named_by_its_day():
    assert load() is load() is load(versions()[-1])
    assert load().version == versions()[-1]
    assert [len(load(version).rules) for version in versions()] == [365, 411, 413]


def test_an_unknown_version_is_refused_with_those_that_exist():
    with pytest.raises(TableError, match=versions()[-1]):
        load("1999-01-01")


def test_a_copy_under_another_name_is_another_version(tmp_path):
    folder = _copy(tmp_path, "scoring.csv", lambda _: None)
    assert read(folder).version == "2027-01-01"


@pytest.mark.parametrize(
    ("name", "change", "fault"),
    [
        ("dfr_rules.csv", lambda t: t[1].update(polymer_codes="PETT"), "PETT is neither a code nor a group"),
        ("dfr_rules.csv", lambda t: t[1].update(component_types="lid"), "a component type is unknown"),
        ("dfr_rules.csv", lambda t: t[1].update(stream="PET_jar"), "stream PET_jar is not in streams.csv"),
        ("dfr_rules.csv", lambda t: t[1].update(min_share_pct="5"), "bounds and share_basis"),
        ("dfr_rules.csv", lambda t: t[1].update(effect="removed"), "removed_pct does not fit"),
        ("dfr_rules.csv", lambda t: t[3].update(attribute_value="see_through"), "colour has no such value"),
        ("dfr_rules.csv", lambda t: t[0].update(min_share_pct="most"), "another form than its column"),
        ("dfr_rules.csv", lambda t: [row.pop("effect") for row in t], "'effect' is missing"),
        ("scoring.csv", lambda t: t.remove(next(r for r in t if r["key"] == "grade_B")), "'grade_B' is missing"),
        ("dfr_rules.csv", lambda t: t.append(t[0]), "PET_BOTTLE-001 stands 2 times"),
        ("dfr_rules.csv", lambda t: t.pop(), "ANY-012 is missing"),
        ("polymer_aliases.csv", lambda t: t[0].update(canonical_code="PETT"), "PETT is not in materials.csv"),
        ("polymer_aliases.csv", lambda t: t[0].update(alias_norm="PET!"), "not in normal form"),
        ("materials.csv", lambda t: t[0].update(group="POLY"), "group POLY has no row in streams.csv"),
        ("streams.csv", lambda t: t[1].update(target_groups="PET|PE"), "two sets of target groups"),
        ("formats.csv", lambda t: t[0].update(form="film"), "key bottle has two forms or flags"),
        ("scoring.csv", lambda t: t[1].update(value="101"), "must not raise the cap"),
        ("attribute_questions.csv", lambda t: t[0].update(component_type="lid"), "component type is unknown"),
        ("attribute_questions.csv", lambda t: t[0].update(ask_fr=""), "a language has no sentence"),
        ("attribute_questions.csv", lambda t: t.append(t[0]), "colour body stands 2 times"),
        ("en18120.csv", lambda t: t[2].update(streams="PET_jar"), "stream PET_jar is not in streams.csv"),
    ],
)
def test_tables_that_contradict_each_other_are_refused(tmp_path, name, change, fault):
    with pytest.raises(TableError, match=re.escape(fault)):
        read(_copy(tmp_path, name, change))


def test_a_missing_table_is_named(tmp_path):
    folder = _copy(tmp_path, "scoring.csv", lambda _: None)
    (folder / "annex_v.csv").unlink()
    with pytest.raises(TableError, match=r"annex_v\.csv cannot be read: No such file"):
        read(folder)


def test_tables_that_grade_nothing_may_be_missing(tmp_path):
    folder = _copy(tmp_path, "scoring.csv", lambda _: None)
    whole = read(folder)
    for name in FURTHER:
        (folder / name).unlink()
    assert (whole.questions, whole.en18120) == (load().questions, load().en18120)
    for rules in (read(folder), load("2026-11-21")):
        assert (dict(rules.questions), rules.en18120) == ({}, ())


def test_the_question_of_a_part_goes_before_the_one_of_any():
    for question in load().questions.values():
        assert load().question(question.field, question.component_type) == question
    assert load().question("metallised", "cap") == load().questions["metallised", ""]
    assert load().question("no_such_field", "cap") is None


def test_the_design_attributes_are_those_of_the_contract():
    for field, values in load().vocabularies.items():
        if field not in ("metallised", "direct_print", "svhc"):
            assert values == VOCABULARIES[VOCABULARY_OF.get(field, field)], field


def test_every_rule_and_material_names_where_it_comes_from():
    for row in rows(RULES / versions()[-1] / "dfr_rules.csv"):
        assert row["source_url"], row["rule_id"]
        assert row["basis"] in ("source", "extended", "ours"), row["rule_id"]
