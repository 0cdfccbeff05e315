"""The table of what is printed on packs, a row for a SKU or a brand (`warehouse.beside`), and the sums of it.

A SKU that says nothing itself has what its brand says.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final  # Any: the JSON of a row
from uuid import UUID

import orjson
from sqlalchemy import JSON, Column, Integer, Table, Uuid

from warehouse.base import instant, metadata
from warehouse.operate.sessions import Connection
from warehouse.skus.queries import UNIT_GRAMS

marks = Table(
    "marks",
    metadata,
    Column("company_id", Uuid, primary_key=True),
    Column("record_id", Uuid, primary_key=True, comment="the SKU, or the brand of those that say nothing themselves"),
    Column("printed", JSON(none_as_null=True), comment="what schemas.marks takes; null where nothing is said any more"),
    Column("version", Integer, nullable=False, comment="1 at the first entry, one more at each change"),
    instant("updated_at"),
)

_RECORDED: Final = """
SELECT record_id::text, coalesce(skus.sku_code, brands.name), printed::text FROM marks
LEFT JOIN skus ON skus.id = record_id LEFT JOIN brands ON brands.id = record_id AND brands.merged_into IS NULL
WHERE printed IS NOT NULL AND coalesce(skus.id, brands.id) IS NOT NULL ORDER BY 2, 1"""
_BRAND: Final = """
SELECT json_build_object('id', kept.id, 'brand_name', kept.name, 'place', 'in', 'facts', null, 'sku_code', null,
    'brand_id', kept.id)::text FROM brands JOIN brands AS kept ON kept.id = coalesce(brands.merged_into, brands.id)
WHERE brands.id = %s"""
PLACE: Final = """CASE WHEN markets && %(places)s::text[]
        OR EXISTS (SELECT FROM unnest(markets) AS market WHERE left(market, 2) = ANY(%(places)s)) OR EXISTS (
            SELECT FROM json_each_text(volumes) AS placed(period, units) WHERE left(period, 2) = ANY(%(places)s)
            AND split_part(period, '/', 2)::int >= %(first_year)s AND units::float > 0) THEN 'in'
        WHEN cardinality(markets) > 0 OR EXISTS (
            SELECT FROM json_each_text(volumes) AS placed(period, units)
            WHERE split_part(period, '/', 2)::int >= %(first_year)s AND units::float > 0) THEN 'out'
        ELSE 'unknown' END"""
"""Where a SKU is sold: in or out of the `places`, or unknown; units count from `first_year` on."""
_FACTS: Final = """packaging_level, reusable, reuse_deposit_system, packaging_format, use_contexts,
    sorting_label_scheme, material_marking_applied"""
"""The columns that decide the labels that a SKU needs, in the order of `compliance.marks.Facts`."""
_AS_JSON: Final = f"json_build_array({_FACTS})::text AS facts"
_PACKED: Final = f"""
WITH held AS MATERIALIZED (
    SELECT record_id, number FROM marks
    JOIN unnest(%(texts)s::text[]) WITH ORDINALITY AS one(text, number) ON text = printed::text),
packed AS (
    SELECT skus.id, skus.sku_code, skus.name, kept.id AS brand_id, kept.name AS brand_name,
        coalesce(own.number, of_brand.number, 0) AS number, volumes,
        {UNIT_GRAMS} / 1000000 AS weight_t,
        {PLACE} AS place, {_FACTS}
    FROM skus LEFT JOIN brands ON brands.id = skus.brand_id
    LEFT JOIN brands AS kept ON kept.id = coalesce(brands.merged_into, brands.id)
    LEFT JOIN held AS own ON own.record_id = skus.id LEFT JOIN held AS of_brand ON of_brand.record_id = kept.id)
"""
_ALL: Final = f"""{_PACKED},
judged AS (
    SELECT *, (%(states)s::text[])[number * %(places_told)s::int + array_position(%(at)s::text[], place)] AS state
    FROM (SELECT * FROM packed OFFSET 0) AS once OFFSET 0),
of_sku AS MATERIALIZED (
    SELECT id, sku_code, name, brand_name, number, {_FACTS}, state, CASE WHEN state = ANY(%(weighed)s) THEN (
        SELECT sum(units::float) FROM json_each_text(volumes) AS placed(period, units)
        WHERE right(period, 7) = %(year)s AND left(period, 2) = ANY(%(places)s)) * weight_t END AS tonnes
    FROM judged)
SELECT json_build_object('rows', (SELECT json_agg(page) FROM (
        SELECT id, sku_code, name, brand_name, number, state, tonnes, {_AS_JSON}
        FROM of_sku WHERE state = ANY(%(wanted)s) ORDER BY sku_code LIMIT %(limit)s OFFSET %(offset)s) AS page),
    'groups', (SELECT json_agg(alike) FROM (
        SELECT number, state, count(*) AS skus, sum(tonnes) AS tonnes, count(*) - count(tonnes) AS without_tonnes,
            {_AS_JSON}
        FROM of_sku GROUP BY number, state, {_FACTS}) AS alike))::text"""
_ONE: Final = f"""{_PACKED} SELECT row_to_json(one)::text FROM (
    SELECT id, sku_code, name, brand_id, brand_name, place, {_AS_JSON} FROM packed WHERE id = %(id)s) AS one"""


def recorded(conn: Connection) -> list[tuple[str, str, str]]:
    """Return id, name and print, as JSON, of each SKU and brand of the session's company that says something."""
    return conn.execute(_RECORDED).fetchall()


def find_brand(conn: Connection, brand_id: UUID) -> dict[str, Any] | None:
    """Return the brand that an id means as `find_sku` returns a SKU; None where the company has none of it."""
    row = conn.execute(_BRAND, [brand_id]).fetchone()
    return None if row is None else orjson.loads(row[0])


def find_sku(conn: Connection, sku_id: UUID, places: Sequence[str], first_year: int) -> dict[str, Any] | None:
    """Return one SKU of the session's company; `places` are the countries whose rules are asked about."""
    values = {"id": sku_id, "places": places, "first_year": first_year, "texts": []}
    row = conn.execute(_ONE, values).fetchone()
    return None if row is None else orjson.loads(row[0])


def skus(
    conn: Connection, states: Mapping[tuple[str, str], str], wanted: Sequence[str], **values: object
) -> dict[str, Any]:
    """Return a page of the SKUs of the wanted states by code, their total, and all SKUs in groups of equal ones.

    `states` are those of each print (and of an empty one for none) in each place. `values` are the others of `_ALL`;
    tonnes are those of a `year` in the `places`, of SKUs in the `weighed` states.
    """
    texts = ["", *filter(None, dict.fromkeys(text for text, _ in states))]
    at = list(dict.fromkeys(place for _, place in states))
    judged = [states[text, place] for text in texts for place in at]
    lists = {"texts": texts[1:], "at": at, "places_told": len(at), "states": judged, "wanted": list(wanted)}
    [(answer,)] = conn.execute(_ALL, {**values, **lists}).fetchall()
    summed: dict[str, Any] = orjson.loads(answer)
    for name in ("rows", "groups"):
        summed[name] = [{**row, "printed": texts[row["number"]]} for row in summed[name] or ()]
    summed["total"] = sum(group["skus"] for group in summed["groups"] if group["state"] in wanted)
    return summed
