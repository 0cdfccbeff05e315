"""Whose file is read next: one of a company at a time, companies in turn, and in a company its doors in turn.

So a company whose every file is read up to the limit keeps one reader busy and makes nobody else wait for a second of
its files; a supplier's link without an account takes turns with its company's own imports. No thread, no process here.
"""

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

MOST_WAITING: Final = 64
"""Files of one company; the next caller is told to come again."""


class Crowded(Exception):  # noqa: N818  (an answer, not a fault)
    """So many files of the company wait already that this one is not taken."""

    code = "rate_limited"


class Turns(Generic[T]):
    """What waits, in the order in which its turn comes. Not for several threads at once: its owner has the lock."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Hashable, OrderedDict[str, deque[T]]] = OrderedDict()
        self._reading: set[Hashable] = set()

    def add(self, company: Hashable, door: str, one: T) -> None:
        """Wait for a turn. Raises `Crowded`."""
        doors = self._waiting.get(company, OrderedDict())
        if sum(map(len, doors.values())) >= MOST_WAITING:
            raise Crowded(f"{MOST_WAITING} files of the company wait to be read; send this one when they are done.")
        doors.setdefault(door, deque()).append(one)
        self._waiting.setdefault(company, doors)

    @property
    def ready(self) -> int:
        """How many readers would have something to do."""
        return sum(company not in self._reading for company in self._waiting)

    @property
    def waiting(self) -> int:
        """How many files wait, of all companies."""
        return sum(len(line) for doors in self._waiting.values() for line in doors.values())

    @property
    def under_way(self) -> int:
        """How many files are being read."""
        return len(self._reading)

    def take(self) -> tuple[Hashable, T] | None:
        """The next whose company has none being read; `done` ends its turn. None where there is no such."""
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
        """The company's file has been read, or will not be."""
        self._reading.discard(company)

    def drained(self) -> list[T]:
        """All that waits, taken out."""
        left = [one for doors in self._waiting.values() for line in doors.values() for one in line]
        self._waiting.clear()
        return left
