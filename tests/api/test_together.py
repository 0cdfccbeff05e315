"""Which calls go together: the first of a caller at once, those that come meanwhile as one group, each answered."""

import asyncio
from collections.abc import Coroutine, Sequence
from contextvars import ContextVar
from threading import Event
from typing import Any

import pytest

from api import together
from api.together import Together
from tests.waiting import PATIENCE_SECONDS

MARK: ContextVar[str] = ContextVar("MARK", default="nobody's")


class Held:
    """What is done, held back until it is let go: notes its groups and whose context each ran in."""

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


async def until(what: Any) -> None:
    while not what():
        await asyncio.sleep(0.001)


async def joined(held: Held, calls: Sequence[tuple[str, Any]]) -> list[Any]:
    """The outcomes of calls that come one after the other while the first of them are held."""
    here = Together()
    tasks = [asyncio.create_task(here.join(caller, call, held.do)) for caller, call in calls]
    callers = {caller for caller, _ in calls}
    await until(lambda: len(held.groups) == here.under_way == len(callers))
    assert here.waiting == len(calls) - len(callers)
    held.gate.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert here.under_way == here.waiting == 0, "nothing is left of what has been answered"
    return outcomes


def test_what_comes_meanwhile_goes_together(patient: None, held: Held) -> None:
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


def test_what_takes_too_long_holds_nobody_up(held: Held) -> None:
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


def test_a_group_that_is_full_waits_for_nothing_else(
    patient: None, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "MOST", 3)

    async def work() -> list[str]:
        here = Together()
        tasks = [asyncio.create_task(here.join("a", number, held.do)) for number in range(6)]
        await until(lambda: len(held.groups) == 2)
        held.gate.set()
        return list(await asyncio.gather(*tasks))

    assert run(work()) == [f"{number}!" for number in range(6)]
    assert held.groups == [[0], [1, 2, 3], [4, 5]]


def test_who_gives_up_takes_nothing_from_the_others(patient: None, held: Held) -> None:
    async def work() -> list[Any]:
        here = Together()
        tasks = [asyncio.create_task(here.join("a", number, held.do)) for number in range(4)]
        await until(lambda: held.groups)
        tasks[2].cancel()
        await asyncio.sleep(0)
        held.gate.set()
        return list(await asyncio.gather(*tasks, return_exceptions=True))

    outcomes = run(work())
    assert isinstance(outcomes.pop(2), asyncio.CancelledError)
    assert outcomes == ["0!", "1!", "3!"]


def test_a_group_is_in_nobodys_context(patient: None, held: Held) -> None:
    """A log line that is written within would else name the request of whoever came before."""

    async def marked(here: Together, mark: str) -> None:
        MARK.set(mark)
        await here.join("a", mark, held.do)

    async def work() -> None:
        here = Together()
        tasks = [asyncio.create_task(marked(here, f"m{number}")) for number in range(3)]
        await until(lambda: held.groups)
        held.gate.set()
        await asyncio.gather(*tasks)

    run(work())
    assert held.marks == ["m0", "nobody's"]
