"""Stores what is printed on packs, a row for a SKU or a brand, and sums the SKUs that it is about.

A SKU that says nothing itself has what its brand says.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple  # Any: the JSON of a row
from uuid import UUID

import orjson
from sqlalchemy import JSON, Column, Integer, Table, Uuid

from warehouse.base import instant, metadata
from warehouse.operate.sessions import Connection

marks = Table(
    "marks",
    metadata,
    Column("company_id", Uuid, primary_key=True),
    Column("record_id", Uuid, primary_key=True, comment="the SKU, or the brand of those that say nothing themselves"),
    Column("printed", JSON(none_as_null=True), comment="what schemas.marks takes; null where nothing is said any more"),
    Column("version", Integer, nullable=False, comment="1 at the first entry, one more at each change"),
    instant("updated_at"),
)

_READ: Final = "SELECT printed::text, version, updated_at FROM marks WHERE record_id = %s"
_WRITE: Final = """
INSERT INTO marks (company_id, record_id, printed, version, updated_at)
VALUES (%(company_id)s, %(record_id)s, %(printed)s::json, %(version)s + 1, %(at)s)
ON CONFLICT (company_id, record_id) DO UPDATE
SET (printed, version, updated_at) = (excluded.printed, excluded.version, excluded.updated_at)
WHERE marks.version = %(version)s"""
_CLAIMED: Final = """
SELECT record_id::text, coalesce(skus.sku_code, brands.name), printed::text FROM marks
LEFT JOIN skus ON skus.id = record_id LEFT JOIN brands ON brands.id = record_id AND brands.merged_into IS NULL
WHERE printed IS NOT NULL AND coalesce(skus.id, brands.id) IS NOT NULL ORDER BY 2, 1"""
_BRAND: Final = """
SELECT json_build_object('id', kept.id, 'brand_name', kept.name, 'place', 'in', 'facts', null, 'sku_code', null,
    'brand_id', kept.id)::text FROM brands JOIN brands AS kept ON kept.id = coalesce(brands.merged_into, brands.id)
WHERE brands.id = %s"""
PLACE: Final = """CASE
        WHEN EXISTS (SELECT FROM unnest(markets) AS market WHERE left(market, 2) = ANY(%(places)s)) OR EXISTS (
            SELECT FROM json_each_text(volumes) AS placed(period, units) WHERE left(period, 2) = ANY(%(places)s)
            AND split_part(period, '/', 2)::int >= %(first_year)s AND units::float > 0) THEN 'in'
        WHEN cardinality(markets) > 0 OR EXISTS (
            SELECT FROM json_each_text(volumes) AS placed(period, units)
            WHERE split_part(period, '/', 2)::int >= %(first_year)s AND units::float > 0) THEN 'out'
        ELSE 'unknown' END"""
"""Where a SKU is sold: in or out of the `places`, or unknown; units count from `first_year` on."""
_PACKED: Final = f"""
WITH held AS MATERIALIZED (SELECT record_id, printed::text AS printed FROM marks WHERE printed IS NOT NULL),
packed AS (
    SELECT skus.id, skus.sku_code, skus.name, kept.id AS brand_id, kept.name AS brand_name,
        coalesce(own.printed, of_brand.printed, '') AS printed, volumes,
        coalesce(weight_grams, components_weight_g) / 1000000 AS weight_t,
        {PLACE} AS place,
        json_build_array(packaging_level, reusable, reuse_deposit_system, packaging_format,
            coalesce(use_contexts, '{{}}'), sorting_label_scheme, material_marking_applied)::text AS facts
    FROM skus LEFT JOIN brands ON brands.id = skus.brand_id
    LEFT JOIN brands AS kept ON kept.id = coalesce(brands.merged_into, brands.id)
    LEFT JOIN held AS own ON own.record_id = skus.id LEFT JOIN held AS of_brand ON of_brand.record_id = kept.id)
