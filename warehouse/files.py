"""Adds, lists and reads the records of technical files; an upload is recorded with its audit entry.

Their bytes are objects (`warehouse.operate.objects`). `warehouse.evidence` has what they are evidence of.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import Final, NamedTuple, cast  # Any: the JSON of a row
from uuid import UUID

from psycopg.rows import class_row
from sqlalchemy import ARRAY, Column, Date, Index, Integer, Table, Text, Uuid, desc

from schemas.actors import Actor
from schemas.files import TechnicalFile
from schemas.refusals import NotThere
from warehouse import pages
from warehouse.audit import ledger
from warehouse.base import company, instant, metadata
from warehouse.operate.sessions import Connection
from warehouse.pages import Listing
from warehouse.skus.queries import is_archived

technical_files = Table(
    "technical_files",
    metadata,
    Column("id", Uuid, primary_key=True, comment="the object <company_id>/files/<id> holds the bytes"),
    company(),
    Column("sku_id", Uuid, primary_key=True),
    Column("type", Text, nullable=False),
    Column("filename", Text, nullable=False),
    Column("media_type", Text, nullable=False, comment="what the bytes are, not what they were declared as"),
    Column("size_bytes", Integer, nullable=False),
    Column("sha256", Text, nullable=False, comment="of the bytes, hexadecimal"),
    Column("reference", Text),
    Column("issuer", Text),
    Column("issued_on", Date),
    Column("expires_on", Date),
    instant("created_at"),
    instant("updated_at"),
    Column("component_ids", ARRAY(Uuid), comment="the parts that it is evidence for; null for all of the SKU"),
    Index("ix_technical_files_newest", "company_id", "sku_id", desc("created_at")),
)


_ITEM: Final = """
    id, sku_id, type, filename, media_type, size_bytes, sha256, reference, issuer,
    issued_on, expires_on, created_at, updated_at"""
"""TechnicalFile in the order of the contract."""
_ORDER: Final = "created_at DESC, id DESC"
_OF_SKU: Final = "FROM technical_files WHERE technical_files.sku_id = %(sku_id)s"

_COLUMNS: Final = tuple(column.name for column in technical_files.columns)
_VALUES: Final = ", ".join("skus.id" if name == "sku_id" else f"%({name})s" for name in _COLUMNS)
_INSERT: Final = f"""
INSERT INTO technical_files ({", ".join(_COLUMNS)})
SELECT {_VALUES} FROM skus WHERE skus.id = %(sku_id)s
"""
"""Adds nothing for a SKU that the session's company does not have."""
_NAMED: Final = """
SELECT type, filename, sha256, reference, issuer, issued_on::text AS issued_on FROM technical_files
WHERE sku_id = %s ORDER BY type, created_at, id LIMIT 100"""


_ONE: Final = """
SELECT id, filename, media_type, size_bytes, sha256, type, reference, issuer, issued_on, expires_on
FROM technical_files WHERE sku_id = %s AND id = %s"""


@dataclass(frozen=True, slots=True)
class File:
    """A document's metadata: its id, which is also its bytes' key, their size, SHA-256 in hex, and the form's fields.

    `media_type` is the type of the bytes. The form's fields are those that `schemas.files` parses.
    """

    id: UUID
    filename: str
    media_type: str
    size_bytes: int
    sha256: str
    type: str
    reference: str | None
    issuer: str | None
    issued_on: date | None
    expires_on: date | None


class NamedFile(NamedTuple):
    """A technical file as a declaration names it; `issued_on` is an ISO date."""

    type: str
    filename: str
    sha256: str
    reference: str | None
    issuer: str | None
    issued_on: str | None


def page(sku_id: UUID, limit: int, offset: int) -> Listing[TechnicalFile]:
    """Return the question for a page of a SKU's files, newest first; no row where the company has no such SKU."""
    listed = pages.listing(
        _ITEM,
        "technical_files",
        order=_ORDER,
        limit=limit,
        offset=offset,
        chosen=_OF_SKU,
        parameters={"sku_id": sku_id},
    )
    exists = f"EXISTS (SELECT FROM skus WHERE id = %(sku_id)s) OR {is_archived('%(sku_id)s')}"
    return replace(listed, sql=f"SELECT listed.* FROM ({listed.sql}) AS listed WHERE {exists}")


def add(
    connection: Connection,
    company_id: UUID,
    sku_id: UUID,
    file: File,
    *,
    at: datetime,
    component_ids: Sequence[UUID] | None = None,
) -> bool:
    """Add a file of a SKU, or of some parts of it; False where the session's company has no such SKU."""
    belongs_to = {"company_id": company_id, "sku_id": sku_id, "created_at": at, "updated_at": at}
    belongs_to |= {"component_ids": None if component_ids is None else list(component_ids)}
    return connection.execute(_INSERT, asdict(file) | belongs_to).rowcount == 1


class EndingFile(NamedTuple):
    """A file that is evidence until a day, the number of SKUs that it is of, and one of these."""

    filename: str
    type: str
    issuer: str | None
    expires_on: date
    skus: int
    sku_id: UUID


_ENDING: Final = """
SELECT filename, type, issuer, expires_on, count(*), min(sku_id::text)::uuid FROM technical_files
WHERE expires_on BETWEEN %s AND %s GROUP BY id, filename, type, issuer, expires_on ORDER BY expires_on, id LIMIT 200"""


def ending(connection: Connection, since: date, until: date) -> list[EndingFile]:
    """Return the files whose last day lies between two days, the first to end first: 200 at most."""
    return [EndingFile(*row) for row in connection.execute(_ENDING, [since, until])]


def one(connection: Connection, sku_id: UUID, file_id: UUID) -> File | None:
    """Return one file of a SKU of the session's company."""
    with connection.cursor(row_factory=class_row(File)) as cursor:
        return cursor.execute(_ONE, [sku_id, file_id]).fetchone()


def of_sku(connection: Connection, sku_id: UUID) -> list[NamedFile]:
    """Return the files of a SKU by type, the oldest first: 100 at most."""
    with connection.cursor(row_factory=class_row(NamedFile)) as cursor:
        return cursor.execute(_NAMED, [sku_id]).fetchall()


def key_of(company_id: UUID, file_id: UUID) -> str:
    """Return the key of a technical file's bytes in the object store."""
    return f"{company_id}/files/{file_id}"


def record(
    conn: Connection,
    actor: Actor,
    sku_id: UUID,
    file: File,
    *,
    component_ids: Sequence[UUID] | None = None,
    dry_run: bool = False,
) -> TechnicalFile:
    """Add the row and its audit entry, in the caller's transaction; with `dry_run` nothing is stored.

    `component_ids` are the parts that it is evidence for, else the whole SKU. One file may be of several SKUs. Raises
    `NotThere`.
    """
    if not dry_run and not add(conn, actor.company_id, sku_id, file, at=actor.now, component_ids=component_ids):
        raise NotThere
    values = {**asdict(file), "sku_id": sku_id, "created_at": actor.now, "updated_at": actor.now}
    recorded = {name: values[name] for name in TechnicalFile.__annotations__}
    if not dry_run:
        after = {name: value for name, value in recorded.items() if name not in ("id", "created_at", "updated_at")}
        after |= {"component_ids": component_ids} if component_ids else {}
        ledger.enter(conn, actor, "technical_file.uploaded", file.id, before=None, after=after)
    return cast(TechnicalFile, recorded | ({"id": None} if dry_run else {}))
