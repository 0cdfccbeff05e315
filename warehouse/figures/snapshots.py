"""Stores a company's portfolio as Parquet files of one instant, for figures and answers that read all of it.

A snapshot never changes; a newer one replaces it: `publish` writes all rows of a company at one instant under a new
name, then moves the pointer. Changed rows are read, the rest is taken over from the snapshot before; where that is not
reliable, all is read. Both give the same rows. A kill at any instant leaves the last complete snapshot in place: the
pointer is moved, in one atomic step of the file system, when everything that it points to is on the disk. A later sweep
removes unfinished files. A snapshot is under `snapshots/<company id>/` in the data directory and has no other company's
rows. `warehouse.figures` and `pipelines.figures` compute from it.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Final, NamedTuple, Self, TypeAlias, TypedDict
from uuid import UUID

import orjson
import polars as pl
from psycopg.rows import class_row
from sqlalchemy import BigInteger, Column, Date, Integer, Numeric, PrimaryKeyConstraint, Table, Text

from schemas.json_values import instant_text
from schemas.vocabularies import actions_of
from warehouse.base import company, instant, metadata
from warehouse.figures import source
from warehouse.figures.source import ARCHIVED, COUNTED, HOLDS_UNTIL, NOTHING, PART_SKUS, Tables
from warehouse.operate import whole_files
from warehouse.operate.sessions import Connection, Pool
from warehouse.operate.whole_files import POINTER, are_whole
from warehouse.rules import Rulesets

TABLES: Final = ("skus", "components", "volumes")
FOLDER: Final = "snapshots"
"""The folder's name in the data directory."""

MANIFEST: Final = "manifest.json"
FORM: Final = 12
"""The version of files and manifest; it grows whenever a column or its meaning changes."""

PartRows: TypeAlias = Mapping[str, int]
"""The number of rows of a part by each of `TABLES`, without those of archived SKUs; `archived` counts these SKUs."""


class SnapshotEntry(TypedDict):
    """What `pcds snapshot --json` publishes of one company (decisions §10)."""

    company_id: str
    path: str
    as_of: str
    rows: dict[str, int]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One company's portfolio as it was at `as_of`, with every write up to the audit chain's link `number`.

    `link_hash` is that link's, as hexadecimal digits; `writes` counts those that changed what figures are made from.
    `made_by` names release and rule-set that made it. `parts` counts the rows of each part, which has its SKUs with all
    their components and volumes. `size_bytes` is the size of all files.
    """

    company_id: UUID
    name: str
    as_of: datetime
    number: int
    link_hash: str
    writes: int
    made_by: str
    parts: Sequence[PartRows] = field(hash=False)
    size_bytes: int
    folder: Path

    @property
    def rows(self) -> dict[str, int]:
        """Return the number of rows of each of `TABLES` that lists and counts read: those of no archived SKU."""
        return {table: sum(part[table] for part in self.parts) for table in TABLES}

    @property
    def path(self) -> str:
        """Return the folder, relative to the data directory; it contains the company's id."""
        return f"{FOLDER}/{self.company_id}/{self.name}"

    @property
    def skus(self) -> list[Path]:
        """Return the Parquet files of SKUs, one row each."""
        return self.files("skus")

    @property
    def components(self) -> list[Path]:
        """Return the Parquet files of components, one row each."""
        return self.files("components")

    @property
    def volumes(self) -> list[Path]:
        """Return the Parquet files of units placed on the market, one row per SKU, market, year and half."""
        return self.files("volumes")

    def files(self, table: str) -> list[Path]:
        """Return the files of a table, one for each part."""
        return [part_file(self.folder, table, number) for number in range(len(self.parts))]

    def is_whole(self) -> bool:
        """Return whether all files are there to their ends."""
        return are_whole(path for table in TABLES for path in self.files(table))

    def as_dict(self) -> SnapshotEntry:
        """Return the published shape of one company in `pcds snapshot --json` (decisions §10)."""
        return {
            "company_id": str(self.company_id),
            "path": self.path,
            "as_of": instant_text(self.as_of),
            "rows": self.rows,
        }

    def manifest(self) -> bytes:
        """Return the folder's manifest."""
        content = {
            "form": FORM,
            "name": self.name,
            "number": self.number,
            "link_hash": self.link_hash,
            "writes": self.writes,
            "made_by": self.made_by,
            "parts": self.parts,
            "size_bytes": self.size_bytes,
        }
        return orjson.dumps({**self.as_dict(), **content})

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Read the snapshot of a complete folder; None where another release wrote it, with other columns.

        Raises `OSError` or `ValueError` for any other folder.
        """
        manifest = orjson.loads((folder / MANIFEST).read_bytes())
        if manifest.get("form") != FORM:
            return None
        return cls(
            UUID(manifest["company_id"]),
            manifest["name"],
            datetime.fromisoformat(manifest["as_of"]),
            manifest["number"],
            manifest["link_hash"],
            manifest["writes"],
            manifest["made_by"],
            manifest["parts"],
            manifest["size_bytes"],
            folder,
        )


def part_file(folder: Path, table: str, number: int) -> Path:
    """Return the file of a table's part in the folder of a snapshot; parts count from 0."""
    return folder / f"{table}-{number:05d}.parquet"


