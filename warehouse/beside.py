"""Stores what is said beside a record, JSON with a version: what is printed on its packs, answers that decide roles.

One row is of a SKU, a brand or the company. A write names the version that it was made for.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple  # Any: the JSON of a row
from uuid import UUID

import orjson

from schemas.actors import Actor
from warehouse.audit import ledger
from warehouse.operate.sessions import Connection


class Beside(NamedTuple):
    """A table of such rows, its column of JSON, and the action under which the ledger has its changes."""

    table: str
    column: str
    action: str


MARKS: Final = Beside("marks", "printed", "marks.updated")
ROLES: Final = Beside("role_answers", "answers", "roles.updated")
_READ: Final = "SELECT {column}::text, version, updated_at FROM {table} WHERE record_id = %s"
_LOCK: Final = """
SELECT FROM {table} WHERE record_id IN (SELECT id FROM skus WHERE {chosen}) ORDER BY record_id FOR UPDATE"""
_OF_SKUS: Final = """
SELECT skus.id, skus.sku_code, own.{column}::text, coalesce(own.version, 0), of_brand.printed::text
FROM skus LEFT JOIN {table} AS own ON own.record_id = skus.id
LEFT JOIN brands ON brands.id = skus.brand_id
LEFT JOIN marks AS of_brand ON of_brand.record_id = coalesce(brands.merged_into, brands.id)
WHERE {chosen} ORDER BY skus.sku_code"""
_BY_CODE: Final = "skus.sku_code = ANY(%(skus)s::text[])"
_BY_ID: Final = "skus.id = ANY(%(skus)s::uuid[])"
_EVERY: Final = """
SELECT skus.sku_code, own.{column}::text FROM skus JOIN {table} AS own ON own.record_id = skus.id
WHERE own.{column} IS NOT NULL"""
_WRITE: Final = """
INSERT INTO {table} (company_id, record_id, {column}, version, updated_at)
SELECT %(company_id)s, id, body::json, version + 1, %(at)s
FROM json_to_recordset(%(rows)s::json) AS one(id uuid, body text, version integer)
ON CONFLICT (company_id, record_id) DO UPDATE
SET ({column}, version, updated_at) = (excluded.{column}, excluded.version, excluded.updated_at)
WHERE {table}.version = excluded.version - 1"""
_ENTRIES: Final = """
SELECT entry.resource_id::uuid, entry.before::text, entry.after::text FROM audit_transactions AS t
JOIN audit_entries AS entry ON entry.id BETWEEN t.first_entry AND t.first_entry + t.entries - 1
WHERE t.actor_type = 'import' AND t.actor_id = %s AND entry.action = %s ORDER BY entry.id"""


class Stored(NamedTuple):
    """What is said beside a record, None where nothing is; version 0 before the first entry."""

    body: dict[str, Any] | None = None
    version: int = 0
    updated_at: datetime | None = None


class Held(NamedTuple):
    """What is said beside a SKU: by itself and by its brand, None where nothing is; 0 before the first version."""

    sku_id: UUID
    sku_code: str
    own: dict[str, Any] | None
    version: int
    of_brand: dict[str, Any] | None


class Change(NamedTuple):
    """What is said beside a record from now on, in place of a version, and the fields that change."""

    record_id: UUID
    version: int
    body: Mapping[str, Any] | None
    before: Mapping[str, Any]
    after: Mapping[str, Any]


def change(
    record_id: UUID, version: int, body: Mapping[str, Any] | None, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Change | None:
    """Return the change from some fields to others, a missing one is null; None where they are equal."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    old, new = ({name: fields.get(name) for name in names} for fields in (before, after))
    return Change(record_id, version, body, old, new) if names else None


def read(conn: Connection, of: Beside, record_id: UUID) -> Stored:
    """Return what is said beside a record of the session's company."""
    row = conn.execute(_READ.format(table=of.table, column=of.column), [record_id]).fetchone()
    return Stored() if row is None else Stored(_json(row[0]), *row[1:])


def held(conn: Connection, of: Beside, skus: Sequence[str] | Sequence[UUID], *, lock: bool) -> list[Held]:
    """Return what is said beside SKUs of the session's company, by codes or ids; `lock` it until the commit."""
    chosen = _BY_ID if skus and isinstance(skus[0], UUID) else _BY_CODE
    if lock:
        conn.execute(_LOCK.format(table=of.table, chosen=chosen), {"skus": list(skus)})
    rows = conn.execute(_OF_SKUS.format(table=of.table, column=of.column, chosen=chosen), {"skus": list(skus)})
    return [Held(id_, code, _json(own), version, _json(of_brand)) for id_, code, own, version, of_brand in rows]


def every(conn: Connection, of: Beside) -> dict[str, dict[str, Any]]:
    """Return what is said beside each SKU of the session's company, by its code; those are left out without any."""
    rows = conn.execute(_EVERY.format(table=of.table, column=of.column))
    return {code: orjson.loads(body) for code, body in rows}


def write(conn: Connection, actor: Actor, of: Beside, changes: Sequence[Change]) -> bool:
    """Store changes with their audit entries; return False where another version of one is stored by now."""
    rows = [
        {
            "id": str(each.record_id),
            "version": each.version,
            "body": None if each.body is None else orjson.dumps(each.body).decode(),
        }
        for each in changes
    ]
    parameters = {"company_id": actor.company_id, "at": actor.now, "rows": orjson.dumps(rows).decode()}
    if conn.execute(_WRITE.format(table=of.table, column=of.column), parameters).rowcount != len(rows):
        return False
    ledger.enter_many(conn, actor, of.action, [(each.record_id, each.before, each.after) for each in changes])
    return True


def changed_by(conn: Connection, action: str, import_id: UUID) -> list[tuple[UUID, dict[str, Any], dict[str, Any]]]:
    """Return the records of which an import has changed something under this action: the fields before and after."""
    rows = conn.execute(_ENTRIES, [str(import_id), action])
    return [(record_id, orjson.loads(before), orjson.loads(after)) for record_id, before, after in rows]


def _json(text: str | None) -> dict[str, Any] | None:
    return None if text is None else orjson.loads(text)
