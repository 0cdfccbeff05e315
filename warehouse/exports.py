"""Stores exports and reads them, with the claims of the runs that write them, and what they contain.

An export whose time has passed is not found, whether its row still exists or not.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import (
    Any,  # Any: statements and parts of statements
    Final,
    NamedTuple,
    cast,
)
from uuid import UUID

import polars as pl
from psycopg.rows import dict_row
from psycopg.types.json import Json
from sqlalchemy import JSON, BigInteger, Column, DateTime, Index, Integer, Table, Text, Uuid, text

from schemas.exports import Export
from schemas.fields import COMPONENT_FIELDS, Kind
from schemas.messages import templates
from schemas.vocabularies import SUBSTANCES
from warehouse import pages, suppliers
from warehouse.audit.visible import AS_OF
from warehouse.base import company, identity, instant, metadata
from warehouse.figures.snapshots import Snapshot
from warehouse.figures.source import ARCHIVED, NOTHING, Tables, parts, volumes_of
from warehouse.imports.claims import STALLED_AFTER, prove
from warehouse.operate.sessions import Connection
from warehouse.pages import Listing
from warehouse.skus.queries import COVERED_ALL
from warehouse.skus.tables import DERIVED_COLUMNS, DTYPES, VALUE_COLUMNS

_KEPT: Final = "(expires_at IS NULL OR expires_at > %(now)s)"
_COLUMNS: Final = """
    id, format, source, status, skus_total, skus_done, as_of, rows, size_bytes, sha256, failure, created_at,
    finished_at, expires_at, CASE WHEN status = 'completed' THEN '/api/v1/exports/' || id || '/file' END AS file_url"""
ONE: Final = f"SELECT {_COLUMNS} FROM exports WHERE id = %(id)s AND {_KEPT}"
"""Export for the parameters `id` and `now`; no row where the session's company has none of that id."""
_FILE: Final = f"""
SELECT object_key, format, size_bytes, sha256, created_at FROM exports
WHERE id = %(id)s AND status = 'completed' AND {_KEPT}"""
_ADD: Final = """
INSERT INTO exports (id, company_id, format, source, status, skus_total, skus_done, object_key, attempts, client_id,
    client_name, created_at)
SELECT %(id)s, %(company_id)s, %(format)s, %(source)s, 'queued', coalesce(max(skus), 0), 0, %(object_key)s, 0,
    %(client_id)s, %(client_name)s, %(at)s FROM company_counters"""
_TEMPLATES: Final = "templates"
"""Member of a stored failure beside the members of its issue."""
_OPEN: Final = "SELECT count(*) FROM exports WHERE status IN ('queued', 'processing')"
_EXPIRED: Final = "SELECT id, object_key FROM exports WHERE expires_at <= %s ORDER BY expires_at LIMIT %s"
_REMOVE: Final = "DELETE FROM exports WHERE id = ANY(%s)"


class ExportFile(NamedTuple):
    """The file of a completed export."""

    object_key: str
    format: str
    size_bytes: int
    sha256: str
    created_at: datetime


def page(limit: int, offset: int, *, now: datetime, status: str | None) -> Listing[Export]:
    """Return the question for a page of the exports that are kept, newest first; a null `status` is any."""
    chosen = f"FROM exports WHERE {_KEPT} AND (%(status)s::text IS NULL OR status = %(status)s::text)"
    return pages.listing(
        _COLUMNS,
        "exports",
        order="created_at DESC, id",
        limit=limit,
        offset=offset,
        chosen=chosen,
        parameters={"now": now, "status": status},
    )


def add(connection: Connection, row: Mapping[str, object]) -> None:
    """Queue an export of the session's company; `row` has the parameters of `_ADD`."""
    connection.execute(_ADD, row)


