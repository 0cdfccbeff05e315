"""Reads earlier versions of SKUs: one version, the graph at a time, those before an import, and what changed since.

What belongs here: the statements. What does not: putting the earlier values back (`services.imports.undo`).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, NamedTuple, cast
from uuid import UUID

import orjson

from schemas.skus.types import Component
from warehouse.operate import copying
from warehouse.operate.sessions import Connection
from warehouse.skus.queries import COLUMNS, SELECT, StoredSku
from warehouse.skus.tables import DTYPES, VALUE_COLUMNS, Table, resting, select_list, skus

State = Literal["undone", "archive", "take_units", "restore", "archived_since", "changed_since"]
"""What undoing an import does to a SKU, or why it does nothing: it is as before, archived, or changed since.

A SKU that was not there before and has been archived since loses the units of the import (`take_units`).
"""


def _values(table: str) -> str:
    """Return the value columns of a row in a form that can be compared: `json` has no equality."""
    of_json = {name for name in VALUE_COLUMNS if str(skus.c[name].type) == "JSON"}
    return "ROW(" + ", ".join(f"{table}.{name}{'::text' if name in of_json else ''}" for name in VALUE_COLUMNS) + ")"


_LOCK: Final = """
SELECT FROM skus WHERE id IN (
    SELECT id FROM skus WHERE import_id = %(import)s UNION SELECT id FROM sku_versions WHERE import_id = %(import)s)
ORDER BY sku_code FOR UPDATE"""
_TOUCHED: Final = f"""
WITH written AS MATERIALIZED (
    SELECT id, min(version) AS first, max(version) AS last FROM (
        SELECT id, version FROM skus WHERE import_id = %(import)s
        UNION ALL SELECT id, version FROM sku_versions WHERE import_id = %(import)s) AS version GROUP BY id
)
SELECT written.id, coalesce(held.sku_code, archived.sku_code), held.version, before.version, before.volumes::text,
    CASE WHEN archived.sku_id IS NOT NULL THEN
             CASE WHEN NOT gone_before THEN 'archived_since'
                  WHEN rests.volumes::text IS NOT DISTINCT FROM before.volumes::text THEN 'undone'
                  WHEN rests.volumes::text IS NOT DISTINCT FROM after.volumes::text THEN 'take_units'
                  ELSE 'changed_since' END
         WHEN NOT gone_before AND {_values("held")} IS NOT DISTINCT FROM {_values("before")} THEN 'undone'
         WHEN held.version <> written.last AND {_values("held")} IS DISTINCT FROM {_values("after")}
         THEN 'changed_since'
         WHEN gone_before THEN 'archive' ELSE 'restore' END
FROM written
LEFT JOIN skus AS held ON held.id = written.id
LEFT JOIN archived_skus AS archived ON archived.sku_id = written.id AND archived.returned_at IS NULL
LEFT JOIN sku_versions AS rests ON rests.id = archived.sku_id AND rests.version = archived.version
LEFT JOIN sku_versions AS after ON after.id = written.id AND after.version = written.last
LEFT JOIN sku_versions AS before ON before.id = written.id AND before.version = written.first - 1
LEFT JOIN archived_skus AS rested ON rested.sku_id = written.id AND rested.version = written.first - 1
CROSS JOIN LATERAL (SELECT written.first = 1 OR rested.sku_id IS NOT NULL AS gone_before) AS judged
ORDER BY 2"""
_ONE: Final = f"""
SELECT {SELECT} FROM skus WHERE id = %(id)s AND version = %(version)s
UNION ALL SELECT {SELECT} FROM sku_versions AS skus WHERE id = %(id)s AND version = %(version)s"""
_READ: Final = ("id", *VALUE_COLUMNS, "import_id", "import_sheet", "import_line")
_VERSIONS: Final = f"""
SELECT {select_list(_READ)} FROM unnest(%(ids)s::uuid[], %(versions)s::integer[]) AS wanted (id, version)
JOIN sku_versions AS skus ON skus.id = wanted.id AND skus.version = wanted.version ORDER BY skus.sku_code"""

GRAPH_AT: Final = """
SELECT version.components::text FROM (
    SELECT id, version, updated_at, components FROM skus
    UNION ALL SELECT id, version, updated_at, components FROM sku_versions) AS version
