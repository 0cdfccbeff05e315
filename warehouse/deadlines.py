"""Runs the calls of a store, each with a deadline, so that a store that hangs keeps nobody else waiting.

Calls are coroutines of one event loop in a thread of its own: a call that hangs holds a caller until its deadline and
no longer. A store that let one deadline pass is left alone for a while, then one caller tries it again. What belongs
here: time. What does not: what is called (`warehouse.objects`).
"""

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import structlog
from obstore.exceptions import BaseError

T = TypeVar("T")

AGAIN_SECONDS: Final = 5
"""How long a store that let a deadline pass is left alone; callers are told to come again after it."""
_MOST_AT_ONCE: Final = 16
"""Calls of a process at a time: fewer than the threads in which it serves requests, so that those remain for others."""
_TURN_SECONDS: Final = 1.0
"""How long a call waits for its turn among them while none of them ends."""
_SLOW_SECONDS: Final = 1.0
"""A call that fails sooner has kept nobody waiting: the next one may try at once."""
_BYTES_PER_SECOND: Final = 2**20
"""A call may take one second longer for each so many bytes that it carries."""

log = structlog.get_logger(__name__)
_loops: Final[dict[int, asyncio.AbstractEventLoop]] = {}
"""The event loop of this process; that of the process before a fork has no thread here."""
_making: Final = threading.Lock()


class Deadlines:
    """The calls of one process to one store; each raises `ConnectionError` where the store is away. Thread-safe."""

    def __init__(self, seconds: float) -> None:
        """`seconds` is the longest time of a call that carries nothing."""
        self._seconds = seconds
        self._turns = threading.BoundedSemaphore(_MOST_AT_ONCE)
        self._turn = threading.Lock()
        self._alone_until = self._last_ended = 0.0

    def call(self, work: Callable[[], Awaitable[T]], *, carries_bytes: int = 0) -> T:
        """Return the result of a call, from any thread but an event loop's. Raises `ConnectionError` and its errors."""
        with self._watched():
            self._wait_for_turn()
            try:
                seconds = self._seconds + carries_bytes / _BYTES_PER_SECOND
                return asyncio.run_coroutine_threadsafe(_in_time(work, seconds), _loop()).result()
            finally:
                self._last_ended = time.monotonic()
                self._turns.release()

    def _wait_for_turn(self) -> None:
        """Wait while calls of others end; where none does the store may hang, and who waits would keep a thread."""
        waiting_since = time.monotonic()
        while not self._turns.acquire(timeout=_TURN_SECONDS):
            if self._last_ended < waiting_since:
                raise ConnectionError("The object store has answered none of the calls under way.")
            waiting_since = time.monotonic()

    async def send(self, work: Callable[[AsyncIterator[bytes]], Awaitable[T]], chunks: AsyncIterator[bytes]) -> T:
        """Return the result of a call that takes chunks as they arrive: only the store's own time is counted.

        Raises `ConnectionError`, and the errors of `chunks`.
        """
        holding_since: float | None = time.monotonic()

        async def handed() -> AsyncIterator[bytes]:
            nonlocal holding_since
            holding_since = None
            async for chunk in chunks:
                holding_since = time.monotonic()
                yield chunk
                holding_since = None
            holding_since = time.monotonic()

        async def taken() -> T:
            return await work(handed())

        with self._watched():
            task = asyncio.ensure_future(taken())
            try:
                while not task.done():
                    await asyncio.wait({task}, timeout=min(1.0, self._seconds / 4))
                    if holding_since is not None and time.monotonic() - holding_since > self._seconds:
                        break
                if not task.done():
                    raise TimeoutError
                return task.result()
            finally:
                task.cancel()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Refuse while the store is left alone; leave it alone where the block finds it away after a long time."""
        with self._turn:
            begun = time.monotonic()
            if begun < self._alone_until:
                raise ConnectionError("The object store has not answered; it is tried again in a few seconds.")
            if self._alone_until:  # one caller tries, the others come again
                self._alone_until = begun + AGAIN_SECONDS
        try:
            yield
        except TimeoutError:
            self._leave_alone(begun, "deadline")
            raise ConnectionError("The object store has not answered in time.") from None
        except BaseError as error:
            self._leave_alone(begun, type(error).__name__)
            raise ConnectionError(f"The object store did not do it ({type(error).__name__}).") from error
        except FileNotFoundError:  # an answer
            self._alone_until = 0.0
            raise
        else:
            self._alone_until = 0.0

    def _leave_alone(self, begun: float, fault: str) -> None:
        now = time.monotonic()
        log.warning("objects.away", fault=fault, seconds=round(now - begun, 1))
        if now - begun >= min(_SLOW_SECONDS, self._seconds):
            self._alone_until = now + AGAIN_SECONDS


async def _in_time(work: Callable[[], Awaitable[T]], seconds: float) -> T:
    async with asyncio.timeout(seconds):
        return await work()


def _loop() -> asyncio.AbstractEventLoop:
    """Return this process's event loop for calls, made at the first one."""
    with _making:
        if (loop := _loops.get(os.getpid())) is None:
            _loops.clear()
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="object-store", daemon=True).start()
        return loop
