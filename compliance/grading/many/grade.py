"""Grades blocks of SKUs in arrays, and by the kernel what arrays do not take."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import polars as pl

from compliance.grading.bulk import BLOCK
from compliance.grading.many.block import Block, assessed, graded
from compliance.grading.many.coded import Coded
from compliance.grading.many.codes import BeyondArraysError
from compliance.grading.many.kernel import GRADED, by_the_kernel
from compliance.grading.many.tables import tables_of
from compliance.rule_rows import RuleSet

_READ: Final = 4 * BLOCK
"""SKUs whose columns become numbers at once: a call of Polars costs nearly as much for a block as for four."""


def grade_columns(skus: pl.DataFrame, components: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return `GRADED` of SKUs (`SKU_COLUMNS`) with their components (`COMPONENT_COLUMNS`, in the order of the SKUs)."""
    return pl.concat([_graded(*read, rules) for read in _reads(skus, components)] or [pl.DataFrame(schema=GRADED)])


def _reads(skus: pl.DataFrame, components: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield `_READ` SKUs at a time with their components; a component's `sku` counts from the first of these."""
    ends = np.searchsorted(components["sku"].to_numpy(), np.arange(0, skus.height + _READ, _READ)).tolist()
    for number, start in enumerate(range(0, skus.height, _READ)):
        lines = components.slice(ends[number], ends[number + 1] - ends[number])
        yield skus.slice(start, _READ), lines.with_columns(pl.col("sku") - start)


def _graded(skus: pl.DataFrame, components: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    try:
        with tables_of(rules) as tables:
            coded = Coded.of(skus, components, tables.coding)
            blocks = [assessed(block, tables) for block in coded.blocks(BLOCK)]
    except BeyondArraysError:
        return by_the_kernel(skus, components, range(skus.height), rules)
    return with_wide(blocks, skus, components)


def with_wide(blocks: Sequence[Block], skus: pl.DataFrame, components: pl.DataFrame) -> pl.DataFrame:
    """Return the answers of the blocks of these SKUs, those of packs of very many parts by the kernel."""
    found = graded(blocks)
    starts = np.cumsum([0, *(block.skus.count for block in blocks)])
    places = np.concatenate([start + block.wide for start, block in zip(starts[:-1], blocks, strict=True)])
    if not places.size:
        return found
    wide = by_the_kernel(skus, components, places.tolist(), blocks[0].tables.rules)
    source = np.arange(found.height)
    source[places] = found.height + np.arange(places.size)
    return pl.concat([found, wide])[source]
