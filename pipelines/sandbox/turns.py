"""Chooses the next file: one file of a company at a time, companies in rotation, and within a company its entrances.

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


class Crowded(Exception):  # noqa: N818  (an answer, not a fault)
    """The company has too many queued files; this one is not accepted."""

    code = "rate_limited"


class Turns(Generic[T]):
    """The queue, in the order of reading. It is not thread-safe: its owner has the lock."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Hashable, OrderedDict[str, deque[T]]] = OrderedDict()
        self._reading: set[Hashable] = set()

    def add(self, company: Hashable, door: str, one: T) -> None:
        """Add a file to the queue. Raises `Crowded`."""
        doors = self._waiting.get(company, OrderedDict())
        if sum(map(len, doors.values())) >= MOST_WAITING:
            raise Crowded(f"{MOST_WAITING} files of the company wait to be read; send this one when they are done.")
        doors.setdefault(door, deque()).append(one)
        self._waiting.setdefault(company, doors)

    @property
    def ready(self) -> int:
        """Return how many readers would have work."""
        return sum(company not in self._reading for company in self._waiting)

    @property
    def waiting(self) -> int:
        """Return how many files of all companies wait."""
        return sum(len(line) for doors in self._waiting.values() for line in doors.values())

    @property
    def under_way(self) -> int:
        """Return how many files are being read."""
        return len(self._reading)

    def take(self) -> tuple[Hashable, T] | None:
        """Take the next file of a company that has none being read; `done` ends its turn. None where there is none."""
        company = next((company for company in self._waiting if company not in self._reading), None)
        if company is None:
            return None
        doors = self._waiting.pop(company)
        door, line = doors.popitem(last=False)
        one = line.popleft()
        if line:
            doors[door] = line
        if doors:
            self._waiting[company] = doors
        self._reading.add(company)
        return company, one

    def done(self, company: Hashable) -> None:
        """Record that the company's file has been read, or will not be."""
        self._reading.discard(company)

    def drained(self) -> list[T]:
        """Empty the queue and return its files."""
        left = [one for doors in self._waiting.values() for line in doors.values() for one in line]
        self._waiting.clear()
        return left
