"""Reads the rows of a company from Postgres, a part at a time, and turns them into the tables of a snapshot.

A SKU is one row with its graph and volumes as JSON (decision 0003): they are taken apart here, not in Postgres, which
takes four times as long for it. Memory contains one part, however large the company is.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Final, NamedTuple
from uuid import UUID

import polars as pl

from compliance.grading import GRADED_INPUTS, fired_rules
from compliance.markets import FIRST_YEAR_IN_EFFECT
from compliance.rollup.portfolio import VOLUME_COLUMNS
from compliance.rule_rows import RuleSet
from schemas.vocabularies import SUBSTANCES
from warehouse.sessions import Connection
from warehouse.snapshots.columns import COMPONENTS, NAMED_ROWS, ROWS, SKUS, STATUSES, VOLUMES
from warehouse.snapshots.flags import flags

PART_SKUS: Final = 10_000
"""The most SKUs of a part, which one write has to read and write again."""
PART_BYTES: Final = 64 * 2**20
"""The size of text at which a part of large graphs ends, about."""
_NULL: Final = "\ue5e5"
"""Stands for null in COPY's output: a private-use character, which no value equals."""
_LINE: Final = pl.List(
    pl.Struct(
        {
            "id": pl.String(),
            "component_type": pl.String(),
            "material_family": pl.String(),
            "polymer_or_grade": pl.String(),
            "weight_g": pl.Float64(),
            "separable": pl.Boolean(),
            "recycled_content_percent": pl.Float64(),
            "thickness_um": pl.Float64(),
            "additives": pl.List(pl.String()),
            "substances": pl.Struct({name: pl.Struct({"status": pl.String()}) for name in SUBSTANCES}),
        }
    )
)
_VOLUME: Final = r'"([A-Z0-9-]+)/(\d{4})/([012])": ?(\d+)'
"""One member of the stored object: market, year, half, units."""
_OF_SKU: Final = ("sku_code", "position", "archived")
"""The columns of a component that are not its own."""
_LISTS: Final = ("markets", "use_contexts")
_GRAPHS: Final = ("components", "volumes")
_MADE_HERE: Final = ("flags", "rules", "markets_in_effect")
"""The columns that are made here and not read from Postgres: by the active rules, and by markets and volumes."""
_TYPES: Final = {
    **{name: kind for name, kind in SKUS.items() if name not in _MADE_HERE},
    **dict.fromkeys((*_LISTS, *_GRAPHS, "svhc"), pl.String()),
    "updated_at": pl.Int64(),
}


class Tables(NamedTuple):
    """Some SKUs with all their components and volumes, in the columns of a snapshot."""

    skus: pl.DataFrame
    components: pl.DataFrame
    volumes: pl.DataFrame


NOTHING: Final = Tables(SKUS.to_frame(), COMPONENTS.to_frame(), VOLUMES.to_frame())


def tables(conn: Connection, today: date, rules: RuleSet, ids: Sequence[UUID] | None = None) -> Iterator[Tables]:
    """Yield the company's SKUs, or those with these ids, in parts.

    DoC statuses are those of the UTC day, flags those of the active rule-set.
    """
    query = ROWS if ids is None else NAMED_ROWS
    for rows in parts(conn, query, {"today": today, "ids": None if ids is None else list(ids)}, _TYPES):
        components, volumes = _components(rows), _volumes(rows)
        skus = _skus(_in_effect(rows, volumes), components, rules)
        yield Tables(skus, components.select(COMPONENTS.names()), volumes)


