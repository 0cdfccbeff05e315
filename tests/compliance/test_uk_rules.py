"""The regulator's error codes: published rows with theirs, random rows against a transcription, and no valid row."""

import csv
import json
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.filings.uk.rows import Producer, submission
from compliance.filings.uk.rules import (
    FOLDER,
    FileRefused,
    codes,
    columns,
    condition,
    drinks_materials,
    faults,
    hold,
    rules,
    standing,
)
from compliance.tables import TableError, rows
from tests.compliance import uk_oracle
from tests.drawing import examples

REFUSED = json.loads((Path(__file__).parent / "data" / "uk_refused_rows.json").read_text(encoding="utf-8"))


def parsed(line):
    return dict(zip(columns(), next(csv.reader([line])), strict=True))


@pytest.mark.parametrize("published", REFUSED, ids=lambda each: each["why"])
def test_a_published_row_has_exactly_its_codes(published):
    row = parsed(published["line"])
    assert sorted(faults(row)) == sorted(published["codes"])
    assert uk_oracle.codes(row) == set(published["codes"])


def cells(*some, blank=True):
    return st.sampled_from([*some, *([""] if blank else [])])


def any_row(**fixed):
    """Rows of known codes, near misses and blanks, a third of their cells likely to be right."""
    count = cells("1", "100", "4000", "0", "007", "1,000", "-5", "2147483648", "12 ", "2.5")
    strategies = {
        "organisation_id": cells("123456", "123456", "12345", "abcdef"),
        "subsidiary_id": cells("", "AB12", "a-b", "x" * 33),
        "organisation_size": cells("L", "S", "L", "S", "M"),
        "submission_period": cells(*uk_oracle.PERIODS, "2030-H1", "2025-Q1", blank=False),
        "packaging_activity": cells(*uk_oracle.ACTIVITIES, "OM", "OM", "XX"),
        "packaging_type": cells(*uk_oracle.TYPES, "HH", "HDC", "SP", "XX"),
        "packaging_class": cells(*uk_oracle.CLASSES, "P1", "P6", "P0"),
        "packaging_material": cells(*uk_oracle.MATERIALS, "PL", "OT", "XX"),
        "packaging_material_subtype": cells("Rigid", "Flexible", "rigid", "Film", "cork", "PET", "pet1", " ", "a,b"),
        "packaging_material_weight": count,
        "packaging_material_units": count,
        "ram_rag_rating": cells(*uk_oracle.RATINGS, "B"),
    }
    blank = dict.fromkeys(columns(), "")
    return st.fixed_dictionaries({**strategies, **fixed}).map(lambda row: blank | row)


@examples(500)
@given(any_row())
def test_any_row_has_the_codes_whose_published_conditions_hold(row):
    assert faults(row) == uk_oracle.codes(row)


def valid_rows():
    """Every kind of row that the published lists allow and that a record can become, built from the lists alone."""
    large = [
        (activity, kind, klass)
        for activity in uk_oracle.ACTIVITIES
        for kind, classes in {
            "HH": ["P1", "P3"],
            "NH": ["P1", "P2", "P3", "P4"],
            "RU": ["P1", "P5"],
            "HDC": [""],
            "NDC": [""],
        }.items()
        for klass in classes
    ]
    large += [("OM", "HH", "P6"), ("OM", "NH", "P6"), ("OM", "HDC", "")]
    small = [
        (activity, kind, klass)
        for activity in uk_oracle.ACTIVITIES
        for kind, classes in {"SP": ["P1", "P2", "P3", "P4", "P6"], "HDC": [""]}.items()
        for klass in classes
    ] + [("OM", "SP", "P6"), ("OM", "HDC", "")]
    halves = [f"{year}-{half}" for year in (2025, 2026, 2027) for half in ("H1", "H2")]
    years = [f"{year}-P0" for year in (2024, 2025, 2026, 2027)]
    for size, kinds, periods in (("L", large, halves), ("S", small, years)):
        for (activity, kind, klass), period, material in product(kinds, periods, uk_oracle.MATERIALS):
            if kind in ("HDC", "NDC") and material not in ("AL", "GL", "PL", "ST"):
                continue
            for subtype, rating in product(subtypes(size, kind, klass, material), ratings(kind, klass, material)):
                if rating and size == "S":
                    continue
                if not rating and size == "L" and period != "2025-H1" and must_rate(kind, klass, material):
                    continue
                yield dict.fromkeys(columns(), "") | {
                    "organisation_id": "123456", "organisation_size": size, "submission_period": period,
                    "packaging_activity": activity, "packaging_type": kind, "packaging_class": klass,
                    "packaging_material": material, "packaging_material_subtype": subtype,
                    "packaging_material_weight": "12",
                    "packaging_material_units": "34" if kind in ("HDC", "NDC") else "", "ram_rag_rating": rating,
                }  # fmt: skip


