"""Groups calls of one caller that come while another of theirs is under way: they are done together when it is done.

Most of what a call costs is not its own: a thread, a connection, the waits for the database. A caller with many
connections shares that among them; one with a single connection waits for nobody (decision 0112). What belongs here:
which calls go together, and when. What does not: what is done with them (`api.skus.writing`).
"""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from contextvars import Context, copy_context
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar  # Any: calls and results, which `do` knows

from starlette.concurrency import run_in_threadpool

C = TypeVar("C")
R = TypeVar("R")
P = ParamSpec("P")

MOST: Final = 32
"""Calls of one group: their rows stay locked until the last of them is stored."""
PATIENCE_SECONDS: Final = 0.05
"""How long a call waits for a group under way, which may itself wait for a row that the call does not touch."""


def caught(make: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | Exception:
    """Return the result of a function, or the exception that it raises: one call's stops no other."""
    try:
        return make(*args, **kwargs)
    except Exception as error:
        return error


class _Waiting(NamedTuple):
    """A call, whoever waits for its result, and the context in which it was made."""

    call: Any
    result: asyncio.Future[Any]
    context: Context


class Together:
    """The calls that are under way and those that wait, by their callers. For one event loop."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, list[_Waiting]] = {}
        self._waiting: dict[Hashable, list[_Waiting]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def under_way(self) -> int:
        """Return how many groups are being done for which others wait."""
        return len(self._under_way)

    @property
    def waiting(self) -> int:
        """Return how many calls wait for a group under way."""
        return sum(map(len, self._waiting.values()))

    async def join(self, caller: Hashable, call: C, do: Callable[[Sequence[C]], Sequence[R | Exception]]) -> R:
        """Return the result of a call: alone where none of the caller's is under way, else in the next group.

        `do` runs in a thread, and is the same for all calls of a caller. It returns for each call its result or the
        exception to raise; what it raises itself is raised for every call of the group.
        """
        result: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(caller, [])
        waiting.append(_Waiting(call, result, copy_context()))
        if caller not in self._under_way or len(waiting) == MOST:
            self._begin(caller, do)
        return await result

    def _begin(self, caller: Hashable, do: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        """Begin with the calls that wait. A group of several is nobody's request: its log lines name none."""
        group = self._under_way[caller] = self._waiting.pop(caller)
        context = group[0].context if len(group) == 1 else Context()
        task = asyncio.get_running_loop().create_task(self._do(caller, group, do), context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _do(self, caller: Hashable, group: list[_Waiting], do: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        overdue = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, self._go_on, caller, group, do)
        try:
            outcomes = await run_in_threadpool(do, [waiting.call for waiting in group])
        except Exception as error:
            outcomes = [error] * len(group)
        finally:
            overdue.cancel()
            self._go_on(caller, group, do)
        for waiting, outcome in zip(group, outcomes, strict=True):
            if waiting.result.done():  # its caller is gone
                continue
            if isinstance(outcome, Exception):
                waiting.result.set_exception(outcome)
            else:
                waiting.result.set_result(outcome)

    def _go_on(self, caller: Hashable, group: list[_Waiting], do: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        """Let nobody wait for this group any more."""
        if self._under_way.get(caller) is group:
            del self._under_way[caller]
            if caller in self._waiting:
                self._begin(caller, do)
