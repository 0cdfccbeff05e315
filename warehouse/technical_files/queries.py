"""Lists the technical files of a SKU: pages of them for callers, and those that a draft names.

What belongs here: what is asked of `technical_files`. What does not: their bytes (`warehouse.objects`).
"""

from typing import Final, NamedTuple
from uuid import UUID

from warehouse import pages
from warehouse.sessions import Connection

_ITEM: Final = f"""
    id, sku_id, type, filename, media_type, size_bytes, sha256, reference, issuer,
    issued_on::text AS issued_on, expires_on::text AS expires_on,
    {pages.instant("created_at")} AS created_at, {pages.instant("updated_at")} AS updated_at"""
"""TechnicalFile in the order of the contract."""
_ORDER: Final = "technical_files.created_at DESC, technical_files.id DESC"
_OF_SKU: Final = "FROM technical_files WHERE technical_files.sku_id = %(sku_id)s"


_MOST: Final = 100


class TechnicalFile(NamedTuple):
    """What is known of a technical file; its day as ISO 8601, its digest in hexadecimal."""

    type: str
    filename: str
    sha256: str
    reference: str | None
    issuer: str | None
    issued_on: str | None


_NAMED: Final = f"""
SELECT type, filename, sha256, reference, issuer, issued_on::text AS issued_on FROM technical_files
WHERE sku_id = %s ORDER BY type, created_at, id LIMIT {_MOST:d}"""


def of_sku(connection: Connection, sku_id: UUID) -> list[TechnicalFile]:
    """The files of the session's company's SKU by type, the oldest first; the first hundred."""
    return [TechnicalFile(*row) for row in connection.execute(_NAMED, [sku_id]).fetchall()]


def page(limit: int, offset: int) -> str:
    """TechnicalFilesListResponse as one JSON text, `page`, for the parameter `sku_id`; no row where there is no SKU."""
    listed = pages.page(
        _ITEM, "technical_files", order=_ORDER, limit=limit, offset=offset,
        rows=f"SELECT * {_OF_SKU} ORDER BY {_ORDER} LIMIT {limit:d} OFFSET {offset:d}",
        total=f"(SELECT count(*) {_OF_SKU})",
    )  # fmt: skip
    return f"SELECT listed.page FROM ({listed}) AS listed WHERE EXISTS (SELECT FROM skus WHERE id = %(sku_id)s)"
