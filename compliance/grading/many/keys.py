"""Numbers for 64-bit keys, and columns that grow: what the tables of `compliance.grading.many` are made of.

A dictionary answers one key at a time; here a block asks for a hundred thousand at once.
"""

from collections.abc import Callable, Hashable, Iterable
from itertools import count
from typing import Any, Final, TypeAlias  # Any: arrays of the kind of their column

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

# glibc returns freed memory to the system above a limit, and the next block then pays a tenth of its time for pages
# that are mapped anew. Freeing one large array, which nobody writes to, raises that limit for the process.
np.empty(2**24, np.int8)

_EMPTY: Final = -1
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)


class Keys:
    """A hash table from keys (0 or greater) to numbers, asked with arrays; it probes the next slot on a collision."""

    def __init__(self) -> None:
        self._bits, self.count = 12, 0
        self._slots, self._numbers = self._new()

    def numbers(self, keys: Ints, ask: Callable[[int], int]) -> Ints:
        """Return the number of each key; `ask` gives that of a key that is new."""
        numbers = self._numbers.take(self._slot(keys))
        unknown = numbers < 0
        if unknown.any():
            new = np.unique(keys[unknown])
            self._add(new, np.array([ask(key) for key in new.tolist()], np.int64))
            numbers = self._numbers.take(self._slot(keys))
        return numbers

    def _new(self) -> tuple[Ints, Ints]:
        return np.full(1 << self._bits, _EMPTY, np.int64), np.full(1 << self._bits, -1, np.int64)

    def _slot(self, keys: Ints) -> Ints:
        """Return the slot of each key, or the empty one at which the search for it ended.

        The first slot are the high bits of a product, because low bits of packed keys are alike.
        """
        last = (1 << self._bits) - 1
        slot = ((keys.view(np.uint64) * _MIX) >> np.uint64(64 - self._bits)).view(np.int64)
        left = np.flatnonzero(self._slots.take(slot) != keys)
        while (left := left[self._slots[slot[left]] != _EMPTY]).size:
            slot[left] = (slot[left] + 1) & last
            left = left[self._slots[slot[left]] != keys[left]]
        return slot

    def _add(self, keys: Ints, numbers: Ints) -> None:
        self.count += keys.size
        if 2 * self.count > 1 << self._bits:
            held = self._slots != _EMPTY
            keys, numbers = np.concatenate([self._slots[held], keys]), np.concatenate([self._numbers[held], numbers])
            while 2 * self.count > 1 << self._bits:
                self._bits += 1
            self._slots, self._numbers = self._new()
        while keys.size:
            slot = self._slot(keys)
            self._slots[slot] = keys  # of several keys with one slot, the last is stored
            stored = self._slots[slot] == keys
            self._numbers[slot[stored]] = numbers[stored]
            keys, numbers = keys[~stored], numbers[~stored]


class Columns:
    """Columns to which rows are added; a row has a number, counted from 0."""

    def __init__(self, **kinds: type[np.generic]) -> None:
        self.count = 0
        self._held: dict[str, NDArray[Any]] = {name: np.zeros(64, kind) for name, kind in kinds.items()}

    def append(self, **row: float) -> int:
        """Add a row of all columns; return its number."""
        for name, value in row.items():
            held = self._held[name]
            if self.count == held.size:
                held = self._held[name] = np.concatenate([held, np.zeros_like(held)])
            held[self.count] = value
        self.count += 1
        return self.count - 1

    def at(self, name: str, rows: Ints) -> NDArray[Any]:
        """Return the values of a column in these rows."""
        return self._held[name].take(rows)


class Lists:
    """Lists of numbers, each with a number of its own."""

    def __init__(self) -> None:
        self._members, self._lists = Columns(member=np.int64), Columns(start=np.int64, size=np.int64)

    def append(self, members: Iterable[int]) -> int:
        """Add a list; return its number."""
        before = self._members.count
        for member in members:
            self._members.append(member=member)
        return self._lists.append(start=before, size=self._members.count - before)

    def expand(self, lists: Ints) -> tuple[Ints, Ints, Ints]:
        """Return all members of these lists: the place of the list in `lists`, the place in the list, the member."""
        start = self._lists.at("start", lists)
        owner, at = ranges(start, self._lists.at("size", lists))
        return owner, at - start[owner], self._members.at("member", at)


def ranges(starts: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """Return the members of ranges with these starts and sizes, one range after the other: its range, and itself."""
    group = np.repeat(np.arange(sizes.size), sizes)
    return group, np.arange(group.size) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)


def sums(group: Ints, weights: Floats, groups: int) -> Floats:
    """Return the sum of each group, added in order from 0.0 as the kernel adds: NumPy's own sum adds in pairs."""
    return np.bincount(group, weights=weights, minlength=groups).astype(np.float64, copy=False)


def any_in(group: Ints, truths: Bools, groups: int) -> Bools:
    """Return for each group whether one of its members is true."""
    hits = np.zeros(groups, np.bool_)
    hits[group.take(np.flatnonzero(truths))] = True  # a mask of mixed truths takes three times as long
    return hits


_MOST: Final = 500_000
_NEXT: Final = count(1)
_known: Final[dict[Hashable, int]] = {}


def meaning(of: Hashable) -> int:
    """Return the number of a meaning, 1 or greater."""
    if len(_known) > _MOST:
        _known.clear()
    return _known.setdefault(of, next(_NEXT))
