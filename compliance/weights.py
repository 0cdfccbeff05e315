"""Adds the weights of a packaging's parts, and compares the sum with the weight that is stated for the whole."""

from collections.abc import Iterable
from typing import Final

from schemas.messages import Figure, Message
from schemas.sku import Component

_TOLERANCE: Final = 0.05
"""Share of the stated weight by which both may differ (decisions §3)."""


def total_g(lines: Iterable[Component]) -> float | None:
    """Return the sum of the weights of the lines of a graph, in grams; None where no line has one."""
    weights = [weight for line in lines if (weight := line.get("weight_g")) is not None]
    return float(f"{sum(weights):.9f}") if weights else None


def mismatch(stated_g: float | None, parts_g: float | None) -> Message | None:
    """Return the sentence where both weights, in grams, are there and differ by more than 5 %."""
    if stated_g is None or parts_g is None or abs(stated_g - parts_g) <= _TOLERANCE * stated_g:
        return None
    return Message(
        "weight_grams is {total} g and the components weigh {parts} g together; they differ by more than 5 %.",
        total=Figure(f"{stated_g:g}"),
        parts=Figure(f"{parts_g:g}"),
    )