def one(connection: Connection, export_id: UUID, now: datetime) -> Export | None:
    """Return an export; None where the session's company has none of that id."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cast(Export | None, cursor.execute(ONE, {"id": export_id, "now": now}).fetchone())


def file_of(connection: Connection, export_id: UUID, now: datetime) -> ExportFile | None:
    """Return the file of an export; None where the session's company has none of that id, or none that is complete."""
    row = connection.execute(_FILE, {"id": export_id, "now": now}).fetchone()
    return None if row is None else ExportFile(*row)


def open_ones(connection: Connection) -> int:
    """Return how many exports of the session's company have not ended."""
    (count,) = connection.execute(_OPEN).fetchone() or (0,)
    return int(count)


def expired(connection: Connection, now: datetime, *, most: int) -> list[tuple[UUID, str]]:
    """Return the id and the object's key of exports of the session's company whose time has passed."""
    return [(row[0], row[1]) for row in connection.execute(_EXPIRED, [now, most]).fetchall()]


def remove(connection: Connection, export_ids: Sequence[UUID]) -> None:
    """Remove the rows of exports whose files have been removed."""
    connection.execute(_REMOVE, [list(export_ids)])


exports = Table(
    "exports",
    metadata,
    identity(),
    company(),
    Column("format", Text, nullable=False, comment="csv, xlsx or parquet"),
    Column("source", Text, nullable=False, comment="records or snapshot"),
    Column("status", Text, nullable=False, comment="queued, processing, completed or failed"),
    Column("skus_total", Integer, nullable=False, comment="when the export was asked for"),
    Column("skus_done", Integer, nullable=False),
    Column("as_of", DateTime(timezone=True), comment="the instant of the records in the file"),
    Column("rows", JSON, comment="rows by table of the file"),
    Column("object_key", Text, nullable=False, comment="the file in the object store"),
    Column("size_bytes", BigInteger),
    Column("sha256", Text, comment="of the file, hexadecimal"),
    Column("failure", JSON, comment="Issue"),
    Column("claim", Uuid, comment="of the run that writes the file"),
    Column("attempts", Integer, nullable=False, comment="runs that have claimed it"),
    Column("client_id", Uuid, nullable=False),
    Column("client_name", Text, nullable=False),
    instant("created_at"),
    instant("heartbeat_at", nullable=True),
    instant("finished_at", nullable=True),
    Column("expires_at", DateTime(timezone=True), comment="when file and row may be removed"),
    Index("ix_exports_newest", "company_id", text("created_at DESC"), "id"),
    Index("ix_exports_open", "created_at", postgresql_where=text("status IN ('queued', 'processing')")),
)


MAX_ATTEMPTS: Final = 5
"""How many runs may claim an export before it fails."""
KEPT_FOR: Final = timedelta(days=7)
"""How long a finished export and its file are kept."""

_TAKE: Final = """
WITH free AS (
    SELECT id FROM exports WHERE status IN ('queued', 'processing')
        AND (claim IS NULL OR claim = %(run)s OR heartbeat_at < %(stalled_before)s)
    ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
)
UPDATE exports
SET status = 'processing', claim = %(run)s, attempts = attempts + 1, heartbeat_at = %(now)s, skus_done = 0
FROM free WHERE exports.id = free.id
RETURNING exports.id, exports.format, exports.source, exports.object_key, exports.attempts, exports.client_id"""
_BEAT: Final = """
UPDATE exports SET heartbeat_at = %(now)s, skus_done = greatest(skus_done, %(done)s)
WHERE id = %(id)s AND claim = %(run)s"""
_END: Final = """
UPDATE exports SET status = %(status)s, failure = %(failure)s, as_of = %(as_of)s, rows = %(rows)s,
    size_bytes = %(size_bytes)s, sha256 = %(sha256)s, skus_done = coalesce(%(skus)s, skus_done), finished_at = %(now)s,
    expires_at = %(expires_at)s, claim = NULL
WHERE id = %(id)s AND claim = %(run)s"""
_HAND_BACK: Final = "UPDATE exports SET claim = NULL, attempts = attempts - %s WHERE id = %s AND claim = %s"
_COMPANIES: Final = "SELECT company_id, slug, work, skus FROM pcds_open_exports(%s, %s)"


