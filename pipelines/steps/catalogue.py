"""Loading the jurisdiction catalogue: the served table made equal to a file, and what that changed.

What a row means and whether a file may be served is `compliance.catalogue`. Here is only the difference to what is
held, written in one transaction with a record of the load.
"""

import hashlib
from dataclasses import asdict, dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Json
from sqlalchemy import Boolean, Date, Integer
from uuid_utils import uuid7

from compliance import catalogue
from compliance.catalogue import PINNED, Jurisdiction
from compliance.tables import rows
from warehouse.tables import jurisdictions

_COLUMNS: Final = tuple(column.name for column in jurisdictions.columns)
_UPSERT: Final = (
    f"INSERT INTO jurisdictions ({', '.join(_COLUMNS)}) VALUES ({', '.join(f'%({name})s' for name in _COLUMNS)}) "
    f"ON CONFLICT (code) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[1:])}"
)
_LOAD: Final = (
    "INSERT INTO catalogue_loads (id, loaded_at, source_hash, rows, changes, pinned) VALUES (%s, %s, %s, %s, %s, %s)"
)


@dataclass(frozen=True, slots=True)
class CatalogueFile:
    """A file that may be served: its rows in stored columns and as what they mean. `pinned`: the release's own."""

    rows: dict[str, dict[str, Any]]
    entries: tuple[Jurisdiction, ...]
    source_hash: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class Changes:
    """What a load did, by code; `unchanged` counts. `demoted`: served less deep than recorded, the review is old."""

    added: list[str]
    changed: list[str]
    removed: list[str]
    unchanged: int
    demoted: list[str]
    source_hash: str

    def as_dict(self) -> dict[str, Any]:
        """The published shape of `pcds catalogue refresh --json` (decisions §10)."""
        return asdict(self)


def read(path: Path | None) -> CatalogueFile:
    """An operator's file, or the release's where there is none. Raises `TableError` with every fault of it."""
    file = path or PINNED
    entries = catalogue.load(file)
    stored = {row["code"]: {name: _stored(name, row[name]) for name in _COLUMNS} for row in rows(file)}
    return CatalogueFile(stored, entries, hashlib.sha256(file.read_bytes()).hexdigest(), path is None)


def _stored(name: str, cell: str) -> Any:
    """A cell as its column holds it; an empty one is null, and so is a date of which the day is not known."""
    kind = jurisdictions.c[name].type
    if isinstance(kind, Boolean):
        return cell == "Y"
    if isinstance(kind, Date):
        return date.fromisoformat(cell) if len(cell) == len("2026-01-31") else None
    if isinstance(kind, Integer):
        return int(cell) if cell else None
    return cell or None


def held(conn: psycopg.Connection[Any]) -> dict[str, dict[str, Any]]:
    """The rows of the catalogue as they are held now, by code."""
    with conn.cursor(row_factory=dict_row) as cursor:
        return {row["code"]: row for row in cursor.execute(f"SELECT {', '.join(_COLUMNS)} FROM jurisdictions")}


def is_needed(conn: psycopg.Connection[Any], release: CatalogueFile) -> bool:
    """Whether a start has to load the release's file: none is held, or another release's; never over an operator's."""
    last = conn.execute("SELECT source_hash, pinned FROM catalogue_loads ORDER BY loaded_at DESC, id DESC LIMIT 1")
    source_hash, pinned = last.fetchone() or (None, True)
    return bool(pinned) and source_hash != release.source_hash


def load(conn: psycopg.Connection[Any], file: CatalogueFile, now: datetime) -> Changes:
    """Make the table equal to the file, in the caller's transaction."""
    before, after = held(conn), file.rows
    added, removed = sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())
    changed = sorted(code for code in after.keys() & before.keys() if after[code] != before[code])
    demoted = sorted(entry.code for entry in file.entries if entry.depth(now.date()) < entry.base_depth)
    with conn.cursor() as cursor:
        cursor.executemany(_UPSERT, [after[code] for code in (*added, *changed)])
        cursor.execute("DELETE FROM jurisdictions WHERE code = ANY(%s)", (removed,))
    changes = Changes(added, changed, removed, len(after) - len(added) - len(changed), demoted, file.source_hash)
    codes = {"added": added, "changed": changed, "removed": removed}
    conn.execute(_LOAD, (UUID(str(uuid7())), now, file.source_hash, len(after), Json(codes), file.pinned))
    return changes
