"""Shares over the parts of a SKU: what is missing is bounded, and decides only where it can change the verdict."""

from fractions import Fraction
from itertools import product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.weights import PARTS_SCHEMA, judge_shares
from tests.drawing import examples

HUGE = 10**15


def judged(minimum, *parts):
    """Least, most and verdict of one SKU whose parts are pairs of grams and percent."""
    rows = [("A", grams, share, minimum) for grams, share in parts]
    [(_, least, most, verdict)] = judge_shares(pl.DataFrame(rows, schema=PARTS_SCHEMA, orient="row")).iter_rows()
    return least, most, verdict


@pytest.mark.parametrize(
    ("minimum", "parts", "answer"),
    [
        (30, [(90, 100), (10, None)], (90, 100, "meets")),
        (30, [(90, 0), (10, None)], (0, 10, "below")),
        (30, [(50, 20), (50, None)], (10, 60, "undecided")),
        (30, [(50, 20), (None, 40)], (20, 40, "undecided")),
        (30, [(50, 30), (None, 40)], (30, 40, "meets")),
        (30, [(50, 20), (None, 30)], (20, 30, "below")),
        (30, [(None, 20), (None, 30)], (20, 30, "undecided")),
        (30, [(None, 30)], (30, 30, "meets")),
        (30, [(5, None)], (0, 100, "undecided")),
        (30, [(5, 30), (0, None)], (30, 30, "meets")),
        (30, [(0, 20), (0, 40)], (20, 40, "undecided")),
        (30, [(0.3, 29), (0.1, 33)], (30, 30, "meets")),
    ],
)
def test_the_least_and_the_most_possible_decide(minimum, parts, answer):
    """decisions §13, bounds instead of silence: caps without a value left every item *not recorded*."""
    least, most, verdict = judged(minimum, *parts)
    assert (pytest.approx(least), pytest.approx(most), verdict) == answer


WEIGHTS = st.none() | st.sampled_from([0, 0.125, 1, 2.5, 10, 1000])
SHARES = st.none() | st.sampled_from([0, 10, 29, 30, 31, 50, 99, 100])


@examples(300)
@given(st.sampled_from([0, 10, 30, 35, 50, 100]), st.lists(st.tuples(WEIGHTS, SHARES), min_size=1, max_size=4))
def test_the_verdict_is_that_of_every_completion(minimum, parts):
    _, _, verdict = judged(minimum, *parts)
    if all(grams == 0 for grams, _ in parts):  # nothing weighs anything: the weights are not known
        parts = [(None, share) for _, share in parts]
    found = set()
    for grams in product(*([each] if each is not None else [0, 1, HUGE] for each, _ in parts)):
        weights = [Fraction(1)] if len(parts) == 1 else [Fraction(each) for each in grams]
        if not sum(weights):
            continue
        for shares in product(*([each] if each is not None else [0, minimum, 100] for _, each in parts)):
            mean = sum(one * other for one, other in zip(weights, shares, strict=True)) / sum(weights)
            found.add("meets" if mean >= minimum else "below")
    assert found == ({"meets", "below"} if verdict == "undecided" else {verdict})


@examples(100)
@given(st.lists(st.lists(st.tuples(WEIGHTS, SHARES), min_size=1, max_size=3), min_size=1, max_size=5))
def test_many_skus_are_judged_as_each_alone(portfolio):
    rows = [(f"S{place}", *part, 30) for place, parts in enumerate(portfolio) for part in parts]
    found = judge_shares(pl.DataFrame(rows, schema=PARTS_SCHEMA, orient="row"))
    assert [row[1:] for row in found.iter_rows()] == [judged(30, *parts) for parts in portfolio]
