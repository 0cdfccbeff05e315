"""Groups calls of one caller that arrive while another of theirs is running, and runs them together after it.

Most of the cost of a call is not its own: a thread, a connection, the waits for the database. A caller with many
connections shares that cost among them; one with a single connection never waits. What belongs here: which calls are
grouped, and when. What does not: what is done with them (`api.writing`).
"""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

from starlette.concurrency import run_in_threadpool

C = TypeVar("C")
R = TypeVar("R")
Do: TypeAlias = Callable[[Sequence[C]], Sequence[R | Exception]]
P = ParamSpec("P")

MOST: Final = 32
"""Most calls of one group: their rows stay locked until the last of them is stored."""
PATIENCE_SECONDS: Final = 0.05
"""Longest wait for a running group: it may itself wait for a row that the others do not touch."""


def caught(make: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | Exception:
    """Return a function's result, or the exception that it raises: in a group, no exception stops the others."""
    try:
        return make(*args, **kwargs)
    except Exception as error:
        return error


@dataclass(slots=True, eq=False)
class _Group:
    """Calls of one caller, and the callers that wait for their results."""

    caller: Hashable
    do: Do[Any, Any]
    calls: list[Any] = field(default_factory=list)
    futures: list[asyncio.Future[Any]] = field(default_factory=list)


class Together:
    """Running and waiting calls by caller, for one event loop."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, _Group] = {}
        self._waiting: dict[Hashable, _Group] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def under_way(self) -> int:
        """Number of running groups for which other calls wait."""
        return len(self._under_way)

    @property
    def waiting(self) -> int:
        """Number of calls that wait for the next group."""
        return sum(len(group.calls) for group in self._waiting.values())

    async def join(self, caller: Hashable, call: C, do: Do[C, R]) -> R:
        """Return the result of one call: run by itself where none of the caller's is running, else in the next group.

        `do` is run in a thread and is the same for all calls of a caller. It returns for each call its result or the
        exception to raise; what it raises itself is raised for every call of the group.
        """
        if caller in self._under_way:
            return await self._wait(caller, call, do)
        [outcome] = await self._done(self._begun(_Group(caller, do, [call])))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome  # type: ignore[no-any-return]  # what `do` made

    def _wait(self, caller: Hashable, call: C, do: Do[C, R]) -> asyncio.Future[R]:
        group = self._waiting.setdefault(caller, _Group(caller, do))
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        group.calls.append(call)
        group.futures.append(future)
        if len(group.calls) == MOST:
            self._go_on(caller)
        return future

    def _begun(self, group: _Group) -> _Group:
        self._under_way[group.caller] = group
        return group

    async def _done(self, group: _Group) -> Sequence[Any]:
        overdue = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, self._end, group)
        try:
            return await run_in_threadpool(group.do, group.calls)
        finally:
            overdue.cancel()
            self._end(group)

    def _end(self, group: _Group) -> None:
        """End the group: no call waits for it any more."""
        if self._under_way.get(group.caller) is group:
            del self._under_way[group.caller]
            if group.caller in self._waiting:
                self._go_on(group.caller)

    def _go_on(self, caller: Hashable) -> None:
        """Start the waiting calls. This belongs to no request, so that no log line has one request's correlation id."""
        group = self._begun(self._waiting.pop(caller))
        task = asyncio.get_running_loop().create_task(self._answer(group), context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, group: _Group) -> None:
        try:
            outcomes = await self._done(group)
        except Exception as error:
            outcomes = [error] * len(group.calls)
        for future, outcome in zip(group.futures, outcomes, strict=True):
            if future.done():  # its caller disconnected
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)
