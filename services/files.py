"""Records an uploaded technical file: its row, its audit entry, and its form in answers."""

from datetime import datetime
from uuid import UUID

from schemas.actors import Actor
from schemas.refusals import NotThere
from warehouse import files
from warehouse.audit import ledger
from warehouse.files import File
from warehouse.operate.sessions import Connection


def as_answer(file: File, sku_id: UUID, at: datetime, *, stored: bool) -> dict[str, object]:
    """Return the contract's TechnicalFile; without an id where it is not stored."""
    metadata = _metadata(file, sku_id)
    instant = at.isoformat().replace("+00:00", "Z")
    return {"id": file.id if stored else None, **metadata, "created_at": instant, "updated_at": instant}


def key_of(company_id: UUID, file_id: UUID) -> str:
    """Return the key of a technical file's bytes in the object store."""
    return f"{company_id}/files/{file_id}"


def record(
    conn: Connection,
    actor: Actor,
    sku_id: UUID,
    file: File,
) -> None:
    """Add the row and its audit entry, in the caller's transaction. Raises `NotThere`."""
    if not files.add(conn, actor.company_id, sku_id, file, at=actor.now):
        raise NotThere
    ledger.enter(
        conn,
        actor,
        "technical_file.uploaded",
        file.id,
        before=None,
        after=_metadata(file, sku_id),
    )


def _metadata(file: File, sku_id: UUID) -> dict[str, object]:
    """Return the file's metadata, in the order of the contract."""
    return {
        "sku_id": sku_id,
        "type": file.type,
        "filename": file.filename,
        "media_type": file.media_type,
        "size_bytes": file.size_bytes,
        "sha256": file.sha256,
        "reference": file.reference,
        "issuer": file.issuer,
        "issued_on": file.issued_on,
        "expires_on": file.expires_on,
    }
