"""A snapshot as the portfolio of a rollup, in blocks of SKUs, so that memory follows the block.

The three files are in no order. Each is read once; which block a row belongs to follows from its SKU code.
"""

from collections.abc import Iterator
from typing import Final

import polars as pl

from compliance.rollup.portfolio import COMPONENT_COLUMNS, SKU_COLUMNS, VOLUME_COLUMNS, Portfolio
from warehouse.snapshots import Snapshot

BLOCK_SKUS: Final = 50_000


def blocks(snapshot: Snapshot, *, sku_columns: pl.Schema = SKU_COLUMNS) -> Iterator[Portfolio]:
    """The portfolio in blocks of about `BLOCK_SKUS` SKUs, each with all its components and volumes."""
    count = -(-snapshot.rows["skus"] // BLOCK_SKUS)
    for block in range(count):
        yield Portfolio(
            _block(snapshot.skus, sku_columns, block, count),
            _block(snapshot.components, COMPONENT_COLUMNS, block, count),
            _block(snapshot.volumes, VOLUME_COLUMNS, block, count),
        )


def _block(file: object, columns: pl.Schema, block: int, count: int) -> pl.DataFrame:
    scanned = pl.scan_parquet(str(file)).select(list(columns))
    if count > 1:
        scanned = scanned.filter(pl.col("sku_code").hash() % count == block)
    return scanned.collect()
