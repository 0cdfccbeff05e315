"""The table of the answers that decide roles, a row for the company and for each SKU that differs; what a SKU says.

`warehouse.beside` reads and writes them.
"""

from typing import Any, Final, NamedTuple  # Any: the JSON of a row
from uuid import UUID

import orjson
from sqlalchemy import JSON, Column, Integer, Table, Uuid

from warehouse.base import instant, metadata
from warehouse.operate.sessions import Connection
from warehouse.skus.queries import DOC_STATUS

role_answers = Table(
    "role_answers",
    metadata,
    Column("company_id", Uuid, primary_key=True),
    Column("record_id", Uuid, primary_key=True, comment="the SKU, or the company itself"),
    Column("answers", JSON, nullable=False, comment="those of schemas.roles that are answered"),
    Column("version", Integer, nullable=False, comment="1 at the first answer, one more at each change"),
    instant("updated_at"),
)

_MAKERS: Final = """json_array_elements(skus.components) AS part
        JOIN suppliers AS named ON named.id = (part ->> 'supplier_id')::uuid
        JOIN suppliers AS kept ON kept.id = coalesce(named.merged_into, named.id)"""
"""The suppliers, `kept`, of a SKU's parts."""
_SKU: Final = f"""
SELECT json_build_object(
    'sku_code', skus.sku_code, 'packaging_level', skus.packaging_level, 'markets', skus.markets,
    'volumes', skus.volumes, 'doc_status', {DOC_STATUS}, 'countries', (
        SELECT json_agg(DISTINCT kept.country) FROM {_MAKERS}))::text
FROM skus WHERE skus.id = %(id)s"""
_MARKETS: Final = """
SELECT unnest(markets) AS code FROM skus
UNION SELECT split_part(period, '/', 1) FROM skus, json_each_text(volumes) AS placed(period, units)
WHERE split_part(period, '/', 2)::int >= %s AND units::float > 0 ORDER BY 1"""
_ALIKE: Final = f"""
WITH facts AS MATERIALIZED (
    SELECT packaging_level, answers::text, markets, volumes,
    CASE WHEN EXISTS (SELECT FROM suppliers WHERE country IS NOT NULL) THEN (
        SELECT CASE count(DISTINCT coalesce(kept.country, '')) WHEN 1 THEN min(kept.country) END
        FROM {_MAKERS}) END AS country
    FROM skus LEFT JOIN role_answers ON record_id = skus.id)
SELECT market, packaging_level, country, answers FROM (
    SELECT unnest(markets) AS market, packaging_level, country, answers FROM (
        SELECT DISTINCT markets, packaging_level, country, answers FROM facts) AS named
    UNION SELECT split_part(period, '/', 1), packaging_level, country, answers FROM (
        SELECT DISTINCT period, packaging_level, country, answers
        FROM facts, LATERAL json_object_keys(CASE WHEN volumes::text NOT LIKE '%%:0%%' THEN volumes ELSE (
            SELECT json_object_agg(of_period.key, 1) FROM json_each_text(volumes) AS of_period
            WHERE of_period.value::float > 0) END) AS placed(period)
        WHERE starts_with(period, %(begin)s)) AS placed
    WHERE split_part(period, '/', 2)::int >= %(first_year)s) AS in_effect
WHERE starts_with(market, %(begin)s)"""
"""The keys of units are read alone, which is quicker, where no units of the SKU begin with a nought."""
_DIFFER: Final = """
SELECT skus.id::text, skus.sku_code, skus.name FROM role_answers JOIN skus ON skus.id = record_id
ORDER BY skus.sku_code LIMIT %s"""


def find_sku(conn: Connection, sku_id: UUID, today: object) -> dict[str, Any] | None:
    """Return what a SKU of the session's company says itself; None where there is none of that id."""
    row = conn.execute(_SKU, {"id": sku_id, "today": today}).fetchone()
    return None if row is None else orjson.loads(row[0])


def markets(conn: Connection, first_year: int) -> list[str]:
    """Return the markets in effect of the session's company; units count from a year on."""
    return [code for (code,) in conn.execute(_MARKETS, [first_year]) if code]


class Alike(NamedTuple):
    """SKUs in a market whose records say the same: what `find_sku` returns of each, and their own answers."""

    market: str
    sku: dict[str, Any]
    answers: dict[str, Any]


def alike(conn: Connection, first_year: int, begin: str = "") -> list[Alike]:
    """Return what the records of the session's company say, by market in effect whose code begins so."""
    rows = conn.execute(_ALIKE, {"first_year": first_year, "begin": begin})
    return [
        Alike(market, {"packaging_level": level, "countries": [country]}, orjson.loads(answers or "{}"))
        for market, level, country, answers in rows
    ]


def differing(conn: Connection, most: int) -> list[tuple[str, str, str]]:
    """Return id, code and name of the SKUs that have answers of their own, by code."""
    return list(conn.execute(_DIFFER, [most]))