class Claimed(NamedTuple):
    """An export that a run has claimed."""

    id: UUID
    format: str
    source: str
    object_key: str
    attempts: int
    client_id: UUID


class Waiting(NamedTuple):
    """A company with exports that wait for a run; `work` stays the same until one of them is claimed."""

    company_id: UUID
    slug: str
    work: str
    skus: int


class Done(NamedTuple):
    """What a completed export has become."""

    as_of: datetime
    rows: Mapping[str, int]
    size_bytes: int
    sha256: str


def take(connection: Connection, run_id: UUID, now: datetime) -> Claimed | None:
    """Claim the oldest export of the session's company that waits or has stalled; None where there is none."""
    parameters = {"run": run_id, "now": now, "stalled_before": now - STALLED_AFTER}
    row = connection.execute(_TAKE, parameters).fetchone()
    return None if row is None else Claimed(*row)


def beat(connection: Connection, export_id: UUID, run_id: UUID, now: datetime, *, done: int) -> bool:
    """Record that the run still writes, and how many SKUs it has written; return whether the claim is still its own."""
    return connection.execute(_BEAT, {"id": export_id, "run": run_id, "now": now, "done": done}).rowcount == 1


def complete(connection: Connection, export_id: UUID, run_id: UUID, now: datetime, done: Done) -> None:
    """End an export whose file is stored. Raises `ClaimLost`."""
    row = {
        "status": "completed",
        "failure": None,
        **done._asdict(),
        "rows": Json(dict(done.rows)),
        "skus": done.rows["skus"],
    }
    _end(connection, export_id, run_id, now, row)


def fail(connection: Connection, export_id: UUID, run_id: UUID, now: datetime, issue: Mapping[str, object]) -> None:
    """End an export that has no file, for a reason. Raises `ClaimLost`."""
    nothing = dict.fromkeys(("as_of", "rows", "size_bytes", "sha256", "skus"))
    failure = {**issue, _TEMPLATES: templates(issue)}
    _end(connection, export_id, run_id, now, {"status": "failed", "failure": Json(failure), **nothing})


def templates_of(export: Mapping[str, Any]) -> Mapping[str, str]:
    """Take what is stored beside the message of a failure out of the record, and return it (`schemas.messages`)."""
    taken: Mapping[str, str] = (export["failure"] or {}).pop(_TEMPLATES, {})
    return taken


def _end(connection: Connection, export_id: UUID, run_id: UUID, now: datetime, row: Mapping[str, object]) -> None:
    ended = {"id": export_id, "run": run_id, "now": now, "expires_at": now + KEPT_FOR, **row}
    prove(connection.execute(_END, ended))


def hand_back(connection: Connection, export_id: UUID, run_id: UUID, *, counts: bool) -> None:
    """Release the claim, so that the next run has the export at once; does nothing where the claim is lost.

    `counts` is whether the attempt counts.
    """
    connection.execute(_HAND_BACK, [0 if counts else 1, export_id, run_id])


def companies(connection: Connection, now: datetime, *, asked_for: timedelta = timedelta(0)) -> list[Waiting]:
    """Return the companies with exports that wait or have stalled.

    Leaves out exports that were asked for within `asked_for`, because their run has just been requested.
    """
    rows = connection.execute(_COMPANIES, (now - STALLED_AFTER, now - asked_for))
    return [Waiting(*row) for row in rows]


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
_NUMBERS: Final = {"id": pl.String(), "supplier_id": pl.String(), "supplier_article": pl.String()}
"""Types of the numbers of parts."""
_LISTS: Final = ("markets", "use_contexts")
_GRAPHS: Final = ("components", "volumes")
_INSTANTS: Final = ("created_at", "updated_at")
_PLAIN: Final = tuple(name for name in VALUE_COLUMNS if name not in (*SUBSTANCES, *_LISTS, *_GRAPHS, "flag_facts"))
_ROWS: Final = f"""
SELECT skus.id, {", ".join(_PLAIN)}, {", ".join(f"array_to_json({name}) AS {name}" for name in _LISTS)},
       {", ".join((*SUBSTANCES, *_GRAPHS, *DERIVED_COLUMNS))}, coalesce(covered.doc_status, 'missing') AS doc_status,
       (extract(epoch FROM created_at) * 1000000)::bigint AS created_at,
       (extract(epoch FROM greatest(updated_at, covered_at)) * 1000000)::bigint AS updated_at
FROM skus{COVERED_ALL}"""
"""Every SKU of the session's company on the UTC day `today`, with its graph and volumes as they are stored."""
_TYPES: Final = {name: DTYPES[name]() for name in (*_PLAIN, *DERIVED_COLUMNS)} | dict.fromkeys(
    ("id", "doc_status", *SUBSTANCES, *_LISTS, *_GRAPHS), pl.String()
)
_AS_OF: Final = f"SELECT {AS_OF}"


