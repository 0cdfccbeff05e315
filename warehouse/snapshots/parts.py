"""Writes the files of a snapshot: each of the three tables in parts of some SKUs, a file for each part.

A part that no write has touched is the same file in the next snapshot, under a second name (a hard link). So the cost
of one write does not grow with the company, and each folder is complete, whatever happens to others.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final
from uuid import UUID

import polars as pl

from warehouse.snapshots.columns import ARCHIVED
from warehouse.snapshots.snapshot import TABLES, PartRows, Snapshot, part_file
from warehouse.snapshots.source import NOTHING, PART_SKUS, Tables

_IN: Final = "part"


def write(folder: Path, found: Iterable[Tables], proceed: Callable[[], None]) -> list[PartRows]:
    """Write all of a company to a new folder, one part after the other; an empty company has one part of no rows."""
    parts = list[PartRows]()
    for tables in found:
        proceed()
        parts.append(_write(folder, len(parts), tables))
    return parts or [_write(folder, 0, NOTHING)]


def write_over(
    folder: Path, before: Snapshot, ids: Sequence[UUID], found: Iterable[Tables], proceed: Callable[[], None]
) -> list[PartRows]:
    """Write the snapshot before to a new folder, with the SKUs of these ids replaced by `found`, or removed."""
    changed = Tables(*(pl.concat(frames) for frames in zip(NOTHING, *found, strict=True)))
    places = _places(before, [str(sku_id) for sku_id in ids])
    given = _given(changed.skus.select("id", "sku_code"), places, before.parts)
    touched = {*places[_IN], *given[_IN]}
    parts = list[PartRows]()
    for number in range(max(len(before.parts) - 1, *touched, 0) + 1):
        proceed()
        if number not in touched:
            parts.append(_take_over(folder, before, number))
            continue
        gone = places.filter(pl.col(_IN) == number).select("sku_code")
        new = given.filter(pl.col(_IN) == number).select("sku_code")
        parts.append(_write(folder, number, Tables(*_merged(before, number, gone, changed, new))))
    return parts


def _places(before: Snapshot, ids: Sequence[str]) -> pl.DataFrame:
    """Find the SKUs with these ids in a snapshot: `id`, `sku_code` and `part`."""
    found = [
        pl.scan_parquet(file).filter(pl.col("id").is_in(ids)).select("id", "sku_code", pl.lit(n, pl.Int64).alias(_IN))
        for n, file in enumerate(before.skus)
    ]
    return pl.concat(found).collect()


def _given(skus: pl.DataFrame, stored: pl.DataFrame, parts: Sequence[PartRows]) -> pl.DataFrame:
    """Return the parts that SKUs belong in: their present part, else behind the last ones."""
    found = skus.join(stored.select("id", _IN), on="id", how="left", maintain_order="left")
    old, new = found.filter(pl.col(_IN).is_not_null()), found.filter(pl.col(_IN).is_null())
    places = (parts[-1]["skus"] + parts[-1][ARCHIVED] + pl.int_range(pl.len())) // PART_SKUS + len(parts) - 1
    return pl.concat([old, new.with_columns(places.cast(pl.Int64).alias(_IN))])


def _merged(
    before: Snapshot, number: int, gone: pl.DataFrame, changed: Tables, new: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    for name, table in zip(TABLES, changed, strict=True):
        rows = table.join(new, on="sku_code", how="semi")
        if number < len(before.parts):
            kept = pl.read_parquet(part_file(before.folder, name, number)).join(gone, on="sku_code", how="anti")
            rows = pl.concat([kept, rows])
        yield rows


def _write(folder: Path, number: int, tables: Tables) -> PartRows:
    for name, table in zip(TABLES, tables, strict=True):
        table.write_parquet(part_file(folder, name, number), compression="zstd", compression_level=1)
    listed = {name: table.height - int(table[ARCHIVED].sum()) for name, table in zip(TABLES, tables, strict=True)}
    return {**listed, ARCHIVED: tables.skus.height - listed["skus"]}


def _take_over(folder: Path, before: Snapshot, number: int) -> PartRows:
    for name in TABLES:
        old, new = part_file(before.folder, name, number), part_file(folder, name, number)
        try:
            os.link(old, new)
        except OSError:  # a file system without hard links
            shutil.copyfile(old, new)
    return before.parts[number]
