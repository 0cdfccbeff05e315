"""Grades blocks of SKUs in arrays, and by the kernel what arrays do not take."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from compliance.grading.bulk import BLOCK
from compliance.grading.many.block import Block, assessed
from compliance.grading.many.codes import BeyondArraysError
from compliance.grading.many.kernel import GRADED, by_the_kernel
from compliance.grading.many.tables import tables_of
from compliance.rule_rows import RuleSet


def grade_columns(skus: pl.DataFrame, components: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return `GRADED` of SKUs (`SKU_COLUMNS`) with their components (`COMPONENT_COLUMNS`, in the order of the SKUs)."""
    return pl.concat([_block(*block, rules) for block in _blocks(skus, components)] or [pl.DataFrame(schema=GRADED)])


def _blocks(skus: pl.DataFrame, components: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield SKUs with their components, in blocks; a component's `sku` counts from the first of its block."""
    ends = np.searchsorted(components["sku"].to_numpy(), np.arange(0, skus.height + BLOCK, BLOCK)).tolist()
    for number, start in enumerate(range(0, skus.height, BLOCK)):
        lines = components.slice(ends[number], ends[number + 1] - ends[number])
        yield skus.slice(start, BLOCK), lines.with_columns(pl.col("sku") - start)


def _block(skus: pl.DataFrame, components: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    try:
        with tables_of(rules) as tables:
            block = assessed(skus, components, tables)
    except BeyondArraysError:
        return by_the_kernel(skus, components, range(skus.height), rules)
    return with_wide(block, skus, components)


def with_wide(block: Block, skus: pl.DataFrame, components: pl.DataFrame) -> pl.DataFrame:
    """Return the answers of a block, those of packs of very many parts by the kernel."""
    graded = block.graded()
    if not block.wide.size:
        return graded
    wide = by_the_kernel(skus, components, block.wide.tolist(), block.tables.rules)
    source = np.arange(graded.height)
    source[block.wide] = graded.height + np.arange(block.wide.size)
    return pl.concat([graded, wide])[source]
