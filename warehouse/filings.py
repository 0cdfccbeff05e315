"""Stores declarations as they were filed, without changes: their bytes, what they were made from, who kept them.

A correction is a row of its own that names the first. `services.filings.filing` makes them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final, Literal, cast, get_args
from uuid import UUID

import orjson
from psycopg.rows import class_row, dict_row
from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Numeric,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)

from schemas.filings import Declaration
from schemas.json_values import JsonObject, json_number
from warehouse import pages
from warehouse.base import company, instant, metadata
from warehouse.operate.sessions import Connection
from warehouse.pages import Listing

kept_declarations = Table(
    "kept_declarations",
    metadata,
    Column("id", Uuid, primary_key=True),
    company(),
    Column("market", Text, nullable=False),
    Column("year", Integer, nullable=False),
    Column("half", Integer, nullable=False, comment="0 is the calendar year"),
    Column("format", Text, nullable=False, comment="json, csv or rpd, the packaging data file of the United Kingdom"),
    Column("filename", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("sha256", Text, nullable=False, comment="of content, hexadecimal"),
    Column(
        "as_of", DateTime(timezone=True), nullable=False, comment="the instant of the snapshot that it was made from"
    ),
    Column("snapshot", Text, nullable=False),
    Column("ruleset_version", Text, nullable=False),
    Column("catalogue_hash", Text, nullable=False),
    Column("rows", Integer, nullable=False, comment="rows of tonnes, or of the UK file"),
    Column("total_tonnes", Numeric),
    Column("total_kg", BigInteger),
    Column("difference_kg", Numeric, comment="exact less rounded kilograms of the UK file"),
    Column(
        "uncounted_skus", Integer, nullable=False, comment="rows of uncounted: SKUs that it does not count, by reason"
    ),
    Column("scope_missing_skus", Integer),
    Column("producer", JSON, comment="what a UK producer stated of itself; null elsewhere"),
    Column("stated", JSON, nullable=False, comment="ratings and drinks containers that a UK producer stated"),
    Column("corrects", Uuid, comment="the first declaration, which this one corrects"),
    Column("kept_by_type", Text, nullable=False),
    Column("kept_by_id", Text),
    Column("kept_by_name", Text),
    Column("content", LargeBinary, nullable=False, comment="the bytes as filed"),
    Column("uncounted", LargeBinary, comment="CSV beside it; null where the declaration has the list inside"),
    Column("scope_missing", LargeBinary, comment="CSV beside it; null where the declaration has no such list beside"),
    instant("created_at"),
    Column(
        "halves", ARRAY(SmallInteger), comment="the halves that were there, of a calendar year of a half-yearly market"
    ),
    Column(
        "in_scope_tonnes", Numeric, comment="what is filed; null in the UK file, and in rows from before revision 0048"
    ),
    Column("undecided_tonnes", Numeric, comment="tonnes of which a fact is missing that would decide"),
    Column("out_of_scope_tonnes", Numeric, comment="tonnes that no category is about"),
    Column("question", JSON, comment="the missing fact that decides most: field, tonnes, skus"),
    UniqueConstraint("company_id", "id"),
    ForeignKeyConstraint(["company_id", "corrects"], ["kept_declarations.company_id", "kept_declarations.id"]),
    Index("ix_kept_declarations_newest", "company_id", text("created_at DESC"), text("id DESC")),
    Index("ix_kept_declarations_corrects", "corrects", postgresql_where=text("corrects IS NOT NULL")),
)

_COLUMNS: Final = tuple(column.name for column in kept_declarations.columns)
_ADD: Final = f"""
INSERT INTO kept_declarations ({", ".join(_COLUMNS)})
VALUES ({", ".join(f"%({name})s" for name in _COLUMNS)})"""

Part = Literal["declaration", "uncounted", "scope_missing"]
PARTS: Final[tuple[Part, ...]] = get_args(Part)
"""The declaration, and the lists beside one whose format has no field for them."""

_SCOPED: Final = ("in_scope_tonnes", "undecided_tonnes", "out_of_scope_tonnes")
"""The tonnes of a declaration by scope, in the order of the columns of its CSV."""
_LAST_CELLS: Final = r',([0-9.]+),([0-9.]+),([0-9.]+),[a-z_0-9]*,("[^"]*"|[^,"]*)\r?$'
"""The end of a row of a declaration's CSV: tonnes by scope, the scope and how sure it is, which may be quoted."""
_BY_SCOPE: Final = ", ".join(
    f"""coalesce({name}, CASE format
        WHEN 'json' THEN (SELECT sum((category ->> '{name}')::numeric)
            FROM json_array_elements(convert_from(content, 'UTF8')::json -> 'tonnes') AS category)
        WHEN 'csv' THEN (SELECT sum(cells[{place}]::numeric)
            FROM regexp_matches(convert_from(content, 'UTF8'), '{_LAST_CELLS}', 'gn') AS cells) END) AS {name}"""
    for place, name in enumerate(_SCOPED, 1)
)
"""The tonnes by scope; a declaration from before revision 0048 has them in its own bytes alone."""
_PLAIN: Final = f"""id, market, year, half, halves, format, filename, media_type, size_bytes, sha256, as_of, snapshot,
    ruleset_version, catalogue_hash, rows, {_BY_SCOPE}, question,
    total_tonnes, total_kg, difference_kg, uncounted_skus AS uncounted, scope_missing_skus AS scope_missing, producer,
    corrects"""
