"""Units of a period: a half from its own row, a year from its row or both halves, never added to each other."""

import pytest

from compliance.rollup.periods import halves_of
from compliance.rollup.tonnes import combine_blocks
from tests.compliance.portfolios import rolled_up


def placed(**units):
    """Grams of a SKU of one gram are its units, by half; and what is listed, by half."""
    rows = [
        {"market": "GB", "year": 2026, "half": half, "units_placed": units[name]}
        for half, name in enumerate(("year", "first", "second"))
        if name in units
    ]
    body = {"component_type": "body", "material_family": "glass", "polymer_or_grade": None, "weight_g": 1}
    found = rolled_up([{"sku_code": "A", "components": [body], "volumes": rows}])
    counted = {row["half"]: int(row["grams"]) for row in found.tonnes.iter_rows(named=True)}
    listed = {
        row["half"]: (row["units"], row["reason"], row["fields"]) for row in found.uncounted.iter_rows(named=True)
    }
    return counted, listed


MISSING = (None, "half_missing", ["volumes"])


def lower_bound(units):
    """A year of which one half is there: that half counts (decisions §13, rollup.md §1.3)."""
    return (units, "half_missing", ["volumes"])


@pytest.mark.parametrize(
    ("rows", "counted", "listed"),
    [
        ({"first": 600, "second": 400}, {0: 1000, 1: 600, 2: 400}, {}),
        ({"year": 1000, "first": 600, "second": 400}, {0: 1000, 1: 600, 2: 400}, {}),
        ({"year": 1000}, {0: 1000}, {1: MISSING, 2: MISSING}),
        ({"first": 600}, {0: 600, 1: 600}, {0: lower_bound(600)}),
        ({"second": 600}, {0: 600, 2: 600}, {0: lower_bound(600)}),
        ({"first": 0}, {}, {}),
        ({"first": 0, "second": 5}, {0: 5, 2: 5}, {}),
        ({"year": None, "first": 600, "second": 400}, {0: 1000, 1: 600, 2: 400}, {}),
        ({"year": 1000, "first": None, "second": None}, {0: 1000}, {1: MISSING, 2: MISSING}),
        ({"year": 1000, "first": 600}, {0: 1000, 1: 600}, {2: MISSING}),
        ({}, {}, {}),
    ],
)
def test_a_period_counts_what_is_held_for_it(rows, counted, listed):
    assert placed(**rows) == (counted, listed)


@pytest.mark.parametrize(
    ("rows", "counted", "fields"),
    [
        ({"year": 40_000, "first": 20_000, "second": 19_000}, 40_000, ["year: 40000", "halves: 39000"]),
        ({"year": 38_000, "first": 20_000, "second": 19_000}, 38_000, ["year: 38000", "halves: 39000"]),
        ({"year": 10, "first": 20}, 10, ["year: 10", "halves: 20"]),
    ],
)
def test_a_year_and_halves_that_differ_are_listed_and_the_year_counts(rows, counted, fields):
    found, listed = placed(**rows)
    assert found[0] == counted
    assert listed[0] == (counted, "half_year_conflict", fields)


@pytest.mark.parametrize(
    ("rows", "there", "missing"),
    [
        ([{1: 600}], (1,), 2),
        ([{2: 0}], (2,), 1),
        ([{1: 600, 2: 400}], (1, 2), None),
        ([{1: 600}, {2: 400}], (1, 2), None),
        ([{0: 1000}], (), None),
        ([{0: 1000, 1: 600}], (1,), None),
        ([{0: 1000}, {1: 600}], (1,), 2),
        ([{1: 600, 2: None}], (1,), 2),
    ],
)
def test_a_half_is_there_once_any_sku_has_a_row_and_missing_where_the_other_alone_is(rows, there, missing):
    """decisions §13; of a company that records some SKUs whole and others by one half, the year is not whole."""
    skus = [
        {
            "sku_code": f"S{place}",
            "volumes": [
                {"market": "UK", "year": 2026, "half": half, "units_placed": units} for half, units in row.items()
            ],
        }
        for place, row in enumerate(rows)
    ]
    for found in (rolled_up(skus), combine_blocks(rolled_up([sku]) for sku in skus)):
        assert halves_of(found.halves, "GB", 2026) == (there, missing)
        assert halves_of(found.halves, "GB", 2025) == ((), None)
        assert halves_of(found.halves, "DE", 2026) is None


def test_a_year_of_nothing_beside_halves_is_a_conflict_and_no_tonne():
    found, listed = placed(year=0, first=5, second=5)
    assert 0 not in found
    assert listed[0] == (0, "half_year_conflict", ["year: 0", "halves: 10"])