def subtypes(size, kind, klass, material):
    if material == "OT":
        return ["cork", "other metals", "bio-based"]
    if material == "PL" and size == "L" and kind == "HH":
        return ["Rigid", "Flexible", *([""] if klass == "P6" else [])]
    return [""]


def ratings(kind, klass, material):
    return [*uk_oracle.RATINGS, ""] if kind == "HH" or must_rate(kind, klass, material) else [""]


def must_rate(kind, klass, material):
    return (kind == "HH" and klass != "P6") or (kind == "HDC" and material == "GL")


def test_no_valid_row_is_refused():
    table = list(valid_rows())
    assert len(table) > 7_000
    assert [row for row in table if faults(row)] == []
    for organisation, period in {(row["organisation_size"], row["submission_period"]) for row in table}:
        whole = [row for row in table if (row["organisation_size"], row["submission_period"]) == (organisation, period)]
        hold(whole)


def refused(*table):
    with pytest.raises(FileRefused) as found:
        hold(table)
    return found.value.numbers


def test_a_file_has_rows_and_none_of_them_twice():
    row = next(valid_rows())
    assert refused() == ["82"]
    twice = {**row, "packaging_material_weight": "999"}
    assert refused(row, twice) == ["40"]
    # Letters' case apart they are the same; another subsidiary's row is another.
    named = {**row, "packaging_material": "OT", "packaging_material_subtype": "Cork"}
    assert refused(named, {**named, "packaging_material_subtype": "cork"}) == ["40"]
    hold([row, {**row, "subsidiary_id": "A1"}])


@pytest.mark.parametrize(
    ("year", "half", "size", "expected"),
    [
        (2025, 0, "L", ["909"]),
        (2024, 1, "L", ["44"]),
        (2028, 2, "L", ["44"]),
        (2028, 0, "L", ["44", "909"]),
        (2025, 1, "S", ["910"]),
        (2023, 0, "S", ["44"]),
        (2028, 1, "S", ["44", "910"]),
    ],
)
def test_a_period_that_cannot_be_reported_is_refused_with_its_codes(year, half, size, expected):
    with pytest.raises(FileRefused) as found:
        submission(Producer("123456", size), year, half)
    assert found.value.numbers == expected


def test_what_is_wrong_with_the_producer_is_all_said_at_once():
    with pytest.raises(FileRefused, match=r"01: .*six digits\. 46: .*32 letters and digits\. 909: .*Give --half 1"):
        submission(Producer("1234567", subsidiary_id="a-b"), 2025, 0)


@pytest.mark.long
def test_every_code_within_reach_is_a_rule_that_some_row_meets():
    reach = [row for row in rows(FOLDER / "errors.csv") if row["export_can_meet"] == "Y"]
    assert len(rows(FOLDER / "errors.csv")) == 99
    assert [row["code"] for row in reach if not row["when"]] == ["40", "82"]
    assert not [row for row in rows(FOLDER / "errors.csv") if row["when"] and row["export_can_meet"] != "Y"]
    assert len(rules()) == 42
    some = [*valid_rows()][::40]
    changed = [
        {**row, column: cell} for row in some for column in columns() for cell in ("?", "", "1", "P0", "2025-P0")
    ]
    good = some[0]
    near_misses = [
        {**good, "packaging_type": "SP"},
        {**good, "packaging_type": "RU", "packaging_class": "P2"},
        {**good, "packaging_material": "OT", "packaging_material_subtype": "PET"},
        {**good, "packaging_type": "NH", "ram_rag_rating": "G"},
        {**good, "packaging_activity": "OM", "packaging_type": "RU"},
    ]
    met = {code for row in (*changed, *near_misses) for code in faults(row)}
    assert set(rules()) - met == {"40", "82"}


def test_what_a_cell_may_hold_is_what_the_rules_say_of_it():
    row = dict.fromkeys(columns(), "") | {"organisation_size": "L", "submission_period": "2026-H1"}
    household = {**row, "packaging_type": "HH", "packaging_class": "P1", "packaging_material": "GL"}
    assert standing(household, "ram_rag_rating", "G") == "needed"
    assert standing({**household, "submission_period": "2025-H1"}, "ram_rag_rating", "G") == "taken"
    assert standing({**household, "packaging_type": "NH"}, "ram_rag_rating", "G") == "refused"
    assert drinks_materials({**row, "packaging_type": "HDC"}) == ["AL", "GL", "PL", "ST"]


def test_a_condition_that_names_nothing_known_is_a_fault_of_the_table():
    for unknown in ("colour=red", "household", "!household"):
        with pytest.raises(TableError, match=r"household|colour"):
            condition(unknown)
    assert condition("packaging_class!=-|[codes]").columns == {"packaging_class"}
    assert set(codes("packaging_class")) == set(uk_oracle.CLASSES)
