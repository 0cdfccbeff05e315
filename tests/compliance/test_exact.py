"""Exact arithmetic: what Polars does to decimals unless one is careful, and that we are."""

from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.rollup.exact import GRAMS, exceeds, grams, times_units, tonnes, within_reach, written_tonnes
from tests.compliance.portfolios import rolled_up


def one(expression, **columns):
    return pl.DataFrame({name: [value] for name, value in columns.items()}).select(expression).item()


@given(st.floats(0.1, 1e12))
def test_a_weight_is_its_shortest_decimal_text(weight):
    assert one(grams("w"), w=weight) == Decimal(repr(weight))


def test_a_float_cast_straight_to_a_decimal_would_bring_its_binary_error():
    assert one(pl.col("w").cast(GRAMS), w=0.1 + 0.2) != Decimal("0.30000000000000004")
    assert one(grams("w"), w=0.1 + 0.2) == Decimal("0.30000000000000004")


@given(st.integers(0, 10**15), st.integers(0, 2**53 - 1))
def test_grams_times_units_lose_nothing(milligrams, units):
    weight = Decimal(milligrams).scaleb(-3)
    if weight * units < 10**20:
        frame = pl.DataFrame({"g": [weight], "units": [units]}, schema={"g": GRAMS, "units": pl.Int64})
        assert frame.select(times_units("g")).item() == weight * units


def test_a_product_of_two_decimals_would_be_cut():
    small = pl.DataFrame({"g": [Decimal("1.250")]}, schema={"g": pl.Decimal(12, 3)})
    assert small.select(pl.col("g") * pl.col("g")).item() == Decimal("1.562")


def test_a_grouped_sum_of_polars_would_wrap_without_a_word():
    frame = pl.DataFrame({"key": ["a"] * 2, "g": [Decimal(10) ** 19 * 9] * 2}, schema={"key": pl.String, "g": GRAMS})
    assert frame.group_by("key").agg(pl.col("g").sum())["g"].item() < 0


def test_a_sum_too_large_for_its_type_is_refused():
    within_reach(pl.Series([Decimal(10) ** 19 * 9, None], dtype=GRAMS))
    with pytest.raises(OverflowError, match="a weight must be wrong"):
        within_reach(pl.Series([Decimal(10) ** 19 * 9] * 2, dtype=GRAMS))


@pytest.mark.parametrize(
    ("weight", "units", "field"),
    [
        (1e15, 1, "components[0].weight_g"),
        (1e308, 1, "components[0].weight_g"),
        (9e11, 2**53 - 1, "volumes"),
        (25, 2**53 - 1, "volumes"),
        (1e12, 11, "volumes"),
    ],
)
def test_what_no_packaging_weighs_is_listed_and_the_rest_counts(weight, units, field):
    def sku(code, grams, placed):
        body = {"component_type": "body", "material_family": "glass", "polymer_or_grade": None, "weight_g": grams}
        return {
            "sku_code": code,
            "components": [body],
            "volumes": [{"market": "DE", "year": 2026, "units_placed": placed}],
        }

    found = rolled_up([sku("A", weight, units), sku("B", 200, 5)])
    assert found.tonnes.select("grams", "units", "skus").rows() == [(1000, 5, 1)]
    assert found.uncounted.select("sku_code", "units", "reason", "fields").rows() == [
        ("A", units, "weight_missing", [field])
    ]


def test_as_many_as_can_be_are_summed():
    body = {"component_type": "body", "material_family": "glass", "polymer_or_grade": None, "weight_g": 1e12}
    volumes = [{"market": "DE", "year": 2026, "units_placed": 10}]
    found = rolled_up([{"sku_code": code, "components": [body], "volumes": volumes} for code in "AB"])
    assert found.tonnes["grams"].to_list() == [Decimal(2 * 10**13)]


@pytest.mark.parametrize(
    ("total_grams", "figure"),
    [("0.5", "0.000001"), ("1.5", "0.000002"), ("2.5", "0.000003"), ("2.499999999999999999", "0.000002"), ("0", "0")],
)
def test_a_figure_rounds_halves_away_from_zero(total_grams, figure):
    assert written_tonnes(Decimal(total_grams)) == Decimal(figure)


def test_tonnes_keep_every_digit():
    assert tonnes(Decimal("12345678901234567890.123456789012345678")) == Decimal(
        "12345678901234.567890123456789012345678"
    )


@pytest.mark.parametrize(
    ("part", "percent", "more"),
    [("5", "5", False), ("5.000000000000000001", "5", True), ("7.5", "7.5", False), ("7.6", "7.5", True)],
)
def test_a_share_is_compared_exactly(part, percent, more):
    frame = pl.DataFrame({"part": [Decimal(part)], "whole": [Decimal(100)]}, schema={"part": GRAMS, "whole": GRAMS})
    assert frame.select(exceeds(pl.col("part"), pl.col("whole"), percent)).item() is more
