"""Measures grading in arrays, in CPU seconds, beside reading and grouping the same columns and beside the kernel.

The floor reads the columns, groups the distinct parts and sums the weights of each SKU: nothing can grade with less.
"""

import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import orjson
import polars as pl

from bench import packs
from bench.report import Line, against
from bench.spent import cpu, peak_mib
from compliance import ruleset
from compliance.grading import grade_rows
from compliance.grading.many import grade_columns
from compliance.grading.many.columns import line_of
from compliance.grading.rows import Inputs
from compliance.ruleset import RULES, RuleSet

_PART: Final = 100_000
"""SKUs that are read at once."""
_PARTS: Final = ("sku", "weight_g")
_TABLES: Final = ruleset.texts(RULES / ruleset.versions()[-1])
_Make = Callable[..., tuple[pl.DataFrame, pl.DataFrame]]


def measure(most: int) -> Iterator[Line]:
    """Yield the lines for up to `most` SKUs: portfolios beside their floors, and packs drawn at random."""
    for count in (10_000, 100_000):
        if count <= most:
            yield _beside_kernel(packs.drawn, count, "drawn at random", {10_000: 1.5, 100_000: 1.0}[count])
            yield _beside_kernel(packs.unlike, count, "of parts that are nearly all unlike", None)
    if most >= _PART:
        yield _beside_kernel(packs.realistic, _PART, "of a realistic portfolio", 0.15)
    yield from _beside_floor(packs.realistic, most, "of a realistic portfolio", (4.0, 3.5))
    yield from _beside_floor(packs.drawn, most, "drawn at random", (None, 4.0))
    yield from _beside_floor(packs.unlike, min(most, _PART), "of parts that are nearly all unlike", (None, None))


def _beside_floor(make: _Make, count: int, kind: str, bounds: tuple[float | None, float | None]) -> Iterator[Line]:
    rules = _unseen()
    work = f"grading in arrays, {count} packs {kind}"
    for tables, bound in zip(("empty", "warm"), bounds, strict=True):
        ours = floor = 0.0
        with peak_mib() as peak:
            for part in range(0, count, _PART):
                files = _written(make(min(_PART, count - part), part=part))
                floor += cpu(partial(_read_and_group, files))
                ours += cpu(partial(_read_and_grade, files, rules))
        beside = f"{work}, {tables} tables, beside reading and grouping them, CPU"
        yield against(beside, ours, floor, bound=bound)
        yield Line(f"{work}, {tables} tables: memory at the most, with the packs", f"{peak[0]:.0f} MiB")


def _beside_kernel(make: _Make, count: int, kind: str, bound: float | None) -> Line:
    frames = make(count)
    rows = _rows(*frames)
    ours, kernel = cpu(partial(grade_columns, *frames, _unseen())), cpu(partial(grade_rows, rows, _unseen()))
    return against(
        f"grading in arrays, {count} packs {kind}, empty tables, beside the kernel, CPU", ours, kernel, bound=bound
    )


def _unseen() -> RuleSet:
    """Return a rule-set that no cache has seen."""
    return ruleset.parse("2100-01-01", _TABLES)


def _written(frames: tuple[pl.DataFrame, pl.DataFrame]) -> list[bytes]:
    files = []
    for frame in frames:
        file = io.BytesIO()
        frame.write_parquet(file)
        files.append(file.getvalue())
    return files


def _read_and_group(files: list[bytes]) -> None:
    _, components = (pl.read_parquet(file) for file in files)
    of_part = [name for name in components.columns if name not in _PARTS]
    components.with_columns(pl.col("additives").list.join(",")).group_by(of_part).len()
    components.group_by("sku").agg(pl.col("weight_g").sum())


def _read_and_grade(files: list[bytes], rules: RuleSet) -> None:
    skus, components = (pl.read_parquet(file) for file in files)
    grade_columns(skus, components, rules)


def _rows(skus: pl.DataFrame, components: pl.DataFrame) -> list[Inputs]:
    """Return the SKUs as they are stored."""
    graphs: list[list[object]] = [[] for _ in range(skus.height)]
    for row in components.iter_rows(named=True):
        graphs[row["sku"]].append(line_of(row))
    texts = [orjson.dumps(graph).decode() for graph in graphs]
    return [(*own[:6], None, text) for own, text in zip(skus.iter_rows(), texts, strict=True)]
