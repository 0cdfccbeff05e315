"""Archives SKUs and brings them back; finds and lists the archived ones; has all name another record than one merged.

An archived SKU is in no list or count because it is not in `skus`. Its newest version is in `sku_versions`, and an open
row of `archived_skus` names that version. Units that were placed of it stay placed (decisions §13): figures read them
from that version (`warehouse.figures.snapshots`), and they can be written while it rests.

What belongs here: the statements. What does not: which write brings a SKU back (`pipelines.writing.write`).
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Final, NamedTuple
from uuid import UUID

import orjson

from schemas.actors import Actor, Origin
from schemas.skus.types import ArchivedSku, Component
from warehouse import pages
from warehouse.audit import ledger
from warehouse.audit.chain import CURRENT
from warehouse.operate.sessions import Connection
from warehouse.pages import Listing
from warehouse.skus.queries import SHOWN, StoredSku, row_of
from warehouse.skus.tables import STORED_COLUMNS, resting

_NEW: Final = {
    "version": "{source}.version + 1",
    "transaction_id": "%(id)s::uuid",
    "updated_at": "%(at)s::timestamptz",
    "import_id": "%(import)s::uuid",
    "import_sheet": "NULL::text",
    "import_line": "NULL::integer",
}
"""What a new version of the same values has of its own."""
_ALL: Final = ", ".join(column.name for column in STORED_COLUMNS)


def _next(source: str, **values: str) -> str:
    """Return the select list of the next version of the rows of `source`, with other `values` by column."""
    new = _NEW | values
    return ", ".join(new.get(c.name, f"{{source}}.{c.name}").format(source=source) for c in STORED_COLUMNS)


def _leaves(action: str) -> str:
    """Return the ledger's entries for `written`, rows with their digest: an entry names the version that it made."""
    entry = {"action": f"'{action}'", "resource_id": "written.id::text", "version": "written.version"}
    fields = ", ".join(f"{expression} AS {name}" for name, expression in entry.items())
    return f"""leaves AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY written.sku_code COLLATE "C") AS place, {fields},
           NULL::json AS before, NULL::json AS after, {CURRENT.of_entry(entry, "written.row_digest")} AS digest
    FROM written)"""


def _returning(table: str) -> str:
    return f"RETURNING {table}.sku_code, {table}.id, {table}.version, {CURRENT.of_row(table)} AS row_digest"


def _archiving(resting: str) -> str:
    """Return the statement that archives the SKUs `ids`; `resting` selects what they rest as, out of `gone`."""
    return f"""
WITH gone AS (
    DELETE FROM skus WHERE id = ANY(%(ids)s::uuid[]) RETURNING {", ".join(f"skus.{c.name}" for c in STORED_COLUMNS)}
), kept AS (
    INSERT INTO sku_versions ({_ALL}) SELECT {_ALL} FROM gone
), written AS (
    INSERT INTO sku_versions ({_ALL}) {resting} {_returning("sku_versions")}
), named AS (
    INSERT INTO archived_skus (company_id, sku_id, version, sku_code, archived_at)
    SELECT company_id, id, version + 1, sku_code, %(at)s::timestamptz FROM gone
), {_leaves("sku.archived")}, {ledger.LINKED}"""


_ARCHIVE: Final = _archiving(f"SELECT {_next('gone')} FROM gone")
_TAKE_BACK: Final = _archiving(
    f"""SELECT {_next("gone", volumes="NULL::json")} FROM gone
    JOIN unnest(%(ids)s::uuid[], %(versions)s::integer[]) AS wanted (id, version) ON wanted.id = gone.id
    WHERE wanted.version IS NULL
    UNION ALL SELECT {_next("before", version="gone.version + 1")} FROM gone
    JOIN unnest(%(ids)s::uuid[], %(versions)s::integer[]) AS wanted (id, version) ON wanted.id = gone.id
    JOIN sku_versions AS before ON before.id = wanted.id AND before.version = wanted.version"""
)

_BRING_BACK: Final = f"""
WITH named AS (
    UPDATE archived_skus SET returned_at = %(at)s::timestamptz
    WHERE returned_at IS NULL AND sku_code = ANY(%(codes)s::text[]) RETURNING sku_id, version
), written AS (
    INSERT INTO skus ({_ALL}) SELECT {_next("before")}
    FROM sku_versions AS before JOIN named ON named.sku_id = before.id AND named.version = before.version
    {_returning("skus")}
), {_leaves("sku.returned")}, {ledger.LINKED}"""

