"""Chooses the next file: one file of a company at a time, companies in rotation, and within a company its senders.

A company whose files all run up to the limit keeps only one reader busy, and no other company waits for a second of its
files; a supplier's link without an account alternates with the company's own imports. Threads and processes do not
belong here.
"""

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

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
