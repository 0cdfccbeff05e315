"""Stores under which number a supplier sells a part."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

import orjson
from sqlalchemy import Column, PrimaryKeyConstraint, Table, Text, Uuid

from warehouse.base import company, metadata
from warehouse.operate.sessions import Connection

supplier_articles = Table(
    "supplier_articles",
    metadata,
    company(),
    Column("component_id", Uuid, nullable=False, comment="the line of a SKU's graph"),
    Column("supplier", Text, nullable=False, comment="the name of the supplier, in small letters"),
    Column("article", Text, nullable=False, comment="the number under which the supplier sells it"),
    PrimaryKeyConstraint("company_id", "component_id", "supplier"),
)


class Sold(NamedTuple):
    """A part by its id, a supplier of it, and the number under which that one sells it."""

    component_id: str
    supplier: str
    article: str


_SOLD: Final = "json_to_recordset(%(sold)s::json) AS sold(component_id uuid, supplier text, article text)"
_KEEP: Final = f"""
WITH sold AS (SELECT component_id, lower(supplier) AS supplier, article FROM {_SOLD}), cleared AS (
    DELETE FROM supplier_articles AS kept USING sold
    WHERE kept.component_id = sold.component_id AND kept.supplier = sold.supplier AND sold.article = '')
INSERT INTO supplier_articles SELECT %(company_id)s, component_id, supplier, article FROM sold WHERE article <> ''
ON CONFLICT (company_id, component_id, supplier) DO UPDATE SET article = excluded.article"""


def keep_articles(conn: Connection, company_id: UUID, sold: Sequence[Sold]) -> None:
    """Keep the article numbers of suppliers' parts; an empty one is cleared."""
    listed = orjson.dumps([each._asdict() for each in sold]).decode()
    conn.execute(_KEEP, {"company_id": company_id, "sold": listed})


_NUMBERS: Final = """
SELECT kept.article
FROM ROWS FROM (json_to_recordset(%(sold)s::json) AS (component_id uuid, supplier text))
    WITH ORDINALITY AS sold(component_id, supplier, place)
LEFT JOIN supplier_articles AS kept ON kept.component_id = sold.component_id AND kept.supplier = lower(sold.supplier)
ORDER BY sold.place"""


def numbers_of(conn: Connection, sold: Sequence[Sold]) -> list[str | None]:
    """Return under which number each supplier sells each of these parts by now; None where none is kept."""
    listed = orjson.dumps([each._asdict() for each in sold]).decode()
    return [article for (article,) in conn.execute(_NUMBERS, {"sold": listed})]


def every_number(conn: Connection) -> dict[tuple[str, str], str]:
    """Return the number under which each supplier of the library sells each part, by the ids of both."""
    query = """
SELECT component_id::text, suppliers.id::text, article
FROM supplier_articles JOIN suppliers ON lower(suppliers.name) = supplier WHERE suppliers.merged_into IS NULL"""
    return {(part, supplier): article for part, supplier, article in conn.execute(query)}


def sold_parts(conn: Connection, component_ids: Sequence[str], supplier_name: str | None = None) -> list[Sold]:
    """Return under which numbers these parts are sold, by one supplier or by all, each named as in the library."""
    query = """
SELECT component_id::text, coalesce((SELECT min(name) FROM suppliers WHERE lower(name) = supplier), supplier), article
FROM supplier_articles WHERE component_id = ANY(%s::uuid[]) AND supplier = coalesce(lower(%s::text), supplier)
ORDER BY supplier"""
    return [Sold(*row) for row in conn.execute(query, [list(component_ids), supplier_name])]


def rename_seller(conn: Connection, former: str, name: str) -> None:
    """Have the article numbers of a supplier be those of its name today; one that this name has of a part stays."""
    query = """
UPDATE supplier_articles AS sold SET supplier = lower(%(name)s) WHERE supplier = lower(%(former)s)
    AND NOT EXISTS (SELECT FROM supplier_articles AS own
        WHERE own.component_id = sold.component_id AND own.supplier = lower(%(name)s))"""
    conn.execute(query, {"former": former, "name": name})


_ARTICLES: Final = """
SELECT requests.id, string_agg(DISTINCT rows.article, ', ' ORDER BY rows.article)
FROM supplier_requests AS requests JOIN supplier_rows AS rows
    ON rows.enquiry_id = requests.enquiry_id AND rows.number = ANY(requests.row_numbers)
WHERE requests.enquiry_id = %s AND rows.article IS NOT NULL GROUP BY requests.id"""


def articles_of(conn: Connection, enquiry_id: UUID) -> dict[UUID, str]:
    """Return the supplier's article numbers of the parts of each item that has some, in one text, by its request."""
    return dict(conn.execute(_ARTICLES, [enquiry_id]).fetchall())
