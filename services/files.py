"""Records an uploaded technical file: its row, its audit entry, and its form in answers."""

from dataclasses import asdict
from typing import cast
from uuid import UUID

from schemas.actors import Actor
from schemas.files import TechnicalFile
from schemas.refusals import NotThere
from warehouse import files
from warehouse.audit import ledger
from warehouse.files import File
from warehouse.operate.sessions import Connection


def key_of(company_id: UUID, file_id: UUID) -> str:
    """Return the key of a technical file's bytes in the object store."""
    return f"{company_id}/files/{file_id}"


def record(conn: Connection, actor: Actor, sku_id: UUID, file: File, *, dry_run: bool = False) -> TechnicalFile:
    """Add the row and its audit entry, in the caller's transaction; with `dry_run` nothing is stored.

    Raises `NotThere`.
    """
    if not dry_run and not files.add(conn, actor.company_id, sku_id, file, at=actor.now):
        raise NotThere
    values = {**asdict(file), "sku_id": sku_id, "created_at": actor.now, "updated_at": actor.now}
    recorded = {name: values[name] for name in TechnicalFile.__annotations__}
    if not dry_run:
        after = {name: value for name, value in recorded.items() if name not in ("id", "created_at", "updated_at")}
        ledger.enter(conn, actor, "technical_file.uploaded", file.id, before=None, after=after)
    return cast(TechnicalFile, recorded | ({"id": None} if dry_run else {}))
