"""Reads a snapshot as the portfolio of a rollup, in blocks of SKUs, so that memory follows the block.

One part of the snapshot contains a SKU with all that belongs to it; a block is some parts.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import UUID

import polars as pl

from compliance.rollup.portfolio import COMPONENT_COLUMNS, SKU_COLUMNS, VOLUME_COLUMNS, Portfolio
from warehouse import snapshots
from warehouse.sessions import Pool
from warehouse.snapshots import Snapshot
from warehouse.snapshots.columns import COUNTED
from warehouse.snapshots.source import PART_SKUS

BLOCK_SKUS: Final = 50_000
_PARTS: Final = BLOCK_SKUS // PART_SKUS


def up_to_date_snapshot(pool: Pool, data_dir: Path, company_id: UUID) -> Snapshot | None:
    """Return the company's current snapshot; None where there is none, or where the company's last write is another.

    The last write differs after a newer write, or when a backup was restored and its ledger is another.
    """
    snapshot = snapshots.current(data_dir, company_id)
    with pool.company(company_id) as conn:
        number, link_hash, _ = conn.execute(COUNTED).fetchone() or (0, "", 0)
    is_newest = snapshot is not None and (snapshot.number, snapshot.link_hash) == (number, link_hash)
    return snapshot if is_newest else None


def blocks(snapshot: Snapshot, *, sku_columns: pl.Schema = SKU_COLUMNS) -> Iterator[Portfolio]:
    """Yield the portfolio in blocks of about `BLOCK_SKUS` SKUs, each with all its components and volumes."""
    for first in range(0, len(snapshot.parts), _PARTS):
        parts = slice(first, first + _PARTS)
        yield Portfolio(
            _block(snapshot.skus[parts], sku_columns),
            _block(snapshot.components[parts], COMPONENT_COLUMNS),
            _block(snapshot.volumes[parts], VOLUME_COLUMNS),
        )


def _block(files: list[Path], columns: pl.Schema) -> pl.DataFrame:
    return pl.read_parquet(files, columns=list(columns))