def folder_of(data_dir: Path, company_id: UUID) -> Path:
    """Return the folder of a company's snapshots."""
    return data_dir / FOLDER / str(company_id)


def current(data_dir: Path, company_id: UUID) -> Snapshot | None:
    """Return the company's newest complete snapshot; None where none was published in this data directory.

    None, too, where its manifest is lost or cut off, and where another release wrote it in another form: it is made
    again within a minute. A newer snapshot does not disturb readers of this one: it stays for a while.
    """
    folder = folder_of(data_dir, company_id)
    try:
        snapshot = Snapshot.read(folder / (folder / POINTER).read_text(encoding="ascii"))
    except (FileNotFoundError, orjson.JSONDecodeError):
        return None
    if snapshot is None:
        return None
    if snapshot.company_id != company_id or snapshot.folder.resolve().parent != folder.resolve():
        raise ValueError(f"{folder.name}/{POINTER} names a snapshot of another company.")
    return snapshot


_IN: Final = "part"


def write(folder: Path, blocks: Iterable[Tables], proceed: Callable[[], None]) -> list[PartRows]:
    """Write all of a company to a new folder, one part after the other; an empty company has one part of no rows."""
    parts = list[PartRows]()
    for tables in blocks:
        proceed()
        parts.append(_write(folder, len(parts), tables))
    return parts or [_write(folder, 0, NOTHING)]


def write_over(
    folder: Path, before: Snapshot, ids: Sequence[UUID], blocks: Iterable[Tables], proceed: Callable[[], None]
) -> list[PartRows]:
    """Write the snapshot before to a new folder, with the SKUs of these ids replaced by `found`, or removed."""
    changed = Tables(*(pl.concat(frames) for frames in zip(NOTHING, *blocks, strict=True)))
    places = _places(before, [str(sku_id) for sku_id in ids])
    rows_given = _with_parts(changed.skus.select("id", "sku_code"), places, before.parts)
    touched = {*places[_IN], *rows_given[_IN]}
    parts = list[PartRows]()
    for number in range(max(len(before.parts) - 1, *touched, 0) + 1):
        proceed()
        if number not in touched:
            parts.append(_take_over(folder, before, number))
            continue
        gone = places.filter(pl.col(_IN) == number).select("sku_code")
        new = rows_given.filter(pl.col(_IN) == number).select("sku_code")
        parts.append(_write(folder, number, Tables(*_merged(before, number, gone, changed, new))))
    return parts


def _places(before: Snapshot, ids: Sequence[str]) -> pl.DataFrame:
    """Find the SKUs with these ids in a snapshot: `id`, `sku_code` and `part`."""
    places = [
        pl.scan_parquet(file).filter(pl.col("id").is_in(ids)).select("id", "sku_code", pl.lit(n, pl.Int64).alias(_IN))
        for n, file in enumerate(before.skus)
    ]
    return pl.concat(places).collect()