_LATER: Final = """ARRAY(SELECT later.id FROM kept_declarations AS later
    WHERE later.corrects = kept_declarations.id ORDER BY later.created_at, later.id) AS corrected_by"""
_KEPT_BY: Final = """json_build_object('type', kept_by_type, 'id', kept_by_id, 'name', kept_by_name) AS kept_by"""
_ROW: Final = f"{_PLAIN}, {_LATER}, {_KEPT_BY}, created_at"
_ORDER: Final = "kept_declarations.created_at DESC, kept_declarations.id DESC"
_BY_ID: Final = f"SELECT {_ROW} FROM kept_declarations WHERE id = %s"
_FILES: Final = "SELECT format, content, uncounted FROM kept_declarations WHERE id = %s::uuid"
_LATEST: Final = """
SELECT DISTINCT ON (market, year, half) market, year, half, id FROM kept_declarations WHERE format <> 'annex_ix'
ORDER BY market, year, half, created_at DESC, id DESC"""
_FIRST: Final = f"""
SELECT {_ROW} FROM kept_declarations
WHERE market = %(market)s AND year = %(year)s AND half = %(half)s AND format = %(format)s AND corrects IS NULL
    AND producer ->> 'organisation_id' IS NOT DISTINCT FROM %(organisation_id)s::text
    AND producer ->> 'subsidiary_id' IS NOT DISTINCT FROM %(subsidiary_id)s::text
ORDER BY created_at, id LIMIT 1"""
_DOUBLES: Final = """
SELECT market, year, half, format, array_agg(id ORDER BY created_at, id) AS ids FROM kept_declarations
WHERE corrects IS NULL
GROUP BY market, year, half, format, producer ->> 'organisation_id', producer ->> 'subsidiary_id'
HAVING count(*) > 1 ORDER BY market, year, half, format, ids"""
_STANDING: Final = """
SELECT DISTINCT ON (coalesce(corrects, id)) id, market, year, half, format, producer, stated, content, created_at
FROM kept_declarations ORDER BY coalesce(corrects, id), created_at DESC, id DESC"""
_FILES_OF_PARTS: Final[Mapping[Part, str]] = {
    "declaration": "content",
    "uncounted": "uncounted",
    "scope_missing": "scope_missing",
}


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a declaration as filed, and of the lists beside it; those that its form has inside are None."""

    filename: str
    media_type: str
    data: bytes
    sha256: str
    uncounted: bytes | None
    scope_missing: bytes | None


@dataclass(frozen=True, slots=True)
class Standing:
    """A declaration that nothing corrects: a first one, or the newest correction of one; with its bytes."""

    id: UUID
    market: str
    year: int
    half: int
    format: str
    producer: dict[str, str] | None
    stated: JsonObject
    content: bytes
    created_at: datetime


def add(
    conn: Connection, company_id: UUID, declaration: Declaration, content: Content, stated: Mapping[str, object]
) -> None:
    """Store a declaration in a session of its company; `stated` is what its producer stated of SKUs."""
    row: JsonObject = {**declaration}
    row |= {f"kept_by_{name}": value for name, value in declaration["kept_by"].items()}
    row |= {
        "company_id": company_id,
        "producer": _json(declaration["producer"]),
        "stated": _json(stated),
        "question": _json(declaration["question"]),
        "content": content.data,
        "uncounted": content.uncounted,
        "uncounted_skus": declaration["uncounted"],
        "scope_missing": content.scope_missing,
        "scope_missing_skus": declaration["scope_missing"],
    }
    conn.execute(_ADD, row)


def _json(value: object) -> str | None:
    return None if value is None else orjson.dumps(value, default=json_number).decode()


def wait_turn(conn: Connection, company_id: UUID) -> None:
    """Wait for the other declarations of the company that are being kept; they are seen from here to the commit."""
    conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('first declarations of ' || %s, 0))", [str(company_id)])


def first_like(
    conn: Connection, *, market: str, year: int, half: int, form: str, producer: Mapping[str, str] | None
) -> Declaration | None:
    """Return the first declaration of the session's company, no correction, that has the same period, form, producer.

    Of a producer only organisation and subsidiary count (decisions §13). Older databases may have several: the oldest.
    """
    parameters = {"market": market, "year": year, "half": half, "format": form}
    parameters |= {name: (producer or {}).get(name) for name in ("organisation_id", "subsidiary_id")}
    with conn.cursor(row_factory=dict_row) as cursor:
        return cast(Declaration | None, cursor.execute(_FIRST, parameters).fetchone())


def doubles(conn: Connection) -> list[tuple[str, int, int, str, list[UUID]]]:
    """Return market, year, half, format and ids of equal first declarations, of the session's company."""
    return conn.execute(_DOUBLES).fetchall()


