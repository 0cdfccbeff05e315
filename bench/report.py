"""Formats the lines of the benchmark's table."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """A measurement and its floor; `bound` is the highest ratio, None where a figure is only reported."""

    work: str
    ours: str
    floor: str = ""
    ratio: float | None = None
    bound: float | None = None

    @property
    def is_broken(self) -> bool:
        """Return whether the ratio is above its bound."""
        return self.ratio is not None and self.bound is not None and self.ratio > self.bound

    def __str__(self) -> str:
        """Return a row of a Markdown table."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}x"
        bound = "" if self.bound is None else f"{self.bound:g}x"
        return f"| {self.work} | {self.ours} | {self.floor} | {ratio} | {bound} |"


MEMORY_MIB = 3 * 1024
"""The memory that work on a portfolio may take at any time."""
HEAD = "| work | ours | floor | ratio | at most |\n|---|---|---|---|---|"


def against(work: str, ours: float, floor: float, *, bound: float | None, unit: str = "s") -> Line:
    """Return a line of two figures of which less is better."""
    return Line(work, f"{ours:.2f} {unit}", f"{floor:.2f} {unit}", ours / floor, bound)


def memory(work: str, peak_mib: float) -> Line:
    """Return a line of the highest memory."""
    return Line(f"{work}: memory at the most", f"{peak_mib:.0f} MiB of {MEMORY_MIB}")