def _with_parts(skus: pl.DataFrame, stored: pl.DataFrame, parts: Sequence[PartRows]) -> pl.DataFrame:
    """Return the parts that SKUs belong in: their present part, else behind the last ones."""
    joined = skus.join(stored.select("id", _IN), on="id", how="left", maintain_order="left")
    old, new = joined.filter(pl.col(_IN).is_not_null()), joined.filter(pl.col(_IN).is_null())
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


KEPT: Final = 3
"""How many of a company's newest snapshots stay, however old they are."""
KEPT_FOR: Final = timedelta(minutes=15)
"""How long any other stays, for readers that have just looked up the current one."""


def sweep_folder(folder: Path) -> int:
    """Remove old and unfinished snapshots of one company, whose lock the caller has, and return how many.

    Ages are measured on the file system's own clock, which no setting of ours shifts.
    """
    pointer = folder / POINTER
    pointed = pointer.read_text(encoding="ascii") if pointer.exists() else ""
    snapshots = sorted((path for path in folder.iterdir() if path.is_dir()), key=_written_at, reverse=True)
    finished = [path for path in snapshots if (path / MANIFEST).exists()]
    os.utime(folder)
    oldest = _written_at(folder) - KEPT_FOR.total_seconds()
    old = [path for path in finished[KEPT:] if path.name != pointed and _written_at(path) < oldest]
    removed = [*old, *(path for path in snapshots if path not in finished)]
    for path in removed:
        shutil.rmtree(path)
    return len(removed)


def _written_at(path: Path) -> float:
    return path.stat().st_mtime


_STALE: Final = """
SELECT company_id, slug, "position", since, importing, imported, skus, latest
FROM pcds_stale_snapshots(%s) ORDER BY since NULLS FIRST
"""
_PUBLISHED: Final = 'SELECT company_id, slug, "position", name FROM pcds_published_snapshots()'


class Stale(NamedTuple):
    """A company with writes to figures that no snapshot has; `since`: the oldest, None where only a day has passed.

    `position` is the last link of its chain, `importing` whether an import of it waits or is under way, `imported`
    whether one has ended since the oldest of those writes, `skus` how many SKUs it has, `latest` its last write.
    """

    company_id: UUID
    slug: str
    position: int
    since: datetime | None
    importing: bool
    imported: bool
    skus: int
    latest: datetime | None


class Published(NamedTuple):
    """A company, the last link of its chain, and the name of its snapshot; None where none was published."""

    company_id: UUID
    slug: str
    position: int
    name: str | None


def stale(conn: Connection, today: date) -> list[Stale]:
    """Return the companies to publish, the longest waiting first, on a UTC day."""
    return [Stale(*row) for row in conn.execute(_STALE, (today,))]


def published(conn: Connection) -> list[Published]:
    """Return the database's record of every company's snapshot."""
    return [Published(*row) for row in conn.execute(_PUBLISHED)]


def is_astray(published: Published, data_dir: Path) -> bool:
    """Return whether the database names another snapshot than the one here: files were lost, or a backup restored."""
    snapshot = current(data_dir, published.company_id)
    return published.name != (snapshot.name if snapshot else None)


_CHANGED: Final = """
WITH entered AS (
    SELECT DISTINCT resource_id, split_part(action, '.', 1) = 'doc' AS is_doc
    FROM audit_entries WHERE id > %(last_entry)s AND action = ANY(%(actions)s)
)
SELECT resource_id::uuid FROM entered WHERE NOT is_doc
UNION
SELECT sku_id FROM docs
WHERE sku_id IS NOT NULL AND (
    id IN (SELECT resource_id::uuid FROM entered WHERE is_doc)
    OR status = 'valid' AND (issued_on > %(since)s AND issued_on <= %(today)s
                             OR expires_on >= %(since)s AND expires_on < %(today)s))
LIMIT %(most)s
"""
_LAST_ENTRY: Final = """
SELECT first_entry + entries - 1 FROM audit_transactions WHERE number = %s AND hash = decode(%s, 'hex')
"""


def is_of_ledger(conn: Connection, snapshot: Snapshot) -> bool:
    """Return whether a snapshot was made after the ledger of the session's company; another one was restored else."""
    return conn.execute(_LAST_ENTRY, (snapshot.number, snapshot.link_hash)).fetchone() is not None


