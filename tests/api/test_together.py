"""Which calls go together: the first of a caller at once, those that come meanwhile as one group."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextvars import ContextVar
from threading import Event
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.http import together
from api.http.together import MOST, Together
from tests.waiting import PATIENCE_SECONDS

MARK: ContextVar[str] = ContextVar("MARK", default="nobody's")


class Held:
    """What does the calls, held back until it is let go: it notes its groups, and whose context each ran in."""

    def __init__(self) -> None:
        self.groups: list[list[Any]] = []
        self.marks: list[str] = []
        self.gate = Event()

    def do(self, calls: Sequence[Any]) -> list[Any]:
        self.groups.append(list(calls))
        self.marks.append(MARK.get())
        assert self.gate.wait(PATIENCE_SECONDS)
        if "all" in calls:
            raise ConnectionError("all")
        return [ValueError(call) if call == "bad" else f"{call}!" for call in calls]


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "PATIENCE_SECONDS", 10 * PATIENCE_SECONDS)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, PATIENCE_SECONDS))


async def until(happened: Callable[[], object]) -> None:
    while not happened():
        await asyncio.sleep(0.001)


async def joined(held: Held, calls: Sequence[tuple[str, Any]]) -> list[Any]:
    """The outcomes of calls that come one after the other while the first of them are held."""
    here = Together()
    tasks = [asyncio.create_task(here.join(caller, call, held.do)) for caller, call in calls]
    callers = {caller for caller, _ in calls}
    await until(lambda: len(held.groups) == here.under_way == len(callers))
    held.gate.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert here.under_way == here.waiting == 0, "nothing is left of what has been answered"
    return outcomes


def test_calls_that_come_meanwhile_go_together(patient: None, held: Held) -> None:
    calls = [("a", number) for number in range(7)]
    assert run(joined(held, calls)) == [f"{number}!" for number in range(7)]
    assert held.groups == [[0], [1, 2, 3, 4, 5, 6]]


def test_another_caller_waits_for_nobody(patient: None, held: Held) -> None:
    calls = [("a", 1), ("a", 2), ("b", 3), ("c", 4)]
    assert run(joined(held, calls)) == ["1!", "2!", "3!", "4!"]
    assert sorted(held.groups) == [[1], [2], [3], [4]]


def test_one_call_after_the_other_is_done_by_itself(held: Held) -> None:
    async def one_by_one() -> list[str]:
        here = Together()
        return [await here.join("a", number, held.do) for number in range(3)]

    held.gate.set()
    assert run(one_by_one()) == ["0!", "1!", "2!"]
    assert held.groups == [[0], [1], [2]]


def test_the_exception_of_one_is_its_own_and_that_of_the_group_everybodys(patient: None, held: Held) -> None:
    calls = [("a", "bad"), ("a", 1), ("a", "bad"), ("a", 2), ("b", 3), ("b", 4), ("b", "all"), ("c", "all")]
    outcomes = run(joined(held, calls))
    assert [outcomes[at] for at in (1, 3, 4)] == ["1!", "2!", "3!"]
    assert [type(outcomes[at]) for at in (0, 2, 5, 6, 7)] == [ValueError] * 2 + [ConnectionError] * 3


def test_a_group_that_takes_long_holds_nobody_up(held: Held) -> None:
    async def work() -> list[str]:
        here = Together()
        tasks = [asyncio.create_task(here.join("a", number, held.do)) for number in range(4)]
        await until(lambda: len(held.groups) == 2)  # though the first has not ended
        await until(lambda: not here.under_way)
        tasks.append(asyncio.create_task(here.join("a", 4, held.do)))
        await until(lambda: len(held.groups) == 3)
        held.gate.set()
        return list(await asyncio.gather(*tasks))

    assert run(work()) == [f"{number}!" for number in range(5)]
    assert held.groups == [[0], [1, 2, 3], [4]]


def test_a_full_group_waits_for_nothing_else(patient: None, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "MOST", 3)

    async def work() -> list[str]:
        here = Together()
        tasks = [asyncio.create_task(here.join("a", number, held.do)) for number in range(6)]
        await until(lambda: len(held.groups) == 2)
        held.gate.set()
        return list(await asyncio.gather(*tasks))

    assert run(work()) == [f"{number}!" for number in range(6)]
    assert sorted(held.groups) == [[0], [1, 2, 3], [4, 5]], "threads begin in any order"


def test_a_caller_that_gives_up_takes_nothing_from_the_others(patient: None, held: Held) -> None:
    async def work() -> list[Any]:
        here = Together()
        tasks = [asyncio.create_task(here.join("a", number, held.do)) for number in range(4)]
        await until(lambda: held.groups)
        tasks[0].cancel()
        tasks[2].cancel()
        await asyncio.sleep(0)
        held.gate.set()
        return list(await asyncio.gather(*tasks, return_exceptions=True))

    outcomes = run(work())
    assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError, str] * 2
    assert held.groups == [[0], [1, 2, 3]], "its call is done all the same, as one that is alone"


def test_one_is_done_in_its_own_context_and_a_group_in_nobodys(patient: None, held: Held) -> None:
    """A log line that is written within would else name the request of whoever came before."""

    async def marked(here: Together, mark: str) -> None:
        MARK.set(mark)
        await here.join("a", mark, held.do)

    async def work(count: int) -> None:
        here = Together()
        tasks = [asyncio.create_task(marked(here, f"m{number}")) for number in range(count)]
        await until(lambda: held.groups)
        held.gate.set()
        await asyncio.gather(*tasks)

    run(work(3))
    assert held.marks == ["m0", "nobody's"]
    held.gate.clear()
    held.groups.clear()
    run(work(2))
    assert held.marks[2:] == ["m0", "m1"], "the one that waited alone has not the context of the first"


_CALLS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0, 0, 1, 5])), max_size=2 * MOST)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=_CALLS, most=st.integers(1, 5))
def test_each_call_is_done_once_in_the_order_of_its_caller_and_never_with_anothers(
    monkeypatch: pytest.MonkeyPatch, calls: list[tuple[str, int]], most: int
) -> None:
    """`calls` are callers, each with the number of turns of the loop after which the next one comes."""
    monkeypatch.setattr(together, "MOST", most)
    groups: list[list[tuple[str, int]]] = []

    def do(group: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        groups.append(list(group))
        return list(group)

    async def work() -> list[tuple[str, int]]:
        here, tasks = Together(), []
        for number, (caller, turns) in enumerate(calls):
            tasks.append(asyncio.create_task(here.join(caller, (caller, number), do)))
            for _ in range(turns):
                await asyncio.sleep(0)
        results = list(await asyncio.gather(*tasks))
        assert here.under_way == here.waiting == 0
        return results

    each = [(caller, number) for number, (caller, _) in enumerate(calls)]
    assert run(work()) == each
    assert sorted(call for group in groups for call in group) == sorted(each)
    for group in groups:
        assert len(group) <= most
        assert len({caller for caller, _ in group}) == 1
        assert group == sorted(group)
