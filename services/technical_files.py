"""The record of an uploaded technical file: its row, its audit entry and how it is answered."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from pipelines.writing import ledger
from pipelines.writing.origin import Origin

if TYPE_CHECKING:  # a reader process loads this module too, and needs no more than the type
    import psycopg

_COLUMNS: Final = (
    "id", "company_id", "sku_id", "type", "filename", "media_type", "size_bytes", "sha256", "reference", "issuer",
    "issued_on", "expires_on", "created_at", "updated_at",
)  # fmt: skip
_VALUES: Final = ", ".join("skus.id" if name == "sku_id" else f"%({name})s" for name in _COLUMNS)
_INSERT: Final = f"""
INSERT INTO technical_files ({", ".join(_COLUMNS)})
SELECT {_VALUES} FROM skus WHERE skus.id = %(sku_id)s
"""
"""Nothing is added for a SKU that the session's company does not have."""


class SkuUnknown(LookupError):  # noqa: N818  (an answer, not a fault)
    """The company has no such SKU."""

    code = "not_found"


@dataclass(frozen=True, slots=True)
class Received:
    """A file whose bytes have arrived: under which id, and what is known of it. Sizes in bytes, digests in hex."""

    id: UUID
    sku_id: UUID
    filename: str
    media_type: str
    size_bytes: int
    sha256: str
    fields: dict[str, Any]
    """What stands beside the bytes, as `schemas.technical_file_form` parses it."""

    def published(self, at: datetime, *, stored: bool) -> dict[str, Any]:
        """The contract's TechnicalFile; without an id where it is not stored."""
        return {
            "id": self.id if stored else None,
            "sku_id": self.sku_id,
            "type": self.fields["type"],
            **{name: getattr(self, name) for name in ("filename", "media_type", "size_bytes", "sha256")},
            **{name: self.fields[name] for name in ("reference", "issuer", "issued_on", "expires_on")},
            "created_at": at.isoformat().replace("+00:00", "Z"),
            "updated_at": at.isoformat().replace("+00:00", "Z"),
        }


def key_of(company_id: UUID, file_id: UUID) -> str:
    """Where the bytes of a technical file lie in the object store."""
    return f"{company_id}/files/{file_id}"


def record(conn: "psycopg.Connection[Any]", company_id: UUID, file: Received, *, origin: Origin, now: datetime) -> None:
    """Add the row and its audit entry, in the caller's transaction. Raises `SkuUnknown`."""
    held = file.published(now, stored=True)
    row = {**held, "company_id": company_id, "created_at": now, "updated_at": now}
    if conn.execute(_INSERT, row).rowcount != 1:
        raise SkuUnknown(f"There is no SKU {file.sku_id}.")
    after = {name: held[name] for name in held if name not in {"id", "created_at", "updated_at"}}
    ledger.enter(conn, company_id, "technical_file.uploaded", file.id, origin=origin, now=now, before=None, after=after)
