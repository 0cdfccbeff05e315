"""A snapshot as the portfolio of a rollup, in blocks of SKUs, so that memory follows the block.

The three files are in no order. Each is read once; which block a row belongs to follows from its SKU code.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import UUID

import polars as pl

from compliance.rollup.portfolio import COMPONENT_COLUMNS, SKU_COLUMNS, VOLUME_COLUMNS, Portfolio
from warehouse import snapshots
from warehouse.queries.companies import counted
from warehouse.sessions import Pool
from warehouse.snapshots import Snapshot

BLOCK_SKUS: Final = 50_000


def newest(pool: Pool, data_dir: Path, company_id: UUID) -> Snapshot | None:
    """The company's current snapshot; None where there is none yet, or where it lacks a write."""
    snapshot = snapshots.current(data_dir, company_id)
    with pool.company(company_id) as conn:
        links = counted(conn).links
    return snapshot if snapshot is not None and snapshot.number >= links else None


def blocks(snapshot: Snapshot, *, sku_columns: pl.Schema = SKU_COLUMNS) -> Iterator[Portfolio]:
    """The portfolio in blocks of about `BLOCK_SKUS` SKUs, each with all its components and volumes."""
    count = max(1, -(-snapshot.rows["skus"] // BLOCK_SKUS))
    for block in range(count):
        yield Portfolio(
            _block(snapshot.skus, sku_columns, block, count),
            _block(snapshot.components, COMPONENT_COLUMNS, block, count),
            _block(snapshot.volumes, VOLUME_COLUMNS, block, count),
        )


def _block(file: Path, columns: pl.Schema, block: int, count: int) -> pl.DataFrame:
    scanned = pl.scan_parquet(file).select(list(columns))
    if count > 1:
        scanned = scanned.filter(pl.col("sku_code").hash() % count == block)
    return scanned.collect()
