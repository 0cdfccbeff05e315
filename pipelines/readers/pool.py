"""Manages the reader processes of one process, and the queue of files for them.

Each reader has a thread of its own, which waits for it; a caller waits for a future, in a thread or in the event loop.
Readers start as files come, as many as are allowed; idle ones end again, the last one some seconds later unless the
pool is kept warm: starting a reader takes longer than reading a small file. A killed reader is replaced before the
next file comes.
"""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar  # Any: each request has an answer of its own type

import structlog

from pipelines.readers.process import Reader, ReaderDied, ReaderFault
from pipelines.readers.requests import Limits, ReadingStopped, ReadRequest
from warehouse.operate import dagster_home

if TYPE_CHECKING:
    from warehouse.operate.settings import Settings


T = TypeVar("T")

MOST_WAITING: Final = 64
"""Most queued files of one company; the next caller is refused and may retry."""


class QueueFull(Exception):  # noqa: N818  (an answer, not a fault)
    """The company has too many queued files; this one is not accepted."""

    code = "rate_limited"


class FileQueue(Generic[T]):
    """The queue, in the order of reading. It is not thread-safe: its owner has the lock."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Hashable, OrderedDict[str, deque[T]]] = OrderedDict()
        self._reading: set[Hashable] = set()

    def add(self, company: Hashable, sender: str, one: T) -> None:
        """Add a file to the queue. Raises `QueueFull`."""
        senders = self._waiting.get(company, OrderedDict())
        if sum(map(len, senders.values())) >= MOST_WAITING:
            raise QueueFull(f"{MOST_WAITING} files of the company wait to be read; send this one when they are done.")
        senders.setdefault(sender, deque()).append(one)
        self._waiting.setdefault(company, senders)

    @property
    def ready(self) -> int:
        """Return how many readers would have work."""
        return sum(company not in self._reading for company in self._waiting)

    @property
    def waiting(self) -> int:
        """Return how many files of all companies wait."""
        return sum(len(line) for senders in self._waiting.values() for line in senders.values())

    @property
    def under_way(self) -> int:
        """Return how many files are being read."""
        return len(self._reading)

    def take(self) -> tuple[Hashable, T] | None:
        """Take the next file of a company that has none being read; `done` ends its turn. None where there is none."""
        company = next((company for company in self._waiting if company not in self._reading), None)
        if company is None:
            return None
        senders = self._waiting.pop(company)
        sender, line = senders.popitem(last=False)
        one = line.popleft()
        if line:
            senders[sender] = line
        if senders:
            self._waiting[company] = senders
        self._reading.add(company)
        return company, one

    def done(self, company: Hashable) -> None:
        """Record that the company's file has been read, or will not be."""
        self._reading.discard(company)

    def drain(self) -> list[T]:
        """Empty the queue and return its files."""
        left = [one for senders in self._waiting.values() for line in senders.values() for one in line]
        self._waiting.clear()
        return left


_IDLE_SECONDS: Final = 10.0
_LINGERS_SECONDS: Final = 15.0
"""Time that the last reader stays after its last file."""
_WARM_MIB: Final = 120.0
"""Most memory of an idle reader; one that uses more is replaced."""
_END_SECONDS: Final = 5.0

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Job:
    request: ReadRequest[object]
    future: Future[Any] = field(default_factory=Future)