def take_time(conn: Connection) -> None:
    """Lift the limit of time of a statement for this transaction: a large portfolio is read as its file is written."""
    conn.execute("SET LOCAL statement_timeout = 0")


def as_of(conn: Connection, now: datetime) -> datetime:
    """Return the instant from which a caller who has what is read next misses no change (decision 0033)."""
    row = conn.execute(_AS_OF, {"now": now, "today": now.date()}).fetchone()
    assert row is not None, "a least value is one row"
    instant_of_records: datetime = row[0]
    return instant_of_records


def of_records(conn: Connection, today: date) -> Iterator[Tables]:
    """Yield the company's SKUs with all stored fields, their components and volumes, as they are at one instant.

    A company without SKUs has one part without rows, so that its file has headers.
    """
    types = {**_TYPES, **dict.fromkeys(_INSTANTS, pl.Int64())}
    listed = [(*of_part, article) for of_part, article in suppliers.every_number(conn).items()]
    numbers = pl.DataFrame(listed, _NUMBERS, orient="row")
    rows = None
    for rows in parts(conn, _ROWS, {"today": today}, types):
        yield _tables(rows, numbers)
    if rows is None:
        yield _tables(pl.DataFrame(schema=types), numbers)


def _tables(rows: pl.DataFrame, numbers: pl.DataFrame) -> Tables:
    return Tables(_skus(rows), _components(rows, numbers), volumes_of(rows))


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


def _components(rows: pl.DataFrame, numbers: pl.DataFrame) -> pl.DataFrame:
    """Return the components with their places from 0, and the numbers under which their suppliers sell them."""
    graphs = rows.filter(pl.col("components").is_not_null()).select(
        "sku_code", pl.col("components").str.json_decode(_LINES).alias("line")
    )
    places = pl.int_ranges(pl.col("line").list.len(), dtype=pl.UInt32).alias("position")
    lines = graphs.with_columns(places).explode("line", "position")
    line = pl.col("line").struct
    plain = [field.name for field in COMPONENT_FIELDS if field.kind != "substances"]
    declared = line.field("substances").struct
    parts_of = lines.select(
        "sku_code",
        "position",
        line.field("id"),
        *(line.field(name) for name in plain),
        *(part for name in SUBSTANCES for part in _entry(name, declared.field(name))),
    )
    return parts_of.join(numbers, on=["id", "supplier_id"], how="left", maintain_order="left")


def _entry(substance: str, entry: pl.Expr) -> Iterator[pl.Expr]:
    """Yield the members of a substance's entry as columns such as `pfas_status`.

    What is attested to be below a value has the column that an import reads it from: `heavy_metals_sum_ppm`, `<50`.
    """
    for member in _ENTRY.fields:
        of_member = entry.struct.field(member.name)
        if member.name != "below":
            yield of_member.alias(f"{substance}_{member.name}")
        elif substance == "heavy_metals":
            number = of_member.cast(pl.String).str.strip_suffix(".0")
            yield pl.concat_str(pl.lit("<"), number).alias("heavy_metals_sum_ppm")
