"""The stated weight of a SKU and the sum of its parts (decisions §3 and §13)."""

from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compliance.weights import repeats_sum, weight_mismatch, weight_source
from tests.drawing import examples


@pytest.mark.parametrize(
    ("stated_g", "parts_g", "differ"),
    [
        (32.1, 27.1, True),
        (100, 95, False),
        (100, 94.9, True),
        (100, 105.1, True),
        (0, 1, True),
        (0, 0, False),
        (None, 1, False),
        (1, None, False),
    ],
)
def test_two_weights_differ_by_more_than_a_twentieth_of_the_stated_one(stated_g, parts_g, differ):
    found = weight_mismatch(stated_g, parts_g)
    assert (found is not None) is differ
    if found:
        assert (found.code, found.field) == ("weight_mismatch", "weight_grams")
        assert f"{stated_g:g} g" in found.message


@examples(300)
@given(st.decimals("0.001", "10000000", places=3), st.sampled_from(["0.95", "1.05"]), st.sampled_from([-1, 0, 1]))
@example(Decimal("0.3"), "1.05", 0)
def test_the_bound_itself_is_no_mismatch_whatever_the_floats(stated, share, step):
    parts = stated * Decimal(share) + step * Decimal("0.000001")
    differs = abs(stated - parts) > stated * Decimal("0.05")
    assert (weight_mismatch(float(stated), float(parts)) is not None) is differs


def test_weights_are_told_whole():
    assert "1234567.5 g" in str(weight_mismatch(1234567.5, 1).message)


def test_the_source_is_that_of_the_weight_that_is_answered():
    assert [weight_source(30, 27), weight_source(0, 27), weight_source(None, 27), weight_source(None, None)] == [
        "declared",
        "declared",
        "components",
        None,
    ]


def test_a_weight_repeats_a_sum_where_only_the_last_digits_of_a_file_differ():
    assert repeats_sum(27.1, None, 27.1)
    assert repeats_sum(0.30000000000000004, 0.3)
    assert not repeats_sum(27.2, 27.1, None)
