"""What a program repeats: all pages of a list, the feed of changes, and waiting until an import ends.

Each takes the function of an operation (its `sync`, or its `asyncio` for the asynchronous ones) and its arguments.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar

Page = TypeVar("Page")
Status = TypeVar("Status")

_LAST = frozenset({"completed", "failed"})


def pages(operation: Callable[..., Page | None], **arguments: Any) -> Iterator[Page]:
    """Yield the pages of a list, or of the feed from `after` to its end; the next is fetched when it is asked for."""
    following: dict[str, Any] | None = arguments
    while following is not None and (page := operation(**following)) is not None:
        yield page
        following = _following(page, following)


async def pages_async(operation: Callable[..., Awaitable[Page | None]], **arguments: Any) -> AsyncIterator[Page]:
    """Yield the pages of a list, or of the feed from `after` to its end."""
    following: dict[str, Any] | None = arguments
    while following is not None and (page := await operation(**following)) is not None:
        yield page
        following = _following(page, following)


def readings(operation: Callable[..., Status | None], *, seconds: float = 2, **arguments: Any) -> Iterator[Status]:
    """Yield what an import or an export says of itself every so many seconds; its last reading is the end of it."""
    while (status := operation(**arguments)) is not None:
        yield status
        if _status(status) in _LAST:
            return
        time.sleep(seconds)


async def readings_async(
    operation: Callable[..., Awaitable[Status | None]], *, seconds: float = 2, **arguments: Any
) -> AsyncIterator[Status]:
    """Yield what an import or an export says of itself every so many seconds; its last reading is the end of it."""
    while (status := await operation(**arguments)) is not None:
        yield status
        if _status(status) in _LAST:
            return
        await asyncio.sleep(seconds)


def _status(status: Any) -> str:
    return str(getattr(status, "status", None) or status.data.status)


def _following(page: Any, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of the page after this one; None after the last."""
    if hasattr(page, "has_more"):
        return {**arguments, "after": page.next_cursor} if page.has_more else None
    if "cursor" in arguments:
        cursor = getattr(page, "next_cursor", None) or getattr(page.pagination, "next_cursor", None)
        return {**arguments, "cursor": cursor} if cursor else None
    end = page.pagination.offset + len(page.data)
    return {**arguments, "offset": end} if page.data and end < page.pagination.total else None
