"""The rows of a company as Postgres gives them, a block at a time, turned into the tables of a snapshot.

A SKU is one row with its graph and volumes as JSON (decision 0003): they are taken apart here, not in Postgres, which
takes four times as long for it. Memory holds one block, however large the company is.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Final

import polars as pl
import psycopg

from schemas.vocabularies import SUBSTANCES
from warehouse.snapshots.columns import COMPONENT_ROWS, COMPONENTS, SKU_ROWS, SKUS, STATUSES, VOLUME_ROWS, VOLUMES
from warehouse.snapshots.flags import RulesOf, flags

BLOCK_BYTES: Final = 16 * 2**20
"""Rows of about so much text are turned into a frame together."""
_NULL: Final = "\ue5e5"
"""Stands for null in what COPY sends: a character of no meaning, which no value consists of."""
_LINE: Final = pl.List(
    pl.Struct({
        "id": pl.String(), "component_type": pl.String(), "material_family": pl.String(),
        "polymer_or_grade": pl.String(), "weight_g": pl.Float64(), "separable": pl.Boolean(),
        "recycled_content_percent": pl.Float64(), "thickness_um": pl.Float64(),
        "substances": pl.Struct({name: pl.Struct({"status": pl.String()}) for name in SUBSTANCES}),
    })
)  # fmt: skip
_TRUTH: Final = pl.Boolean()
_VOLUME: Final = r'"([A-Z-]+)/(\d{4})/([012])": ?(\d+)'
"""One member of the stored object: market, year, half, units."""


def skus(conn: psycopg.Connection[Any], today: date, layers: pl.LazyFrame, rules_of: RulesOf) -> Iterator[pl.DataFrame]:
    """The SKUs with their DoC status on that UTC day and the flags of the rule-set that graded them.

    `layers` are the company's components that a body may be made of.
    """
    types = {name: kind for name, kind in SKUS.items() if name != "flags"}
    types |= dict.fromkeys(("markets", "use_contexts"), pl.String()) | {"updated_at": pl.Int64(), "has_graph": _TRUTH}
    lists = [pl.col(name).str.json_decode(pl.List(pl.String())) for name in ("markets", "use_contexts")]
    instant = pl.from_epoch("updated_at", "us").dt.replace_time_zone("UTC")
    for block in _blocks(conn, SKU_ROWS, types, {"today": today}):
        yield block.with_columns(flags(block, layers, rules_of), *lists, instant).select(SKUS.names())


def components(conn: psycopg.Connection[Any]) -> Iterator[pl.DataFrame]:
    """The components, with their places from 0."""
    line, declared = pl.col("line").struct, pl.col("line").struct.field("substances").struct
    for block in _blocks(conn, COMPONENT_ROWS, {"sku_code": pl.String(), "components": pl.String()}):
        graphs = block.select("sku_code", pl.col("components").str.json_decode(_LINE).alias("line"))
        places = pl.int_ranges(pl.col("line").list.len(), dtype=pl.UInt32).alias("position")
        yield (
            graphs.with_columns(places)
            .explode("line", "position")
            .select(
                "sku_code", "position",
                *(line.field(name) for name in COMPONENTS if name not in ("sku_code", "position", *STATUSES)),
                *(declared.field(name).struct.field("status").alias(f"{name}_status") for name in SUBSTANCES),
            )
            .select(COMPONENTS.names())
        )  # fmt: skip


def volumes(conn: psycopg.Connection[Any]) -> Iterator[pl.DataFrame]:
    """The volumes, a row per market, year and half."""
    for block in _blocks(conn, VOLUME_ROWS, {"sku_code": pl.String(), "volumes": pl.String()}):
        members = block.select("sku_code", pl.col("volumes").str.extract_all(_VOLUME)).explode("volumes")
        parts = pl.col("volumes").str.extract_groups(_VOLUME).struct
        yield members.select(
            "sku_code", parts[0].alias("market"), parts[1].cast(pl.Int32).alias("year"),
            parts[2].cast(pl.Int8).alias("half"), parts[3].cast(pl.Int64).alias("units_placed"),
        ).select(VOLUMES.names())  # fmt: skip


def _blocks(
    conn: psycopg.Connection[Any], query: str, types: Mapping[str, Any], parameters: Mapping[str, Any] | None = None
) -> Iterator[pl.DataFrame]:
    """The query's rows as frames of about `BLOCK_BYTES` each; its columns are those of `types`, in any order."""
    held, size = list[bytes](), 0
    statement = f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER, NULL '{_NULL}')"
    with conn.cursor() as cursor, cursor.copy(statement, parameters) as copy:
        header = bytes(next(iter(copy)))
        for row in copy:
            held.append(bytes(row))
            size += len(row)
            if size >= BLOCK_BYTES:
                yield _frame(header, held, types)
                held, size = [], 0
    if held:
        yield _frame(header, held, types)


def _frame(header: bytes, rows: list[bytes], types: Mapping[str, Any]) -> pl.DataFrame:
    """A frame out of COPY's CSV; an empty text stays an empty text."""
    schema = {name: types[name] for name in header.decode().strip().split(",")}
    truths = [name for name, kind in schema.items() if kind == pl.Boolean]
    frame = pl.read_csv(
        b"".join(rows), has_header=False, schema=schema | dict.fromkeys(truths, pl.String()), null_values=[_NULL],
        empty_string_is_null=False,
    )  # fmt: skip
    return frame.with_columns(pl.col(name) == "t" for name in truths)
