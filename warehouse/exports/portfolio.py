"""Reads a whole portfolio as three tables for an export, a part at a time: from the records, or from a snapshot.

From the records it has every stored field, by one COPY, that is at one instant. From a snapshot it has the snapshot's
columns. Memory contains one part, however large the company is.
"""

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any, Final  # Any: statements and parts of statements

import polars as pl

from schemas.fields import COMPONENT_FIELDS, Kind
from schemas.vocabularies import SUBSTANCES
from warehouse import pages
from warehouse.audit.visible import AS_OF
from warehouse.sessions import Connection
from warehouse.skus.columns import DTYPES
from warehouse.skus.queries import COVERAGE, DOC_CHANGED
from warehouse.skus.tables import DERIVED_COLUMNS, VALUE_COLUMNS
from warehouse.snapshots import Snapshot
from warehouse.snapshots.columns import ARCHIVED
from warehouse.snapshots.source import NOTHING, Tables, parts, volumes_of

_ENTRY: Final = pl.Struct(
    {
        "status": pl.String(),
        "value": pl.Float64(),
        "unit": pl.String(),
        "basis": pl.String(),
        "source": pl.String(),
        "evidence": pl.String(),
        "below": pl.Float64(),
    }
)
"""A substance's entry as it is stored."""
_OF_KIND: Final[dict[Kind, Any]] = {
    "number": pl.Float64(),
    "integer": pl.Int64(),
    "truth": pl.Boolean(),
    "codes": pl.List(pl.String()),
}
_LINES: Final = pl.List(
    pl.Struct(
        {
            "id": pl.String(),
            **{field.name: _OF_KIND.get(field.kind, pl.String()) for field in COMPONENT_FIELDS},
            "substances": pl.Struct(dict.fromkeys(SUBSTANCES, _ENTRY)),
        }
    )
)
_LISTS: Final = ("markets", "use_contexts")
_GRAPHS: Final = ("components", "volumes")
_INSTANTS: Final = ("created_at", "updated_at")
_PLAIN: Final = tuple(name for name in VALUE_COLUMNS if name not in (*SUBSTANCES, *_LISTS, *_GRAPHS))
_ROWS: Final = f"""
SELECT skus.id, {", ".join(_PLAIN)}, {", ".join(f"array_to_json({name}) AS {name}" for name in _LISTS)},
       {", ".join((*SUBSTANCES, *_GRAPHS, *DERIVED_COLUMNS))}, coalesce(covered.doc_status, 'missing') AS doc_status,
       (extract(epoch FROM created_at) * 1000000)::bigint AS created_at,
       (extract(epoch FROM greatest(updated_at, covered_at)) * 1000000)::bigint AS updated_at
FROM skus
LEFT JOIN (
    SELECT sku_id, {COVERAGE} AS doc_status, max({DOC_CHANGED}) AS covered_at FROM docs GROUP BY sku_id
) AS covered ON covered.sku_id = skus.id"""
"""Every SKU of the session's company on the UTC day `today`, with its graph and volumes as they are stored."""
_TYPES: Final = {name: DTYPES[name]() for name in (*_PLAIN, *DERIVED_COLUMNS)} | dict.fromkeys(
    ("id", "doc_status", *SUBSTANCES, *_LISTS, *_GRAPHS), pl.String()
)
_AS_OF: Final = f"SELECT {pages.instant(AS_OF)}"


def take_time(conn: Connection) -> None:
    """Lift the limit of time of a statement for this transaction: a large portfolio is read as its file is written."""
    conn.execute("SET LOCAL statement_timeout = 0")


def as_of(conn: Connection, now: datetime) -> datetime:
    """Return the instant from which a caller who has what is read next misses no change (decision 0033)."""
    row = conn.execute(_AS_OF, {"now": now, "today": now.date()}).fetchone()
    assert row is not None, "a least value is one row"
    return datetime.fromisoformat(row[0])


def of_records(conn: Connection, today: date) -> Iterator[Tables]:
    """Yield the company's SKUs with all stored fields, their components and volumes, as they are at one instant.

    A company without SKUs has one part without rows, so that its file has headers.
    """
    types = {**_TYPES, **dict.fromkeys(_INSTANTS, pl.Int64())}
    rows = None
    for rows in parts(conn, _ROWS, {"today": today}, types):
        yield _tables(rows)
    if rows is None:
        yield _tables(pl.DataFrame(schema=types))


def _tables(rows: pl.DataFrame) -> Tables:
    return Tables(_skus(rows), _components(rows), volumes_of(rows))


def of_snapshot(snapshot: Snapshot) -> Iterator[Tables]:
    """Yield the parts of a snapshot without archived SKUs; one without rows where it has none."""
    if not snapshot.parts:
        yield Tables(*(table.drop(ARCHIVED) for table in NOTHING))
    for files in zip(snapshot.skus, snapshot.components, snapshot.volumes, strict=True):
        yield Tables(*(pl.read_parquet(file).filter(~pl.col(ARCHIVED)).drop(ARCHIVED) for file in files))


def _skus(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(
        "id",
        *_PLAIN,
        *(pl.col(name).str.json_decode(pl.List(pl.String())) for name in _LISTS),
        *(part for name in SUBSTANCES for part in _entry(name, pl.col(name).str.json_decode(_ENTRY))),
        *DERIVED_COLUMNS,
        "doc_status",
        *(pl.from_epoch(name, "us").dt.replace_time_zone("UTC") for name in _INSTANTS),
    )


def _components(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the components with their places from 0."""
    graphs = rows.filter(pl.col("components").is_not_null()).select(
        "sku_code", pl.col("components").str.json_decode(_LINES).alias("line")
    )
    places = pl.int_ranges(pl.col("line").list.len(), dtype=pl.UInt32).alias("position")
    lines = graphs.with_columns(places).explode("line", "position")
    line = pl.col("line").struct
    plain = [field.name for field in COMPONENT_FIELDS if field.kind != "substances"]
    declared = line.field("substances").struct
    return lines.select(
        "sku_code",
        "position",
        line.field("id"),
        *(line.field(name) for name in plain),
        *(part for name in SUBSTANCES for part in _entry(name, declared.field(name))),
    )


def _entry(substance: str, entry: pl.Expr) -> Iterator[pl.Expr]:
    """Yield the members of a substance's entry as columns such as `pfas_status`."""
    for member in _ENTRY.fields:
        yield entry.struct.field(member.name).alias(f"{substance}_{member.name}")
