"""Adds, lists and reads the records of technical files; an upload is recorded with its audit entry.

Their bytes are objects (`warehouse.operate.objects`). What they are evidence of is summed up by SKU.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import Any, Final, NamedTuple, cast  # Any: the JSON of a row
from uuid import UUID

from psycopg.rows import class_row
from sqlalchemy import ARRAY, Column, Date, Index, Integer, Table, Text, Uuid, desc

from schemas.actors import Actor
from schemas.files import TechnicalFile
from schemas.refusals import NotThere
from warehouse import pages
from warehouse.audit import ledger
from warehouse.base import company, instant, metadata
from warehouse.marks import PLACE
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
        rows=f"SELECT * {_OF_SKU} ORDER BY {_ORDER} LIMIT {limit:d} OFFSET {offset:d}",
        total=f"(SELECT count(*) {_OF_SKU})",
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


_PROVED: Final = f"""
WITH proofs AS MATERIALIZED (
    SELECT sku_id, need, coalesce(expires_on, 'infinity'::date) AS ends, component_ids
    FROM technical_files JOIN unnest(%(types)s::text[], %(needs)s::text[]) AS proving(type, need) USING (type)
    WHERE %(ids)s::uuid[] IS NULL OR sku_id = ANY(%(ids)s)),
of_need AS (
    SELECT sku_id, need, max(ends) AS last, max(ends) FILTER (WHERE component_ids IS NULL) AS whole,
        bool_or(component_ids IS NOT NULL) AS by_part FROM proofs GROUP BY 1, 2),
of_parts AS (
    SELECT sku_id, need, min(until) AS until FROM (
        SELECT of_need.sku_id, of_need.need, part.id, max(coalesce(ends, '-infinity')) AS until
        FROM of_need JOIN skus ON skus.id = of_need.sku_id
        CROSS JOIN json_to_recordset(skus.components) AS part(id uuid, material_family text)
        LEFT JOIN proofs ON proofs.sku_id = of_need.sku_id AND proofs.need = of_need.need
            AND (component_ids IS NULL OR part.id = ANY(component_ids))
        WHERE by_part AND (of_need.need <> 'recycled' OR material_family IS NULL
            OR material_family NOT IN ('paper', 'glass', 'metal', 'wood', 'textile'))
        GROUP BY 1, 2, 3) AS part GROUP BY 1, 2),
held AS (
    SELECT sku_id, json_object_agg(need, CASE WHEN until > %(soon)s::date THEN 'held'
        WHEN until >= %(today)s::date THEN 'ends' WHEN last >= %(today)s::date THEN 'partial' ELSE 'ended' END
        ORDER BY need)::text AS held
    FROM (SELECT sku_id, need, last, CASE WHEN by_part THEN coalesce(of_parts.until, whole) ELSE whole END AS until
        FROM of_need LEFT JOIN of_parts USING (sku_id, need)) AS one GROUP BY 1),
packed AS (
    SELECT id, sku_code, name, coalesce(held, '{{}}') AS held, json_build_array(food_contact, reusable,
        reuse_deposit_system, packaging_level, packaging_format, coalesce(use_contexts, '{{}}'),
        coalesce(material, body), coalesce(plastic, CASE material WHEN 'plastic' THEN 'yes' ELSE 'unknown' END),
        {PLACE})::text AS facts
    FROM skus LEFT JOIN held ON held.sku_id = skus.id CROSS JOIN LATERAL (
        SELECT max(family) FILTER (WHERE component_type = 'body') AS body,
            CASE WHEN count(*) = 0 THEN NULL
            WHEN bool_and(family = 'plastic') AND count(*) <= 20
                OR count(grams) = count(*) AND max(grams) FILTER (WHERE family = 'plastic') >= 0.05 * sum(grams)
                THEN 'yes'
            WHEN bool_or(family IS NULL OR family IN ('composite', 'bio_based', 'other')) THEN 'unknown'
            WHEN NOT bool_or(family = 'plastic') THEN 'no'
            WHEN count(grams) = count(*) THEN 'small' ELSE 'unweighed' END AS plastic
        FROM json_to_recordset(components) AS part(component_type text, material_family text, weight_g float)
            CROSS JOIN LATERAL (SELECT material_family AS family, weight_g AS grams) AS short) AS parts
    WHERE %(ids)s::uuid[] IS NULL OR id = ANY(%(ids)s) OFFSET 0)
"""
"""SKUs with what decides which articles concern them, and what their files of each need are together.

A file of some parts is evidence of these alone; of twenty plastic parts one has a twentieth of the weight.
"""
_GROUPS: Final = f"{_PROVED} SELECT facts, held, count(*) FROM packed GROUP BY 1, 2"
_PAGE: Final = f"""{_PROVED}
SELECT id::text, sku_code, name, facts, held FROM packed
WHERE %(alike)s::text[] IS NULL OR facts || held = ANY(%(alike)s)
ORDER BY sku_code LIMIT %(limit)s OFFSET %(offset)s"""
_BY_CODE: Final = "SELECT id FROM skus ORDER BY sku_code LIMIT %s OFFSET %s"
_EVERY: Final = """
SELECT id::text, type, filename, sha256, size_bytes, reference, issuer, issued_on::text, expires_on::text,
    component_ids::text[] FROM technical_files WHERE sku_id = %s ORDER BY type, created_at, id"""


class Proving(NamedTuple):
    """The types of files that show a need, and the need of each; the day, and the last day of what ends soon."""

    types: list[str]
    needs: list[str]
    today: date
    soon: str


class ProvedSku(NamedTuple):
    """A SKU with the JSON of its facts (`compliance.evidence.Facts`) and of what is held of each need."""

    id: str
    sku_code: str
    name: str
    facts: str
    held: str


def proved_groups(
    conn: Connection, proving: Proving, places: Sequence[str], first_year: int
) -> list[tuple[str, str, int]]:
    """Return the facts and what is held of the company's SKUs, with the number of SKUs alike."""
    values = {**proving._asdict(), "places": places, "first_year": first_year, "ids": None}
    return conn.execute(_GROUPS, values).fetchall()


def proved_skus(
    conn: Connection,
    proving: Proving,
    places: Sequence[str],
    first_year: int,
    *,
    ids: list[UUID] | None = None,
    alike: list[str] | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> list[ProvedSku]:
    """Return SKUs by code: some, those of some groups (facts and what is held as one text), or all."""
    values = {"places": places, "first_year": first_year, "ids": ids, "alike": alike, "limit": limit, "offset": offset}
    return [ProvedSku(*row) for row in conn.execute(_PAGE, {**proving._asdict(), **values})]


def ids_by_code(conn: Connection, limit: int, offset: int) -> list[UUID]:
    """Return the ids of a page of the company's SKUs by code."""
    return [id_ for (id_,) in conn.execute(_BY_CODE, [limit, offset])]


def every(conn: Connection, sku_id: UUID) -> list[dict[str, Any]]:
    """Return all files of a SKU by type, the oldest first, with the parts that each is of."""
    names = ("id", "type", "filename", "sha256", "size_bytes", "reference", "issuer", "issued_on", "expires_on")
    return [dict(zip((*names, "component_ids"), row, strict=True)) for row in conn.execute(_EVERY, [sku_id])]
