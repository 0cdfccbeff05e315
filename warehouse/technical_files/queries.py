"""A SKU's technical files as they are listed: metadata, newest first."""

from typing import Final

from warehouse import pages

_ITEM: Final = f"""
    id, sku_id, type, filename, media_type, size_bytes, sha256, reference, issuer,
    issued_on::text AS issued_on, expires_on::text AS expires_on,
    {pages.instant("created_at")} AS created_at, {pages.instant("updated_at")} AS updated_at"""
"""TechnicalFile in the order of the contract."""
_ORDER: Final = "technical_files.created_at DESC, technical_files.id DESC"
_OF_SKU: Final = "FROM technical_files WHERE technical_files.sku_id = %(sku_id)s"


def page(limit: int, offset: int) -> str:
    """TechnicalFilesListResponse as one JSON text, `page`, for the parameter `sku_id`; no row where there is no SKU."""
    listed = pages.page(
        _ITEM, "technical_files", order=_ORDER, limit=limit, offset=offset,
        rows=f"SELECT * {_OF_SKU} ORDER BY {_ORDER} LIMIT {limit:d} OFFSET {offset:d}",
        total=f"(SELECT count(*) {_OF_SKU})",
    )  # fmt: skip
    return f"SELECT listed.page FROM ({listed}) AS listed WHERE EXISTS (SELECT FROM skus WHERE id = %(sku_id)s)"
