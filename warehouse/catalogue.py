"""Reads and replaces the loaded jurisdiction catalogue: every row, in the form that `compliance.catalogue` uses."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, Final, NamedTuple  # Any: a row, whose columns the table names
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Json
from sqlalchemy import JSON, Boolean, Column, Date, Integer, Table, Text
from uuid_utils import uuid7

from compliance import catalogue
from compliance.catalogue import Jurisdiction
from schemas import normalise
from warehouse.base import identity, instant, metadata
from warehouse.operate.sessions import AsyncConnection, Connection

jurisdictions = Table(
    "jurisdictions",
    metadata,
    Column("code", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("parent_code", Text),
    Column("system", Text),
    Column("register_name", Text),
    Column("register_url", Text),
    Column("law_title", Text),
    Column("law_reference", Text),
    Column("law_date", Date),
    Column("law_date_seen", Text),
    Column("scope", Text),
    Column("reporting_period", Text),
    Column("authorised_representative_required", Text),
    Column("local_labelling_rule", Text),
    Column("depth", Integer, nullable=False, comment="as recorded; what is served is derived on read"),
    Column("verified_on", Date),
    Column("source_url", Text),
    Column("source_note", Text),
    Column("region", Text, nullable=False),
    Column("system_key", Text, nullable=False),
    Column("in_catalogue", Boolean, nullable=False, comment="served"),
    Column("reviewed_on", Date, comment="of the lawyer's review behind depth 3"),
    Column("composite_rule", Text),
    Column("composite_threshold_percent", Integer),
    Column("composite_basis", Text),
    Column("composite_note", Text),
)

catalogue_loads = Table(
    "catalogue_loads",
    metadata,
    identity(),
    instant("loaded_at"),
    Column("source_hash", Text, nullable=False),
    Column("rows", Integer, nullable=False),
    Column("changes", JSON, nullable=False, comment="added, changed, removed codes"),
    Column("pinned", Boolean, nullable=False, comment="false where an operator loaded a file"),
)


LEGACY_COLUMN: Final = "authorised_representative_required"
"""A column that the last release still writes; `compliance.representatives` says it now. The next release drops it."""
COLUMNS: Final = tuple(column.name for column in jurisdictions.columns if column.name != LEGACY_COLUMN)

_ALL: Final = "SELECT * FROM jurisdictions ORDER BY code"
"""Served rows and those that only rules use; the catalogue says which are served."""

_LOADED: Final = "SELECT EXISTS (SELECT FROM jurisdictions WHERE in_catalogue)"

_SERVED: Final = "SELECT code FROM jurisdictions WHERE in_catalogue"
_SERVED_SUBDIVISIONS: Final = f"{_SERVED} AND parent_code IS NOT NULL"
_LAST: Final = "SELECT source_hash, pinned FROM catalogue_loads ORDER BY loaded_at DESC, id DESC LIMIT 1"
_UPSERT: Final = (
    f"INSERT INTO jurisdictions ({', '.join(COLUMNS)}) VALUES ({', '.join(f'%({name})s' for name in COLUMNS)}) "
    f"ON CONFLICT (code) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in COLUMNS[1:])}"
)
_LOAD: Final = (
    "INSERT INTO catalogue_loads (id, loaded_at, source_hash, rows, changes, pinned) VALUES (%s, %s, %s, %s, %s, %s)"
)

_NEVER_NULL: Final = ("system", "scope", "composite_rule")
_OTHER_FORMS: Final = (*_NEVER_NULL, "reporting_period", "composite_threshold_percent")
_AS_THEY_ARE: Final = tuple(
    field.name for field in fields(Jurisdiction) if field.name in COLUMNS and field.name not in _OTHER_FORMS
)


def served_markets(connection: Connection) -> frozenset[str]:
    """Return the codes that the catalogue serves, which volumes may have; the release's until one is loaded."""
    loaded = frozenset(code for (code,) in connection.execute(_SERVED))
    return loaded or frozenset(entry.code for entry in catalogue.served(catalogue.pinned()))


def served_subdivisions(connection: Connection) -> frozenset[str]:
    """Return those of them that are part of another jurisdiction."""
    loaded = frozenset(code for (code,) in connection.execute(_SERVED_SUBDIVISIONS))
    return loaded or frozenset(entry.code for entry in catalogue.served(catalogue.pinned()) if entry.parent_code)


def kept_market(connection: Connection, code: str) -> str:
    """Return the code under which a record keeps a normalised market: a part that is not served is its country."""
    return normalise.markets([code], served_subdivisions(connection))[0] if "-" in code else code


def entry(row: Mapping[str, Any]) -> Jurisdiction:
    """Return one row of the table as an entry of the catalogue."""
    threshold = row["composite_threshold_percent"]
    columns: dict[str, Any] = {name: row[name] for name in _AS_THEY_ARE}
    columns |= {name: row[name] or "" for name in _NEVER_NULL}
    return Jurisdiction(
        **columns,
        reporting_period=tuple(filter(None, (row["reporting_period"] or "").split("|"))),
        base_depth=row["depth"],
        served=row["in_catalogue"],
        composite_threshold_percent="" if threshold is None else str(threshold),
    )


def every(conn: Connection) -> list[Jurisdiction]:
    """Return the whole catalogue by code, with the rows that only rules use; empty until one is loaded."""
    with conn.cursor(row_factory=dict_row) as cursor:
        return [entry(row) for row in cursor.execute(_ALL)]


async def read_every(connection: AsyncConnection) -> list[Jurisdiction]:
    """Return the same in the event loop."""
    async with connection.cursor(row_factory=dict_row) as cursor:
        return [entry(row) for row in await (await cursor.execute(_ALL)).fetchall()]


def is_loaded(conn: Connection) -> bool:
    """Return whether a catalogue is loaded: one half of readiness."""
    return conn.execute(_LOADED).fetchone() == (True,)


async def read_is_loaded(connection: AsyncConnection) -> bool:
    """Return the same in the event loop."""
    return await (await connection.execute(_LOADED)).fetchone() == (True,)


class Load(NamedTuple):
    """The last load: the hash of its file, and whether that was the release's own (`pinned`)."""

    source_hash: str
    pinned: bool


def last_load(conn: Connection) -> Load | None:
    """Return the load that the rows come from; None where the catalogue was never loaded."""
    row = conn.execute(_LAST).fetchone()
    return None if row is None else Load(*row)


def stored(conn: Connection) -> dict[str, dict[str, object]]:
    """Return the rows of the catalogue by code, with `COLUMNS` as they are stored."""
    with conn.cursor(row_factory=dict_row) as cursor:
        return {row["code"]: row for row in cursor.execute(f"SELECT {', '.join(COLUMNS)} FROM jurisdictions")}


def lock(conn: Connection) -> None:
    """Let no other transaction load a catalogue before this one ends."""
    conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('pcds/catalogue', 0))")


def replace(conn: Connection, rows: Sequence[Mapping[str, object]], removed: Sequence[str]) -> None:
    """Insert or update rows of all `COLUMNS`, and delete those of the codes in `removed`."""
    with conn.cursor() as cursor:
        cursor.executemany(_UPSERT, rows)
        cursor.execute("DELETE FROM jurisdictions WHERE code = ANY(%s)", (list(removed),))


def enter_load(
    conn: Connection, at: datetime, source_hash: str, *, rows: int, changes: Mapping[str, list[str]], pinned: bool
) -> None:
    """Record a load: its file's hash, how many rows it has, and which codes it added, changed and removed."""
    conn.execute(_LOAD, (UUID(str(uuid7())), at, source_hash, rows, Json(dict(changes)), pinned))
