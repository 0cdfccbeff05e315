"""Grading alone: SKUs of six components whose weights all differ, from one to a million, with the memory it takes."""

import random
import time
from collections.abc import Iterator

import orjson
import polars as pl
import psutil

from bench.report import Line
from bench.requests import sku_body
from compliance import ruleset
from compliance.grading import grade_frame

CHUNK = 50_000


def measure(most: int) -> Iterator[Line]:
    """Seconds for 1, 1 000, 50 000 … SKUs up to `most`; more than a chunk is graded chunk by chunk, as pipelines do."""
    rules = ruleset.load()
    grade_frame(_frame(1, seed=0), rules)
    for count in (1, 1_000, 50_000, 1_000_000):
        if count > most:
            return
        before, seconds, peak = _rss(), 0.0, 0.0
        for start in range(0, count, CHUNK):
            frame = _frame(min(CHUNK, count - start), seed=start)
            begun = time.perf_counter()
            graded = grade_frame(frame, rules)
            seconds += time.perf_counter() - begun
            peak = max(peak, _rss())
            assert graded["recyclability_grade"].null_count() == 0
        work = f"grading alone, {count} SKUs of 6 components"
        yield Line(work, f"{seconds:.3f} s, {seconds / count * 1e6:.0f} us each, {peak - before:.0f} MiB")


def _frame(count: int, *, seed: int) -> pl.DataFrame:
    rng = random.Random(seed)
    graphs = [orjson.dumps(orjson.loads(sku_body(number, rng))["components"]).decode() for number in range(count)]
    return pl.DataFrame({"packaging_format": ["bottle"] * count, "components": graphs}).with_columns(
        pl.lit("sales").alias("packaging_level"),
        *(pl.lit(None, pl.String).alias(name) for name in ("material", "material_subtype", "use_contexts", "svhc")),
        pl.lit(None, pl.Float64).alias("weight_grams"),
    )


def _rss() -> float:
    return float(psutil.Process().memory_info().rss) / 2**20
