"""The stated weight of a SKU and the sum of its parts (decisions §3 and §13)."""

import pytest

from compliance.weights import repeats_sum, weight_mismatch, weight_source


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
