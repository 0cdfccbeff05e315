"""Numbers for 64-bit keys, and columns that grow: what the tables of `compliance.grading.many` are made of.

A dictionary answers one key at a time; here a block asks for a hundred thousand at once.
"""

from collections.abc import Callable, Hashable, Iterable
from itertools import count
from typing import Final, TypeAlias

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
        found = self._find(keys)
        unknown = found < 0
        if unknown.any():
            new = np.unique(keys[unknown])
            self._add(new, np.array([ask(key) for key in new.tolist()], np.int64))
            found = self._find(keys)
        return found

    def _new(self) -> tuple[Ints, Ints]:
        return np.full(1 << self._bits, _EMPTY, np.int64), np.full(1 << self._bits, -1, np.int64)

    def _home(self, keys: Ints) -> Ints:
        """Return the first slot of each key: the high bits of a product, because low bits of packed keys are alike."""
        return ((keys.view(np.uint64) * _MIX) >> np.uint64(64 - self._bits)).view(np.int64)

    def _find(self, keys: Ints) -> Ints:
        return self._numbers.take(self._slot(keys))

    def _slot(self, keys: Ints) -> Ints:
        """Return the slot of each key, or the empty one at which the search for it ended."""
        last = (1 << self._bits) - 1
        slot = self._home(keys)
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


class Column:
    """An array to which values are appended; `values` is what it holds so far."""

    def __init__(self, kind: type[np.generic] = np.int64) -> None:
        self._held: NDArray[np.generic] = np.zeros(64, kind)
        self.count = 0

    def append(self, value: float) -> None:
        """Add one value at the end."""
        if self.count == self._held.size:
            self._held = np.concatenate([self._held, np.zeros_like(self._held)])
        self._held[self.count] = value
        self.count += 1

    @property
    def values(self) -> NDArray[np.generic]:
        """The values in their order."""
        return self._held[: self.count]

    def ints(self, at: Ints) -> Ints:
        """Return the numbers at these places."""
        return self._held.take(at).astype(np.int64, copy=False)

    def floats(self, at: Ints) -> Floats:
        """Return the fractions at these places."""
        return self._held.take(at).astype(np.float64, copy=False)

    def bools(self, at: Ints) -> Bools:
        """Return the truths at these places."""
        return self._held.take(at).astype(np.bool_, copy=False)


class Lists:
    """Lists of numbers, each with a number of its own."""

    def __init__(self) -> None:
        self._members, self._start, self._size = Column(), Column(), Column()

    def append(self, members: Iterable[int]) -> int:
        """Add a list; return its number."""
        before = self._members.count
        for member in members:
            self._members.append(member)
        self._start.append(before)
        self._size.append(self._members.count - before)
        return self._start.count - 1

    def expand(self, lists: Ints) -> tuple[Ints, Ints, Ints]:
        """Return all members of these lists: the place of the list in `lists`, the place in the list, the member."""
        start = self._start.ints(lists)
        owner, at = ranges(start, self._size.ints(lists))
        return owner, at - start[owner], self._members.ints(at)


def ranges(starts: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """Return the members of ranges with these starts and sizes, one range after the other: its range, and itself."""
    group = np.repeat(np.arange(sizes.size), sizes)
    return group, np.arange(group.size) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)


def sums(group: Ints, weights: Floats, groups: int) -> Floats:
    """Return the sum of each group, added in order from 0.0 as the kernel adds: NumPy's own sum adds in pairs."""
    return np.bincount(group, weights=weights, minlength=groups).astype(np.float64, copy=False)


def any_in(group: Ints, truths: Bools, groups: int) -> Bools:
    """Return for each group whether one of its members is true."""
    found = np.zeros(groups, np.bool_)
    found[group.take(np.flatnonzero(truths))] = True  # a mask of mixed truths takes three times as long
    return found


_MOST: Final = 500_000
_NEXT: Final = count(1)
_known: Final[dict[Hashable, int]] = {}


def meaning(of: Hashable) -> int:
    """Return the number of a meaning, 1 or greater."""
    if len(_known) > _MOST:
        _known.clear()
    return _known.setdefault(of, next(_NEXT))