def standing(conn: Connection) -> list[Standing]:
    """Return the declarations of the session's company that nothing corrects, the oldest first."""
    with conn.cursor(row_factory=class_row(Standing)) as cursor:
        rows = cursor.execute(_STANDING).fetchall()
    return sorted(rows, key=lambda row: (row.created_at, row.id))


def by_id(conn: Connection, declaration_id: UUID) -> Declaration | None:
    """Return a declaration of the session's company."""
    with conn.cursor(row_factory=dict_row) as cursor:
        return cast(Declaration | None, cursor.execute(_BY_ID, [declaration_id]).fetchone())


def statements_of(conn: Connection, declaration_id: UUID | None) -> tuple[list[JsonObject], list[JsonObject]]:
    """Return the ratings and the answers about drinks containers that a declaration's producer stated."""
    row = conn.execute("SELECT stated FROM kept_declarations WHERE id = %s", [declaration_id]).fetchone()
    return (row[0].get("ratings", []), row[0].get("drinks", [])) if row else ([], [])


def latest(conn: Connection) -> dict[tuple[str, int, int], UUID]:
    """Return the newest declaration of each market, year and half; the report of Article 44 meets no other duty."""
    return {(market, year, half): filing for market, year, half, filing in conn.execute(_LATEST)}


def files_of(conn: Connection, declaration_id: UUID | None) -> tuple[str, bytes, bytes | None] | None:
    """Return a declaration's format, its bytes and the list beside it of what is not counted; None for none."""
    row = conn.execute(_FILES, [declaration_id]).fetchone()
    return None if row is None else (row[0], bytes(row[1]), None if row[2] is None else bytes(row[2]))


def content(conn: Connection, declaration_id: UUID, part: Part) -> tuple[str, str, bytes, bytes] | None:
    """Return a part as `content_of` does; None where there is no such declaration or it has no such part."""
    row = conn.execute(content_of(part), {"id": declaration_id}).fetchone()
    return None if row is None or row[2] is None else (row[0], row[1], bytes(row[2]), bytes(row[3]))


def content_of(part: Part) -> str:
    """Return the query of a part as it was filed: file name, media type, bytes and SHA-256, for the parameter `id`."""
    name, media, column = "filename", "media_type", _FILES_OF_PARTS[part]
    if part != "declaration":
        name, media = f"regexp_replace(filename, '[.][^.]*$', '.{part}.csv')", "'text/csv; charset=utf-8'"
    return f"""
SELECT {name} AS filename, {media} AS media_type, {column} AS data, sha256({column}) AS digest
FROM kept_declarations WHERE id = %(id)s"""


def page(limit: int, offset: int, filters: Mapping[str, object] = MappingProxyType({})) -> Listing[Declaration]:
    """Return the question for a page of declarations, newest first; `filters` are values of columns."""
    where = " AND ".join(f"kept_declarations.{name} = %({name})s" for name in filters) or "true"
    return pages.listing(
        _ROW,
        "kept_declarations",
        order=_ORDER,
        limit=limit,
        offset=offset,
        chosen=f"FROM kept_declarations WHERE {where}",
        parameters=filters,
    )


DETAIL: Final = f"""
SELECT {_ROW}, coalesce(stated -> 'ratings', '[]'::json) AS ratings, coalesce(stated -> 'drinks', '[]'::json) AS drinks
FROM kept_declarations WHERE id = %(id)s"""
"""One declaration with what its producer stated, for the parameter `id`."""
