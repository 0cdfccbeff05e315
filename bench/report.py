"""One line of the benchmark's table, and how the table is written."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """What was measured against which floor; `bound` is the ratio at most, None where a figure is only reported."""

    work: str
    ours: str
    floor: str = ""
    ratio: float | None = None
    bound: float | None = None

    def __str__(self) -> str:
        """A row of a Markdown table."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}x"
        bound = "" if self.bound is None else f"{self.bound:g}x"
        return f"| {self.work} | {self.ours} | {self.floor} | {ratio} | {bound} |"


MEMORY_MIB = 3 * 1024
"""What whoever works on a portfolio may hold at any time."""
HEAD = "| work | ours | floor | ratio | at most |\n|---|---|---|---|---|"


def against(work: str, ours: float, floor: float, *, bound: float | None, unit: str = "s") -> Line:
    """A line of two figures of which less is better."""
    return Line(work, f"{ours:.2f} {unit}", f"{floor:.2f} {unit}", ours / floor, bound)


def memory(work: str, peak_mib: float) -> Line:
    """A line of the most memory that was held."""
    return Line(f"{work}: memory at the most", f"{peak_mib:.0f} MiB of {MEMORY_MIB}")
