"""The hash table of keys: the same numbers as a dictionary, whatever the keys and the order of the questions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from compliance.grading.many.keys import Keys, Lists, any_in, ranges, sums
from tests.drawing import examples

KEYS = st.lists(st.integers(0, 40) | st.integers(0, 2**62), max_size=60)


@examples(60)
@given(blocks=st.lists(KEYS, max_size=6))
def test_each_key_keeps_the_number_that_it_was_given(blocks):
    table, known = Keys(), {}
    for block in blocks:
        asked = []
        found = table.numbers(np.array(block, np.int64), lambda key: asked.append(key) or 3 * key % 1_000_003)  # noqa: B023
        assert sorted(asked) == sorted(set(block) - set(known))
        known.update({key: 3 * key % 1_000_003 for key in block})
        assert found.tolist() == [known[key] for key in block]


def test_a_table_grows():
    keys = np.arange(0, 200_000, 3, dtype=np.int64) << 20
    table = Keys()
    for part in np.array_split(keys, 7):
        table.numbers(part, lambda key: key >> 20)
    assert (table.numbers(keys, lambda key: -key) == keys >> 20).all()
    assert table.count == keys.size


@given(lists=st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=9), data=st.data())
def test_lists_are_spread_in_their_order(lists, data):
    table = Lists()
    numbers = [table.append(each) for each in lists]
    asked = data.draw(st.lists(st.sampled_from(numbers), max_size=9))
    owner, within, members = table.expand(np.array(asked, np.int64))
    expected = [(place, at, each) for place, which in enumerate(asked) for at, each in enumerate(lists[which])]
    assert list(zip(owner.tolist(), within.tolist(), members.tolist(), strict=True)) == expected


def test_sums_are_added_in_order():
    weights = np.array([0.1, 1e16, -1e16, 0.2, 0.7])
    assert sums(np.array([0, 0, 0, 1, 1]), weights, 3).tolist() == [0.1 + 1e16 - 1e16, 0.2 + 0.7, 0.0]
    assert any_in(np.array([0, 2, 2]), np.array([False, False, True]), 4).tolist() == [False, False, True, False]
    assert [each.tolist() for each in ranges(np.array([7, 4, 9]), np.array([2, 0, 1]))] == [[0, 0, 2], [7, 8, 9]]
