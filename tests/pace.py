"""How fast this machine is just now: bounds of processor time are multiples of it, and hold on a slow machine too."""

import re
import time
from typing import Final

import polars as pl

_USUAL_SECONDS: Final = 0.12
"""What the work below takes on the machine on which the bounds were set."""


def slowness() -> float:
    """How many times longer work takes here than there, at least 1: small queries of Polars, words and dictionaries.

    Measured in this process at once, since other work on the machine slows processor time by a factor of two.
    """
    cells = pl.DataFrame({"c": ["A-1", "12,5", "Flasche"]})
    begun = time.process_time()
    for at in range(300):
        cells.select_seq(pl.col("c").str.contains(rf"\d{at}"))
    words = {str(at): at for at in range(1000)}
    for _ in range(300):
        sum(words.get(word.casefold(), 0) for word in re.split(r"\s+", " ".join(words)))
    return max(1.0, (time.process_time() - begun) / _USUAL_SECONDS)


def is_within(seconds: float, most: float) -> bool:
    """Return whether work of so many seconds of processor time is within a bound, on the machine of the bounds."""
    return seconds < most or seconds / slowness() < most
