"""Numbers for meanings that are equal across rule-sets: two rule-sets say the same where their numbers are equal.

A number is never given twice. When very many are known they are forgotten; then equal meanings may have two numbers,
which makes a comparison slower, not wrong.
"""

from collections.abc import Hashable
from itertools import count
from typing import Final

_MOST: Final = 500_000
_NEXT: Final = count(1)
_known: Final[dict[Hashable, int]] = {}


def meaning(of: Hashable) -> int:
    """Return the number of a meaning, 1 or greater."""
    if len(_known) > _MOST:
        _known.clear()
    return _known.setdefault(of, next(_NEXT))
