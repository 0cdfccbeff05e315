"""Categories of paths: the most fixed pattern, holes, sets of unknown kind, and a table that contradicts itself."""

import csv

import pytest

from compliance import catalogue
from compliance.material_path import material_paths
from compliance.rollup import categories
from compliance.rollup.categories import category
from compliance.tables import TableError

BY_CODE = {entry.code: entry for entry in catalogue.pinned()}


@pytest.mark.parametrize(
    ("market", "path", "code", "basis"),
    [
        ("GB", "plastic/HDPE/bottle", "PL/Rigid", "own"),
        ("GB", "plastic/PET/unspecified", "PL", "own"),
        ("GB", "plastic/unspecified/flexible", "PL/Flexible", "own"),
        ("BE", "plastic/PET/bottle", "005-03/011-04", "own"),
        ("BE", "plastic/PP/bottle", "011-08", "own"),
        ("BE-VLG", "glass", "glass", "parent"),
        ("LT", "plastic/PET/rigid", "pet", "own"),
        ("LT", "plastic/PP/rigid", "plastic", "own"),
        ("GR", "composite/unsplit", "other", "eu_default"),
        ("FI", "textile", "other", "fallback"),
        ("EE", "composite/plastic_based", "muu", "fallback"),
        ("US-CA", "metal/steel", "metal", "fallback"),
        ("CA-ON", "metal/unspecified", "metal", "own"),
        ("DE", "plastic/unspecified/unspecified", "plastics", "own"),
    ],
)
def test_a_path_has_the_category_of_the_surest_level(market, path, code, basis):
    found = category(path, BY_CODE[market])
    assert (found.code, found.basis) == (code, basis)


@pytest.mark.parametrize(
    ("market", "path"),
    [
        ("DE", "metal/unspecified"),
        ("FR", "plastic/unspecified/rigid"),
        ("DK", "paper/unspecified"),
        ("BE", "composite/unspecified"),
        ("LT", "plastic/unspecified/bottle"),
    ],
)
def test_a_set_whose_kinds_have_different_categories_has_none(market, path):
    assert category(path, BY_CODE[market]) is None


def test_every_known_path_has_a_category_everywhere_and_a_code_one_name():
    for entry in catalogue.pinned():
        found = {path: category(path, entry) for path in material_paths()}
        assert all(found[path] for path, row in material_paths().items() if not row.stands_for)
        names = {(each.code, each.name) for each in found.values() if each}
        assert len(names) == len({code for code, _ in names}), entry.code


def _changed(path, change):
    with categories.PINNED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    change(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


def _row(rows, code, category_code):
    return next(row for row in rows if (row["code"], row["category_code"]) == (code, category_code))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            lambda rows: _row(rows, "DE", "glass").update(maps_from="plastic"),
            "DE: two categories fit plastic/PET/bottle",
        ),
        (lambda rows: _row(rows, "DE", "glass").update(maps_from="glas"), "DE glass: no path fits glas"),
        (lambda rows: _row(rows, "DE", "glass").update(category_code="paper"), "DE paper stands more than once"),
        (lambda rows: _row(rows, "DE", "glass").update(source_url=""), "DE glass: no source"),
    ],
)
def test_a_table_with_a_fault_is_refused_and_the_fault_named(tmp_path, change, fault):
    with pytest.raises(TableError, match=fault):
        categories.read(_changed(tmp_path / "scheme_categories.csv", change))