"""
_ALL: Final = f"""{_PACKED},
judged AS (SELECT * FROM unnest(%(texts)s::text[], %(at)s::text[], %(states)s::text[]) AS one(printed, place, state)),
of_sku AS MATERIALIZED (
    SELECT id, sku_code, name, brand_name, printed, place, facts, state, CASE WHEN state = ANY(%(weighed)s) THEN (
        SELECT sum(units::float) FROM json_each_text(volumes) AS placed(period, units)
        WHERE right(period, 7) = %(year)s AND left(period, 2) = ANY(%(places)s)) * weight_t END AS tonnes
    FROM packed JOIN judged USING (printed, place))
SELECT json_build_object('total', (SELECT count(*) FROM of_sku WHERE state = ANY(%(wanted)s)),
    'rows', (SELECT json_agg(page) FROM (
        SELECT * FROM of_sku WHERE state = ANY(%(wanted)s)
        ORDER BY sku_code LIMIT %(limit)s OFFSET %(offset)s) AS page),
    'groups', (SELECT json_agg(alike) FROM (
        SELECT printed, facts, state, count(*) AS skus, sum(tonnes) AS tonnes,
            count(*) - count(tonnes) AS without_tonnes
        FROM of_sku GROUP BY 1, 2, 3) AS alike))::text"""
_ONE: Final = f"{_PACKED} SELECT (to_jsonb(packed) - 'volumes')::text FROM packed WHERE id = %(id)s"


class StoredMarks(NamedTuple):
    """What is printed by a record, None where it says nothing; version 0 before the first entry."""

    printed: dict[str, Any] | None = None
    version: int = 0
    updated_at: datetime | None = None


def read(conn: Connection, record_id: UUID) -> StoredMarks:
    """Return what a SKU or a brand of the session's company says itself."""
    row = conn.execute(_READ, [record_id]).fetchone()
    return StoredMarks() if row is None else StoredMarks(row[0] and orjson.loads(row[0]), row[1], row[2])


def write(conn: Connection, company_id: UUID, record_id: UUID, before: StoredMarks, after: StoredMarks) -> bool:
    """Store what is printed in place of what was there; return False where another version is stored by now."""
    text = after.printed and orjson.dumps(after.printed).decode()
    values = {"company_id": company_id, "record_id": record_id, "version": before.version}
    return conn.execute(_WRITE, {**values, "printed": text, "at": after.updated_at}).rowcount == 1


def texts(conn: Connection) -> list[str]:
    """Return what is printed on packs of the session's company, each once, as JSON."""
    return [text for (text,) in conn.execute("SELECT DISTINCT printed::text FROM marks WHERE printed IS NOT NULL")]


def claimed(conn: Connection) -> list[tuple[str, str, dict[str, Any]]]:
    """Return id, name and print of each SKU and brand that says something."""
    return [(id_, name, orjson.loads(text)) for id_, name, text in conn.execute(_CLAIMED)]


def find_brand(conn: Connection, brand_id: UUID) -> dict[str, Any] | None:
    """Return the brand that an id means as `find_sku` returns a SKU; None where the company has none of it."""
    row = conn.execute(_BRAND, [brand_id]).fetchone()
    return None if row is None else orjson.loads(row[0])


def find_sku(conn: Connection, sku_id: UUID, places: Sequence[str], first_year: int) -> dict[str, Any] | None:
    """Return one SKU of the session's company; `places` are the countries whose rules are asked about."""
    values = {"id": sku_id, "places": places, "first_year": first_year}
    row = conn.execute(_ONE, values).fetchone()
    return None if row is None else orjson.loads(row[0])


def skus(
    conn: Connection, states: Mapping[tuple[str, str], str], wanted: Sequence[str], **values: object
) -> dict[str, Any]:
    """Return a page of the SKUs of the wanted states by code, their total, and all SKUs in groups of equal ones.

    `states` are those of each print (`texts`, and an empty one for none) in each place. `values` are the others of
    `_ALL`; tonnes are those of a `year` in the `places`, of SKUs in the `weighed` states.
    """
    prints, at = zip(*states, strict=True)
    judged = {"texts": list(prints), "at": list(at), "states": list(states.values()), "wanted": list(wanted)}
    [(text,)] = conn.execute(_ALL, {**values, **judged}).fetchall()
    return {name: value or [] if name in ("rows", "groups") else value for name, value in orjson.loads(text).items()}