_ACTIONS: Final = [*actions_of("sku"), *actions_of("sku_volumes"), *actions_of("doc")]


def changed_since(conn: Connection, before: Snapshot, today: date) -> Sequence[UUID] | None:
    """Return the SKUs that were created, changed or removed since a snapshot, or whose DoC status another day changes.

    None where reading all is less work, and where the company's ledger is not the one that the snapshot was made after
    (a backup was restored). `today` is the UTC day of the DoC statuses, not before the snapshot's.
    """
    link = conn.execute(_LAST_ENTRY, (before.number, before.link_hash)).fetchone()
    if link is None:
        return None
    most = min(PART_SKUS, before.rows["skus"] // 2)
    parameters = {
        "last_entry": link[0],
        "actions": _ACTIONS,
        "since": before.as_of.date(),
        "today": today,
        "most": most + 1,
    }
    rows = [row[0] for row in conn.execute(_CHANGED, parameters)]
    return None if len(rows) > most else rows


_RELEASE: Final = version("packaging-compliance-data-service")
_RECORD: Final = """
INSERT INTO snapshots (company_id, name, number, writes, as_of, holds_until)
VALUES (%(company_id)s, %(name)s, %(number)s, %(writes)s, %(as_of)s, %(holds_until)s)
ON CONFLICT (company_id) DO UPDATE
SET name = excluded.name, number = excluded.number, writes = excluded.writes, as_of = excluded.as_of,
    holds_until = excluded.holds_until
"""


def publish(
    pool: Pool,
    company_id: UUID,
    data_dir: Path,
    now: datetime,
    rulesets: Rulesets,
    *,
    proceed: Callable[[], None] = lambda: None,
) -> Snapshot:
    """Publish the company's portfolio as it is now, and return the snapshot, which is then current.

    `now` is the instant of the service's clock; DoC statuses are those of its UTC day. Where two publish a company at
    once, the second waits for the first. Memory does not grow with the company. `proceed` is called before each part
    and raises where the process has to end; the last snapshot then stays current.
    """
    folder = folder_of(data_dir, company_id)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with whole_files.lock_folder(folder), _at_one_instant(pool, company_id) as conn:
        number, link_hash, skus, writes = conn.execute(COUNTED).fetchone() or (0, "", 0, 0)
        holds_until = conn.execute(HOLDS_UNTIL, {"today": now.date()}).fetchone()
        rules = rulesets.active(conn)
        made_by = f"{_RELEASE}/{rules.version}"
        name = f"{now:%Y%m%dT%H%M%SZ}-{number}-{token_hex(3)}"
        read = partial(source.tables, conn, now.date(), rules)
        before = _before(data_dir, company_id, made_by, now)
        ids = None if before is None else changed_since(conn, before, now.date())
        (folder / name).mkdir(mode=0o700)
        if before is None or ids is None:
            made = write(folder / name, read(), proceed)
        else:
            made = write_over(folder / name, before, ids, read(ids), proceed)
            if sum(part["skus"] for part in made) != skus:  # some row was written without a ledger entry
                shutil.rmtree(folder / name)
                (folder / name).mkdir(mode=0o700)
                made = write(folder / name, read(), proceed)
        size = sum(file.stat().st_size for file in (folder / name).iterdir())
        snapshot = Snapshot(company_id, name, now, number, link_hash, writes, made_by, made, size, folder / name)
        (snapshot.folder / MANIFEST).write_bytes(snapshot.manifest())
        whole_files.point(folder, snapshot.folder)
        sweep_folder(folder)
    with pool.company(company_id) as conn:
        conn.execute(
            _RECORD,
            {
                "company_id": company_id,
                "name": name,
                "number": number,
                "writes": writes,
                "as_of": now,
                "holds_until": holds_until and holds_until[0],
            },
        )
    return snapshot


def _before(data_dir: Path, company_id: UUID, made_by: str, now: datetime) -> Snapshot | None:
    """Return the snapshot whose rows can be taken over.

    None where another release, rule-set or later day made it, and where a file of it is cut off.
    """
    snapshot = current(data_dir, company_id)
    if snapshot is None or snapshot.made_by != made_by or snapshot.as_of.date() > now.date():
        return None
    return snapshot if snapshot.is_whole() else None


def sweep(data_dir: Path) -> int:
    """Remove old and unfinished snapshots of every company, and return how many; one that is being published stays."""
    removed = 0
    for folder in (data_dir / FOLDER).glob("*/"):
        with suppress(BlockingIOError), whole_files.lock_folder(folder, wait=False):
            removed += sweep_folder(folder)
    return removed


@contextmanager
def _at_one_instant(pool: Pool, company_id: UUID) -> Iterator[Connection]:
    """Open a read-only transaction of the company in which every statement sees the same rows.

    A transaction of the pool has already run a statement, and can no longer become repeatable.
    """
    with pool.company(company_id) as conn:
        conn.execute("ROLLBACK")
        conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        conn.execute("SELECT set_config('app.company_id', %s, true)", (str(company_id),))
        conn.execute("SET LOCAL statement_timeout = 0")  # a statement lasts as long as its rows are written here
        yield conn


snapshots = Table(
    "snapshots",
    metadata,
    company(),
    Column("name", Text, nullable=False, comment="of its folder below the company's"),
    Column("number", BigInteger, nullable=False, comment="the last link of the audit chain that it holds"),
    Column("writes", BigInteger, nullable=False, server_default="0", comment="of them that changed figures"),
    instant("as_of"),
    Column("holds_until", Date, comment="the first day on which a DoC's validity changes without a write"),
    PrimaryKeyConstraint("company_id"),
)

head_figures = Table(
    "head_figures",
    metadata,
    company(),
    Column("day", Date, nullable=False, comment="the UTC day of the snapshot"),
    Column("year", Integer, nullable=False, comment="the calendar year of the tonnes"),
    Column("skus", Integer, nullable=False),
    Column("covered_skus", Integer, nullable=False),
    *(Column(name, Numeric(20, 6), nullable=False) for name in ("tonnes", "good_tonnes", "covered_tonnes")),
    Column("in_scope_tonnes", Numeric(20, 6)),
    Column("union_tonnes", Numeric(20, 6), comment="of what may be sold in the Union; null before it was kept"),
    instant("as_of"),
    PrimaryKeyConstraint("company_id", "day"),
    comment="what a company tells its board, as the last publication of each day found it",
)


class KeptHead(NamedTuple):
    """The head figures of one UTC day (`schemas.figures.HeadFigures`)."""

    day: date
    year: int
    skus: int
    covered_skus: int
    tonnes: float
    good_tonnes: float
    covered_tonnes: float
    in_scope_tonnes: float | None
    union_tonnes: float | None = None


_OF_HEAD: Final = (*KeptHead._fields[1:], "as_of")
_KEEP_HEAD: Final = f"""
INSERT INTO head_figures (company_id, day, {", ".join(_OF_HEAD)})
VALUES (%(company_id)s, %(day)s, {", ".join(f"%({name})s" for name in _OF_HEAD)})
ON CONFLICT (company_id, day) DO UPDATE
SET ({", ".join(_OF_HEAD)}) = ({", ".join(f"excluded.{name}" for name in _OF_HEAD)})
WHERE head_figures.as_of <= excluded.as_of
"""
_HEADS: Final = """
SELECT day, year, skus, covered_skus, tonnes::float, good_tonnes::float, covered_tonnes::float, in_scope_tonnes::float,
       union_tonnes::float
FROM head_figures WHERE day < %s AND day >= %s ORDER BY day
"""


def keep_head(conn: Connection, company_id: UUID, day: date, figures: Mapping[str, object]) -> None:
    """Keep the members of `KeptHead` and `as_of` as the company's of a day; those of a later instant stay."""
    values = {name: figures[name] for name in _OF_HEAD}
    conn.execute(_KEEP_HEAD, {**values, "company_id": company_id, "day": day})


def kept_heads(conn: Connection, today: date) -> list[KeptHead]:
    """Return the head figures of the session's company from a year ago to before today, the oldest first."""
    with conn.cursor(row_factory=class_row(KeptHead)) as cursor:
        return cursor.execute(_HEADS, (today, today - timedelta(days=366))).fetchall()
