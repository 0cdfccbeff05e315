"""Where the stored values of SKUs came from: the version, and the import with its file, sheet and line."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from warehouse.sessions import Connection

_PRESENT: Final = """
WITH present AS (
    SELECT id, sku_code, version, import_id, import_sheet, import_line FROM skus WHERE sku_code = ANY(%(codes)s)
    UNION ALL
    SELECT last.id, last.sku_code, last.version, last.import_id, last.import_sheet, last.import_line
    FROM archived_skus AS archived
    JOIN sku_versions AS last ON last.id = archived.sku_id AND last.version = archived.version
    WHERE archived.sku_code = ANY(%(codes)s) AND archived.returned_at IS NULL
)"""
"""The newest versions of SKUs, archived ones too: what was declared of them is still to be explained."""
_ORIGINS: Final = f"""{_PRESENT}
SELECT present.sku_code, present.version, present.import_id, imports.filename, present.import_sheet, present.import_line
FROM present LEFT JOIN imports ON imports.id = present.import_id"""
_EARLIER: Final = f"""{_PRESENT}
SELECT present.sku_code, versions.version, versions.import_id, imports.filename, versions.import_sheet,
       versions.import_line
FROM present JOIN sku_versions AS versions ON versions.id = present.id AND versions.version < present.version
LEFT JOIN imports ON imports.id = versions.import_id
ORDER BY present.sku_code, versions.version"""
_FILES: Final = "SELECT id, filename, sha256, created_at FROM imports WHERE id = ANY(%s)"


class ValueOrigin(NamedTuple):
    """A version of a SKU; the import fields are null where a single write made it."""

    sku_code: str
    version: int
    import_id: UUID | None
    filename: str | None
    import_sheet: str | None
    import_line: int | None


class File(NamedTuple):
    """What an import was sent as, and when."""

    filename: str
    sha256: str
    sent_at: datetime


def of(connection: Connection, sku_codes: Sequence[str]) -> dict[str, ValueOrigin]:
    """The current versions of SKUs of the session's company, by code."""
    rows = connection.execute(_ORIGINS, {"codes": list(sku_codes)}).fetchall()
    return {row[0]: ValueOrigin(*row) for row in rows}


def earlier(connection: Connection, sku_codes: Sequence[str]) -> dict[str, list[ValueOrigin]]:
    """The versions before the current ones, the first first, by code; a SKU that has none is not there."""
    found: dict[str, list[ValueOrigin]] = {}
    for row in connection.execute(_EARLIER, {"codes": list(sku_codes)}):
        found.setdefault(row[0], []).append(ValueOrigin(*row))
    return found


def files(connection: Connection, import_ids: Sequence[UUID]) -> dict[UUID, File]:
    """The files of imports of the session's company, by import, in the order asked for."""
    found = {row[0]: File(*row[1:]) for row in connection.execute(_FILES, [list(import_ids)])}
    return {import_id: found[import_id] for import_id in import_ids if import_id in found}
