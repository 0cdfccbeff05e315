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

from schemas.filings import Declaration
from schemas.json_values import JsonObject, json_number
from warehouse import pages
from warehouse.operate.sessions import Connection
from warehouse.pages import Listing

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
_ADD: Final = """
INSERT INTO kept_declarations (id, company_id, market, year, half, format, filename, media_type, size_bytes, sha256,
    as_of, snapshot, ruleset_version, catalogue_hash, rows, total_tonnes, total_kg, difference_kg, uncounted_skus,
    scope_missing_skus, producer, corrects, kept_by_type, kept_by_id, kept_by_name, created_at,
    content, uncounted, scope_missing, stated, halves, in_scope_tonnes, undecided_tonnes, out_of_scope_tonnes, question)
VALUES (%(id)s, %(company_id)s, %(market)s, %(year)s, %(half)s, %(format)s, %(filename)s, %(media_type)s,
    %(size_bytes)s, %(sha256)s, %(as_of)s, %(snapshot)s, %(ruleset_version)s, %(catalogue_hash)s, %(rows)s,
    %(total_tonnes)s, %(total_kg)s, %(difference_kg)s, %(uncounted)s, %(scope_missing)s, %(producer)s::json,
    %(corrects)s, %(kept_by_type)s, %(kept_by_id)s, %(kept_by_name)s, %(created_at)s,
    %(content)s, %(uncounted_file)s, %(scope_missing_file)s, %(stated)s::json,
    %(halves)s::smallint[], %(in_scope_tonnes)s, %(undecided_tonnes)s, %(out_of_scope_tonnes)s, %(question)s::json)"""
_ORDER: Final = "kept_declarations.created_at DESC, kept_declarations.id DESC"
_BY_ID: Final = f"SELECT {_ROW} FROM kept_declarations WHERE id = %s"
_FILES: Final = "SELECT format, content, uncounted FROM kept_declarations WHERE id = %s::uuid"
_LATEST: Final = """
SELECT DISTINCT ON (market, year, half) market, year, half, id FROM kept_declarations
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
_COLUMNS: Final[Mapping[Part, str]] = {
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
        "uncounted_file": content.uncounted,
        "scope_missing_file": content.scope_missing,
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


def latest(conn: Connection) -> dict[tuple[str, int, int], UUID]:
    """Return the newest declaration of each market, year and half."""
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
    name, media, column = "filename", "media_type", _COLUMNS[part]
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
        rows=f"SELECT * FROM kept_declarations WHERE {where} ORDER BY {_ORDER} LIMIT {limit:d} OFFSET {offset:d}",
        total=f"(SELECT count(*) FROM kept_declarations WHERE {where})",
        parameters=filters,
    )


DETAIL: Final = f"""
SELECT {_ROW}, coalesce(stated -> 'ratings', '[]'::json) AS ratings, coalesce(stated -> 'drinks', '[]'::json) AS drinks
FROM kept_declarations WHERE id = %(id)s"""
"""One declaration with what its producer stated, for the parameter `id`."""