_WRITE_UNITS: Final = f"""
WITH named AS (
    UPDATE archived_skus SET version = archived_skus.version + 1
    FROM unnest(%(ids)s::uuid[], %(units)s::text[]) AS given (sku_id, units)
    WHERE returned_at IS NULL AND archived_skus.sku_id = given.sku_id
    RETURNING archived_skus.sku_id, archived_skus.version - 1 AS version, given.units
), written AS (
    INSERT INTO sku_versions ({_ALL}) SELECT {_next("before", volumes="named.units::json")}
    FROM sku_versions AS before JOIN named ON named.sku_id = before.id AND named.version = before.version
    {_returning("sku_versions")}
), {_leaves("sku_volumes.updated")}, {ledger.LINKED}"""
_NAMED: Final = {
    "brand": ({"brand_id": "%(into)s::uuid"}, "{source}.brand_id = %(record)s::uuid"),
    "site": (
        {
            name: f"CASE {{source}}.{name} WHEN %(record)s::uuid THEN %(into)s::uuid ELSE {{source}}.{name} END"
            for name in ("manufacturing_site_id", "packing_site_id")
        },
        "%(record)s::uuid IN ({source}.manufacturing_site_id, {source}.packing_site_id)",
    ),
    "supplier": (
        {
            "components": """replace({source}.components::text, '"supplier_id":"' || %(record)s || '"',
            '"supplier_id":"' || %(into)s || '"')::json"""
        },
        """strpos({source}.components::text, '"supplier_id":"' || %(record)s || '"') > 0""",
    ),
}
"""By kind, the columns of `source` with another record in place of one, and which rows name that one."""


def _rename(kind: str) -> tuple[str, str, str, str]:
    """Return the statements that lock and rewrite the SKUs that name a record, and the same for archived ones."""
    columns, of_record = _NAMED[kind]
    sets = ", ".join(f"{name} = {value.format(source='skus')}" for name, value in (_NEW | columns).items())
    return (
        f"SELECT id FROM skus WHERE {of_record.format(source='skus')} ORDER BY sku_code FOR UPDATE",
        f"""
WITH kept AS (
    INSERT INTO sku_versions ({_ALL}) SELECT {_ALL} FROM skus WHERE id = ANY(%(ids)s::uuid[])
), written AS (
    UPDATE skus SET {sets} WHERE id = ANY(%(ids)s::uuid[]) {_returning("skus")}
), {_leaves("sku.updated")}, {ledger.LINKED}""",
        f"""
SELECT rests.sku_id FROM {resting()} WHERE {of_record.format(source="last")}
ORDER BY rests.sku_code FOR UPDATE OF rests""",
        f"""
WITH named AS (
    UPDATE archived_skus SET version = version + 1 WHERE returned_at IS NULL AND sku_id = ANY(%(ids)s::uuid[])
    RETURNING sku_id, version - 1 AS version
), written AS (
    INSERT INTO sku_versions ({_ALL}) SELECT {_next("before", **columns)}
    FROM sku_versions AS before JOIN named ON named.sku_id = before.id AND named.version = before.version
    {_returning("sku_versions")}
), {_leaves("sku.updated")}, {ledger.LINKED}""",
    )


_RENAME: Final = {kind: _rename(kind) for kind in _NAMED}
_LOCKED_UNITS: Final = f"""
SELECT rests.version, last.volumes::text, last.markets FROM {resting()} WHERE rests.sku_id = %s FOR UPDATE OF rests"""
_LOCKED: Final = "SELECT id FROM skus WHERE id = ANY(%s::uuid[]) ORDER BY sku_code FOR UPDATE"
_LOCKED_CODES: Final = """
SELECT sku_code, version FROM archived_skus WHERE returned_at IS NULL AND sku_code = ANY(%s::text[])
ORDER BY sku_code FOR UPDATE"""
_CODE: Final = "SELECT sku_code FROM archived_skus WHERE sku_id = %s AND returned_at IS NULL"
_ID: Final = "SELECT sku_id FROM archived_skus WHERE sku_code = %s AND returned_at IS NULL"
_GRAPH: Final = f"SELECT last.components::text FROM {resting()} WHERE rests.sku_id = %s"
_REST: Final = f"SELECT {SHOWN}, rests.archived_at FROM {resting('skus')}"
_ONE: Final = f"{_REST} WHERE rests.sku_id = %(id)s"
_OF_IDS: Final = f"""
SELECT {SHOWN}, NULL::timestamptz AS archived_at FROM skus WHERE skus.id = ANY(%(ids)s::uuid[])
UNION ALL {_REST} WHERE rests.sku_id = ANY(%(ids)s::uuid[])"""
"""SKUs and archived SKUs in one statement: one that is archived or comes back meanwhile is there once."""
_ITEM: Final = "id, sku_code, name, recyclability_grade, archived_at"
_NOW: Final = "FROM archived_skus WHERE returned_at IS NULL"
_NEWEST: Final = "archived_at DESC, sku_code"


class RestingUnits(NamedTuple):
    """The version as which an archived SKU rests, its stored volumes, and the markets that it names."""

    version: int
    volumes: str | None
    markets: Sequence[str] | None


class Archived(NamedTuple):
    """An archived SKU as it rests, and since when."""

    row: StoredSku
    archived_at: datetime


def archive(conn: Connection, actor: Actor, ids: Sequence[UUID]) -> int:
    """Take the SKUs of these ids out of `skus`; return how many there were."""
    locked = [row[0] for row in conn.execute(_LOCKED, [list(ids)])]
    if locked:
        conn.execute(
            _ARCHIVE, {**_signed(actor.company_id, actor.origin, actor.now, created=-len(locked)), "ids": locked}
        )
    return len(locked)