WHERE version.id = {sku} AND version.updated_at {until} ORDER BY version.version DESC LIMIT 1"""
"""The graph of a SKU as it stood at a time: `until` compares a version's instant with it."""
_LINES_AT: Final = GRAPH_AT.format(sku="%s", until="<= %s")


class Touched(NamedTuple):
    """A SKU that an import has written: its version now, and the one before the import; null where it was not there.

    `volumes_before` are the stored volumes of that version.
    """

    sku_id: UUID
    sku_code: str
    version: int | None
    version_before: int | None
    volumes_before: str | None
    state: State


def touched_by(conn: Connection, import_id: UUID, *, lock: bool) -> list[Touched]:
    """Return the SKUs that an import of the session's company has written, by code; `lock` them until the commit."""
    if lock:
        conn.execute(_LOCK, {"import": import_id})
    rows = conn.execute(_TOUCHED, {"import": import_id}).fetchall()
    return [Touched(*row) for row in rows]


def of_version(conn: Connection, sku_id: UUID, version: int) -> StoredSku | None:
    """Return a SKU as it was at a version, by `queries.COLUMNS`; None where the company has no such version."""
    row = conn.execute(_ONE, {"id": sku_id, "version": version}).fetchone()
    return None if row is None else cast(StoredSku, dict(zip(COLUMNS, row, strict=True)))


def lines_at(conn: Connection, sku_id: UUID, at: datetime) -> list[Component] | None:
    """Return the lines of a SKU's graph as it stood at a time; None where no version tells."""
    row = conn.execute(_LINES_AT, [sku_id, at]).fetchone()
    return None if row is None else orjson.loads(row[0] or "[]")


def versions(conn: Connection, wanted: Sequence[tuple[UUID, int]]) -> Table:
    """Return these versions of SKUs by code: id, value columns, and the import, sheet and line that they came from."""
    parameters = {"ids": [sku_id for sku_id, _ in wanted], "versions": [version for _, version in wanted]}
    return Table.from_frame(copying.out_of(conn, _VERSIONS, parameters, {name: DTYPES[name] for name in _READ}))


_PRESENT: Final = f"""
WITH present AS (
    SELECT id, sku_code, version, import_id, import_sheet, import_line FROM skus WHERE sku_code = ANY(%(codes)s)
    UNION ALL
    SELECT last.id, last.sku_code, last.version, last.import_id, last.import_sheet, last.import_line
    FROM {resting()} WHERE rests.sku_code = ANY(%(codes)s)
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


def current_origins(connection: Connection, sku_codes: Sequence[str]) -> dict[str, ValueOrigin]:
    """Return the current versions of SKUs of the session's company, by code."""
    rows = connection.execute(_ORIGINS, {"codes": list(sku_codes)}).fetchall()
    return {row[0]: ValueOrigin(*row) for row in rows}


def earlier(connection: Connection, sku_codes: Sequence[str]) -> dict[str, list[ValueOrigin]]:
    """Return the versions before the current ones, oldest first, by code; a SKU that has none is not there."""
    origins: dict[str, list[ValueOrigin]] = {}
    for row in connection.execute(_EARLIER, {"codes": list(sku_codes)}):
        origins.setdefault(row[0], []).append(ValueOrigin(*row))
    return origins


def files(connection: Connection, import_ids: Sequence[UUID]) -> dict[UUID, File]:
    """Return the files of imports of the session's company, by import, in the order asked for."""
    files_by_id = {row[0]: File(*row[1:]) for row in connection.execute(_FILES, [list(import_ids)])}
    return {import_id: files_by_id[import_id] for import_id in import_ids if import_id in files_by_id}
