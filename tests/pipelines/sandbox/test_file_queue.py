"""Whose file is next: no company has two at once, nor comes twice before another has come once."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.readers.pool import MOST_WAITING, FileQueue, QueueFull


def taken(queue: FileQueue[str]) -> str:
    found = queue.take()
    assert found is not None
    return found[1]


def test_companies_come_in_turn_and_one_file_of_each_at_a_time() -> None:
    queue = FileQueue[str]()
    for name in ("a1", "a2", "a3", "b1", "c1"):
        queue.add(name[0], "company", name)
    assert [taken(queue) for _ in range(3)] == ["a1", "b1", "c1"]
    assert queue.take() is None
    queue.done("a")
    assert taken(queue) == "a2"


def test_a_link_without_an_account_takes_turns_with_its_company() -> None:
    queue = FileQueue[str]()
    for number in range(3):
        queue.add("a", "supplier", f"supplier {number}")
    queue.add("a", "company", "own")
    came = []
    for _ in range(4):
        came.append(taken(queue))
        queue.done("a")
    assert came == ["supplier 0", "own", "supplier 1", "supplier 2"]


def test_a_company_waits_with_so_many_files_and_no_more() -> None:
    queue = FileQueue[str]()
    for number in range(MOST_WAITING):
        queue.add("a", "company", str(number))
    with pytest.raises(QueueFull):
        queue.add("a", "supplier", "one more")
    queue.add("b", "company", "another's")
    assert len(queue.drain()) == MOST_WAITING + 1
    assert queue.take() is None


STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["add", "add", "take", "done"])), max_size=60)


@given(STEPS)
def test_whatever_comes_each_is_taken_once_in_the_order_of_its_company(steps: list[tuple[str, str]]) -> None:
    queue, number = FileQueue[str](), count()
    waiting, reading, waited = {name: list[str]() for name in "abc"}, set[str](), dict.fromkeys("abc", 0)
    for company, step in steps:
        if step == "add":
            waiting[company].append(f"{next(number)}")
            queue.add(company, "company", waiting[company][-1])
        elif step == "done":
            queue.done(company)
            reading.discard(company)
        elif (found := queue.take()) is None:
            assert not [name for name in "abc" if waiting[name] and name not in reading]
        else:
            who, one = found
            assert who not in reading
            assert waiting[str(who)].pop(0) == one
            reading.add(str(who))
            for name in "abc":
                passed_over = name != who and waiting[name] and name not in reading
                waited[name] = waited[name] + 1 if passed_over else 0
                assert waited[name] < 3
        assert queue.under_way == len(reading)
        assert queue.ready == len([name for name in "abc" if waiting[name] and name not in reading])