def take_back(conn: Connection, actor: Actor, rests_as: Mapping[UUID, int | None]) -> None:
    """Archive these SKUs, which are locked, as an import found them.

    A SKU that had rested as a version has its values again; one that the import created, None, has no units any more.
    """
    if rests_as:
        parameters = _signed(actor.company_id, actor.origin, actor.now, created=-len(rests_as))
        conn.execute(_TAKE_BACK, {**parameters, "ids": list(rests_as), "versions": list(rests_as.values())})


def lock_units(conn: Connection, sku_id: UUID) -> RestingUnits | None:
    """Return the units of an archived SKU and lock them until the transaction ends; None where none has the id."""
    row = conn.execute(_LOCKED_UNITS, [sku_id]).fetchone()
    return None if row is None else RestingUnits(*row)


def write_units(conn: Connection, actor: Actor, units: Mapping[UUID, str | None]) -> None:
    """Store the volumes of archived SKUs, as text by id, None for none; each SKU rests as its next version."""
    if units:
        parameters = _signed(actor.company_id, actor.origin, actor.now, created=0)
        conn.execute(_WRITE_UNITS, {**parameters, "ids": list(units), "units": list(units.values())})


def rename(conn: Connection, actor: Actor, kind: str, record_id: UUID, into: UUID) -> None:
    """Have every SKU that names a brand, a site or a supplier name another one, archived ones among them."""
    lock, write, lock_resting, write_resting = _RENAME[kind]
    records = {"record": str(record_id), "into": str(into)}
    for locking, writing in ((lock, write), (lock_resting, write_resting)):
        if locked := [row[0] for row in conn.execute(locking, records)]:
            signed = _signed(actor.company_id, actor.origin, actor.now, created=0)
            conn.execute(writing, {**signed, **records, "ids": locked})


def _signed(company_id: UUID, origin: Origin, now: datetime, *, created: int) -> dict[str, object]:
    return {**ledger.signature(company_id, origin, now), "created": created, "import": None}


def lock_versions(conn: Connection, codes: Sequence[str]) -> dict[str, int]:
    """Return the versions as which archived SKUs of these codes rest, and lock them until the transaction ends."""
    return dict(conn.execute(_LOCKED_CODES, [list(codes)]).fetchall())


def bring_back(conn: Connection, actor: Actor, codes: Sequence[str], *, import_id: UUID | None) -> None:
    """Put the archived SKUs of these codes, which are locked, back into `skus`, as their next version."""
    signature = ledger.signature(actor.company_id, actor.origin, actor.now)
    conn.execute(_BRING_BACK, {**signature, "codes": list(codes), "created": len(codes), "import": import_id})


def code_of(conn: Connection, sku_id: UUID) -> str | None:
    """Return the code of an archived SKU; None where the session's company has none of that id."""
    row = conn.execute(_CODE, [sku_id]).fetchone()
    return None if row is None else str(row[0])


def id_of(conn: Connection, sku_code: str) -> UUID | None:
    """Return the id of an archived SKU; None where the session's company has none of that code."""
    row = conn.execute(_ID, [sku_code]).fetchone()
    return None if row is None else row[0]


def resting_codes(conn: Connection, codes: Sequence[str]) -> set[str]:
    """Return those of these codes that archived SKUs of the session's company have."""
    query = "SELECT sku_code FROM archived_skus WHERE returned_at IS NULL AND sku_code = ANY(%s::text[])"
    return {code for (code,) in conn.execute(query, [list(codes)])}


def lines_of(conn: Connection, sku_id: UUID) -> list[Component]:
    """Return the lines as which an archived SKU rests; none where the session's company has none of that id."""
    row = conn.execute(_GRAPH, [sku_id]).fetchone()
    lines: list[Component] = orjson.loads(row[0]) if row and row[0] else []
    return lines


def find_archived(conn: Connection, sku_id: UUID, today: date) -> Archived | None:
    """Return an archived SKU as its detail shows it; None where the session's company has none of that id."""
    row = conn.execute(_ONE, {"id": sku_id, "today": today}).fetchone()
    return None if row is None else Archived(row_of(row[:-1]), row[-1])


def of_ids(conn: Connection, ids: Sequence[str], today: date) -> list[tuple[StoredSku, datetime | None]]:
    """Return the details of some SKUs, archived or not, and since when those that are archived are."""
    rows = conn.execute(_OF_IDS, {"ids": list(ids), "today": today})
    return [(row_of(row[:-1]), row[-1]) for row in rows]


def page(limit: int, offset: int) -> Listing[ArchivedSku]:
    """Return the question for a page of archived SKUs, the last archived first."""
    rows = f"""
        SELECT last.id, last.sku_code, last.name, last.recyclability_grade, rests.archived_at FROM {resting()}
        ORDER BY rests.archived_at DESC, rests.sku_code LIMIT {limit:d} OFFSET {offset:d}"""
    total = f"(SELECT count(*) {_NOW})"
    return pages.listing(_ITEM, "listed", order=_NEWEST, limit=limit, offset=offset, rows=rows, total=total)
