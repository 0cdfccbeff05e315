"""Loads the jurisdiction catalogue: makes the served table equal to a file, and returns what that changed.

`compliance.catalogue` defines the rows and decides whether a file may be served. This module computes the difference to
the stored rows, and writes it in one transaction with a record of the load.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Final

import polars as pl
from sqlalchemy import Boolean, Date, Integer
from uuid_utils import uuid7

from compliance import catalogue
from compliance.catalogue import PINNED, Jurisdiction
from compliance.tables import TableError, rows
from schemas.actors import Origin
from warehouse import catalogue as catalogue_warehouse
from warehouse.audit import ledger
from warehouse.catalogue import entry, jurisdictions
from warehouse.companies import queries as companies
from warehouse.operate.sessions import Connection

_POLARS: Final = {Boolean: pl.Boolean, Date: pl.Date, Integer: pl.Int64}
_DTYPES: Final = {column.name: _POLARS.get(type(column.type), pl.String) for column in jurisdictions.columns}
FOLDER: Final = "catalogue"
"""The folder of the data directory from which alone a run reads an operator's file, whoever launched it."""
_MAX_BYTES: Final = 16 * 2**20


@dataclass(frozen=True, slots=True)
class CatalogueFile:
    """A file that may be served: its rows in stored columns and as parsed entries. `pinned`: the release's own."""

    rows: dict[str, dict[str, object]]
    entries: tuple[Jurisdiction, ...]
    source_hash: str
    pinned: bool

    def frame(self) -> pl.DataFrame:
        """Return the rows as the contract of the catalogue takes them (`schemas.contracts.jurisdictions`)."""
        return frame_of(self.rows)


def frame_of(rows: Mapping[str, Mapping[str, object]]) -> pl.DataFrame:
    """Return rows by code as the contract of the catalogue takes them."""
    return pl.DataFrame(list(rows.values()), schema={name: _DTYPES[name] for name in catalogue_warehouse.COLUMNS})


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a load, by code; `unchanged` counts. `demoted`: served less deep, as the review is old."""

    added: list[str]
    changed: list[str]
    removed: list[str]
    unchanged: int
    demoted: list[str]
    source_hash: str

    def as_dict(self) -> dict[str, object]:
        """Return the published shape of `pcds catalogue refresh --json` (decisions §10)."""
        return asdict(self)


def copy_for_runs(data_dir: Path, file: Path) -> str:
    """Copy an operator's file to where runs may read it, and return its name. Raises `TableError` for another file.

    The same bytes under the same name are stored once.
    """
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise TableError(f"{file.name}: a catalogue has at most {_MAX_BYTES} bytes.")
        data = file.read_bytes()
    except OSError as error:
        raise TableError(f"{file.name} cannot be read: {error.strerror}.") from None
    folder, digest = data_dir / FOLDER, hashlib.sha256(data).hexdigest()[:16]
    (folder / digest).mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = folder / digest / str(uuid7())
    draft.write_bytes(data)
    draft.replace(folder / digest / file.name)
    return f"{digest}/{file.name}"


def stored_file(data_dir: Path, name: str) -> Path:
    """Return the stored file of that name. Raises `TableError`, with one text for a file elsewhere and for none."""
    try:
        folder = (data_dir / FOLDER).resolve()
        path = (folder / name).resolve()
        if path.is_relative_to(folder) and path.is_file():
            return path
    except (OSError, ValueError, RuntimeError):  # an invalid file name, or links that lead in a circle
        pass
    raise TableError(
        f"A run reads files of the folder {FOLDER} of the data directory alone: `pcds catalogue refresh --file FILE` "
        "copies one there."
    )


def read(path: Path | None) -> CatalogueFile:
    """Read an operator's file, or the release's where there is none. Raises `TableError` with every fault of it."""
    file = path or PINNED
    entries = catalogue.load(file)
    stored = {
        row["code"]: {name: _column_value(name, row[name]) for name in catalogue_warehouse.COLUMNS}
        for row in rows(file)
    }
    return CatalogueFile(stored, entries, hashlib.sha256(file.read_bytes()).hexdigest(), path is None)


def _column_value(name: str, cell: str) -> object:
    """Return a cell as its column stores it; an empty one is null, and so is a date of which the day is not known."""
    kind = jurisdictions.c[name].type
    if isinstance(kind, Boolean):
        return cell == "Y"
    if isinstance(kind, Date):
        return date.fromisoformat(cell) if len(cell) == len("2026-01-31") else None
    if isinstance(kind, Integer):
        return int(cell) if cell else None
    return cell or None


def is_needed(conn: Connection, release: CatalogueFile) -> bool:
    """Return whether a start has to load the release's file: none or another release's is stored, not an operator's."""
    source_hash, pinned = catalogue_warehouse.last_load(conn) or (None, True)
    return pinned and source_hash != release.source_hash


def unchanged_load(conn: Connection, now: datetime) -> Changes:
    """Return the result of a refresh that loads nothing: all unchanged, and the codes served less deep by now."""
    rows, last = catalogue_warehouse.stored(conn), catalogue_warehouse.last_load(conn)
    return Changes([], [], [], len(rows), _demoted(map(entry, rows.values()), now), last.source_hash if last else "")


def load(conn: Connection, file: CatalogueFile, origin: Origin, now: datetime) -> Changes:
    """Make the table equal to the file, in the caller's transaction; changes are entered in every company's ledger."""
    catalogue_warehouse.lock(conn)
    before, after = catalogue_warehouse.stored(conn), file.rows
    added, removed = sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())
    changed = sorted(code for code in after.keys() & before.keys() if after[code] != before[code])
    catalogue_warehouse.replace(conn, [after[code] for code in (*added, *changed)], removed)
    changes = Changes(
        added, changed, removed, len(after) - len(added) - len(changed), _demoted(file.entries, now), file.source_hash
    )
    codes = {"added": added, "changed": changed, "removed": removed}
    catalogue_warehouse.enter_load(conn, now, file.source_hash, rows=len(after), changes=codes, pinned=file.pinned)
    if added or changed or removed:
        ledger.enter_for_each(
            conn,
            companies.ids(conn),
            "catalogue.refreshed",
            file.source_hash,
            origin=origin,
            now=now,
            before=None,
            after={"pinned": file.pinned, **codes},
        )
    return changes


def _demoted(entries: Iterable[Jurisdiction], now: datetime) -> list[str]:
    return sorted(entry.code for entry in entries if entry.depth(now.date()) < entry.base_depth)