class Readers:
    """At most `most` reader processes, none of them before the first file or `keep_warm`."""

    def __init__(self, limits: Limits | None = None, most: int = 2, template: Path | None = None) -> None:
        """`template` is as that of `Reader`."""
        self._limits, self._most, self._template = limits or Limits(), most, template
        self._changed = threading.Condition()
        self._queue: FileQueue[_Job] = FileQueue()
        self._readers: dict[threading.Thread, Reader] = {}
        self._warm = self._closed = False
        self._used_at = 0.0

    @classmethod
    def from_settings(cls, settings: "Settings") -> Self:
        """Return the readers of a deployment's process."""
        return cls(Limits.from_settings(settings), settings.readers, dagster_home.readers_socket(settings))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def keep_warm(self) -> None:
        """Start a reader now, and keep one from now on."""
        with self._changed:
            self._warm = True
            if not self._readers:
                self._add_reader()

    @property
    def ready(self) -> bool:
        """Return whether there is a reader, so that the next file need not wait for a process to start."""
        with self._changed:
            return bool(self._readers)

    def expect(self) -> None:
        """Start a reader for a file that comes soon, where there is none, without waiting for it."""
        with self._changed:
            self._used_at = time.monotonic()
            if not self._readers and not self._closed:
                self._add_reader()

    def submit(self, company: Hashable, sender: str, request: ReadRequest[T]) -> "Future[T]":
        """Queue a file for reading. Raises `QueueFull`.

        The future has the answer, or raises what `Reader.run` raises except `ReaderDied`: a file of which a reader
        dies twice raises `ReadingStopped`.
        """
        job = _Job(request)
        with self._changed:
            if self._closed:
                raise ReaderFault("the readers have been closed")
            self._queue.add(company, sender, job)
            if len(self._readers) < min(self._most, self._queue.under_way + self._queue.ready):
                self._add_reader()
            self._changed.notify()
        return job.future

    def read(self, company: Hashable, sender: str, request: ReadRequest[T]) -> T:
        """Queue a file and wait for its answer in this thread."""
        return self.submit(company, sender, request).result()

    def waiting(self) -> int:
        """Return how many files wait for their turn."""
        with self._changed:
            return self._queue.waiting

    def close(self) -> None:
        """End every reader; queued files are cancelled, files being read raise `ReaderFault`."""
        with self._changed:
            self._closed = True
            for job in self._queue.drain():
                job.future.cancel()
            readers = dict(self._readers)
            for reader in readers.values():
                reader.kill()
            self._changed.notify_all()
        for thread in readers:
            thread.join(_END_SECONDS)

    def _add_reader(self) -> None:
        reader = Reader(self._limits, self._template)
        thread = threading.Thread(target=self._serve, args=[reader], name="reader", daemon=True)
        self._readers[thread] = reader
        thread.start()

    def _serve(self, reader: Reader) -> None:
        """Run one reader's thread: it starts the process, and the process ends with it."""
        try:
            self._prepare(reader)
            while self._serve_until_idle(reader):
                if reader.private_mib() > _WARM_MIB:
                    reader.end()
                    self._prepare(reader)
        finally:
            reader.end()
            with self._changed:
                self._readers.pop(threading.current_thread(), None)

    def _serve_until_idle(self, reader: Reader) -> bool:
        """Read files until none has come for a while; return whether this reader is then still needed."""
        while (taken := self._next()) is not None:
            company, job = taken
            try:
                self._run_job(reader, job)
            finally:
                with self._changed:
                    self._used_at = time.monotonic()
                    self._queue.done(company)
                    self._changed.notify()
            self._prepare(reader)
        with self._changed:
            stays = self._warm or time.monotonic() < self._used_at + _LINGERS_SECONDS
            wanted = not self._closed and (self._queue.ready > 0 or (stays and len(self._readers) == 1))
            if not wanted:
                del self._readers[threading.current_thread()]
            return wanted

    def _next(self) -> tuple[Hashable, _Job] | None:
        """Return the next job; None where none comes for a while."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._queue.ready > 0, _IDLE_SECONDS)
            return None if self._closed else self._queue.take()

    def _prepare(self, reader: Reader) -> None:
        """Start the process for the next file; where that fails, the next file tries again."""
        try:
            if not self._closed:
                reader.start()
        except (ReaderFault, OSError) as error:
            if not self._closed:
                log.warning("reader.not_started", error=str(error))

    def _run_job(self, reader: Reader, job: _Job) -> None:
        """Put the job's answer, or the reason why there is none, into its future."""
        if not job.future.set_running_or_notify_cancel():
            return
        try:
            job.future.set_result(self._answer(reader, job.request))
        except BaseException as reason:  # the caller that waits for the future raises it
            job.future.set_exception(reason)

    def _answer(self, reader: Reader, request: ReadRequest[T]) -> T:
        for _ in range(2):
            try:
                reader.start()
                return reader.run(request)
            except ReaderDied as died:
                if self._closed:
                    raise ReaderFault("the readers have been closed") from None
                log.warning("reader.died", reason=str(died), task=request.task)
            except ReadingStopped as stopped:
                log.warning("reader.stopped", reason=stopped.reason, task=request.task)
                raise
        raise ReadingStopped("crash", self._limits, request.file_kind)
