"""Measures grading alone: SKUs of six components whose weights all differ, from one to a million, and its memory."""

import random
import time
from collections.abc import Iterator
from typing import Any

import orjson
import psutil

from bench.report import Line
from bench.requests import sku_body
from compliance import ruleset
from compliance.grading import GRADED_INPUTS, grade_rows

CHUNK = 50_000


def measure(most: int) -> Iterator[Line]:
    """Yield seconds for 1, 1 000, 50 000 … SKUs up to `most`; larger numbers are graded in chunks, as in pipelines."""
    rules = ruleset.load()
    grade_rows(_rows(1, seed=-1), rules)  # another SKU: grades are cached
    for count in (1, 1_000, 50_000, 1_000_000):
        if count > most:
            return
        before, seconds, peak = _rss(), 0.0, 0.0
        for start in range(0, count, CHUNK):
            rows = _rows(min(CHUNK, count - start), seed=start)
            begun = time.perf_counter()
            graded = grade_rows(rows, rules)
            seconds += time.perf_counter() - begun
            peak = max(peak, _rss())
            assert all(grade for grade, _, _ in graded)
        work = f"grading alone, {count} SKUs of 6 components"
        yield Line(work, f"{seconds:.3f} s, {seconds / count * 1e6:.0f} us each, {peak - before:.0f} MiB")


def _rows(count: int, *, seed: int) -> list[tuple[Any, ...]]:
    rng = random.Random(seed)
    graphs = (orjson.dumps(orjson.loads(sku_body(number, rng))["components"]).decode() for number in range(count))
    bottle = dict.fromkeys(GRADED_INPUTS) | {"packaging_format": "bottle", "packaging_level": "sales"}
    return [tuple((bottle | {"components": graph}).values()) for graph in graphs]


def _rss() -> float:
    return float(psutil.Process().memory_info().rss) / 2**20