def _in_effect(rows: pl.DataFrame, volumes: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with `markets_in_effect`, as `compliance.markets` defines it; a test holds both together."""
    placed = (
        volumes.filter(pl.col("year") >= FIRST_YEAR_IN_EFFECT, pl.col("units_placed") > 0)
        .group_by("sku_code")
        .agg(pl.col("market").alias("placed"))
    )
    declared = pl.col("markets").str.json_decode(pl.List(pl.String()))
    both = pl.concat_list(declared.fill_null([]), pl.col("placed").fill_null([]))
    return (
        rows.join(placed, on="sku_code", how="left", maintain_order="left")
        .with_columns(both.list.unique().list.sort().alias("markets_in_effect"))
        .drop("placed")
    )


def _skus(rows: pl.DataFrame, components: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    instant = pl.from_epoch("updated_at", "us").dt.replace_time_zone("UTC")
    lists = [pl.col(name).str.json_decode(pl.List(pl.String())) for name in _LISTS]
    by_rules = (flags(rows, components, rules), _fired(rows, rules))
    return rows.with_columns(*by_rules, *lists, instant).select(SKUS.names())


def _fired(rows: pl.DataFrame, rules: RuleSet) -> pl.Series:
    """Return the design rules that fired on each SKU. Contexts are JSON here, for the rules an array's text."""
    contexts = pl.col("use_contexts").str.replace_all('"', "", literal=True).str.strip_chars("[]")
    graded = rows.with_columns((pl.lit("{") + contexts + pl.lit("}")).alias("use_contexts")).select(GRADED_INPUTS)
    return pl.Series("rules", fired_rules(graded.iter_rows(), rules), dtype=pl.List(pl.String()))


def _components(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the components with their places from 0; their additives, for the flags alone, are an extra column."""
    line, declared = pl.col("line").struct, pl.col("line").struct.field("substances").struct
    graphs = rows.filter(pl.col("components").is_not_null()).select(
        "sku_code", "archived", pl.col("components").str.json_decode(_LINE).alias("line")
    )
    places = pl.int_ranges(pl.col("line").list.len(), dtype=pl.UInt32).alias("position")
    lines = graphs.with_columns(places).explode("line", "position")
    return lines.select(
        "sku_code",
        "position",
        "archived",
        *(line.field(name) for name in COMPONENTS if name not in (*_OF_SKU, *STATUSES)),
        *(declared.field(name).struct.field("status").alias(f"{name}_status") for name in SUBSTANCES),
        line.field("additives"),
    )


def _volumes(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the volumes in the columns of a snapshot."""
    marked = volumes_of(rows).join(rows.select("sku_code", "archived"), on="sku_code", maintain_order="left")
    return marked.select(VOLUMES.names())


def volumes_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the volumes, a row per market, year and half."""
    with_volumes = rows.filter(pl.col("volumes").is_not_null())
    members = with_volumes.select("sku_code", pl.col("volumes").str.extract_all(_VOLUME)).explode("volumes")
    parts = pl.col("volumes").str.extract_groups(_VOLUME).struct
    return members.select(
        "sku_code",
        parts[0].alias("market"),
        parts[1].cast(pl.Int32).alias("year"),
        parts[2].cast(pl.Int8).alias("half"),
        parts[3].cast(pl.Int64).alias("units_placed"),
    ).select(VOLUME_COLUMNS.names())


def parts(
    conn: Connection, query: str, parameters: Mapping[str, object], types: Mapping[str, pl.DataType]
) -> Iterator[pl.DataFrame]:
    """Yield the query's rows as frames, a part at a time; `types` has its columns, and may have others."""
    part, size = list[bytes](), 0
    statement = f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER, NULL '{_NULL}')"
    with conn.cursor() as cursor, cursor.copy(statement, parameters) as copy:
        header = bytes(next(iter(copy)))
        for row in copy:
            part.append(bytes(row))
            size += len(row)
            if len(part) == PART_SKUS or size >= PART_BYTES:
                yield _frame(header, part, types)
                part, size = [], 0
    if part:
        yield _frame(header, part, types)


def _frame(header: bytes, rows: list[bytes], types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Parse COPY's CSV into a frame; an empty text stays an empty text."""
    schema = {name: types[name] for name in header.decode().strip().split(",")}
    truths = [name for name, kind in schema.items() if kind == pl.Boolean]
    frame = pl.read_csv(
        b"".join(rows),
        has_header=False,
        schema=schema | dict.fromkeys(truths, pl.String()),
        null_values=[_NULL],
        empty_string_is_null=False,
    )
    return frame.with_columns(pl.col(name) == "t" for name in truths)
