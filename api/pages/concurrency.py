"""Limits concurrent work of pages and figures that takes a core or much memory: a few at a time in one process.

A request waits while all places are taken; the other pages and the REST API do not wait.
"""

from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Final, Literal, ParamSpec, TypeVar, TypeVarTuple, cast

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

P = ParamSpec("P")
T = TypeVar("T")
Given = TypeVarTuple("Given")
Kind = Literal["password", "portfolio"]

MAX_CONCURRENT: Final[dict[Kind, int]] = {"password": 2, "portfolio": 4}
"""Concurrent tasks of each kind: a password's hash uses a core and 19 MiB; a query of a whole portfolio two threads and
at most 1 GiB.
"""


async def run_limited(request: Request, kind: Kind, work: Callable[[*Given], T], *arguments: *Given) -> T:
    """Return the result of `work`, run in a thread when there is a place for its kind."""
    return await to_thread.run_sync(work, *arguments, limiter=_limiter(request, kind))


def limited(kind: Kind) -> Callable[[Callable[P, T]], Callable[P, Awaitable[T]]]:
    """Declare a handler that runs in a thread when there is a place for its kind; it has a parameter `request`."""

    def declare(handler: Callable[P, T]) -> Callable[P, Awaitable[T]]:
        @wraps(handler)
        async def run(*args: P.args, **keywords: P.kwargs) -> T:
            return await run_limited(cast(Request, keywords["request"]), kind, partial(handler, *args, **keywords))

        return run

    return declare


def _limiter(request: Request, kind: Kind) -> CapacityLimiter:
    """Return this process's limiter, made in its event loop."""
    state, name = request.app.state, f"{kind}_limiter"
    if not hasattr(state, name):
        setattr(state, name, CapacityLimiter(MAX_CONCURRENT[kind]))
    limiter: CapacityLimiter = getattr(state, name)
    return limiter
