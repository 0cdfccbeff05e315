"""Lists, adds and changes the records that SKUs refer to: brands, sites, suppliers, library components."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final, cast
from uuid import UUID

from psycopg.rows import dict_row
from sqlalchemy import ARRAY, Column, Double, Table, Text, UniqueConstraint, Uuid

from schemas.library import Brand, LibraryComponent, Site
from schemas.skus.types import LibraryPart
from warehouse import pages
from warehouse.base import company, identity, instant, metadata
from warehouse.operate.sessions import Connection
from warehouse.pages import Listing

brands = Table(
    "brands",
    metadata,
    identity(),
    company(),
    Column("name", Text, nullable=False),
    Column("owner_name", Text),
    instant("created_at"),
    instant("updated_at"),
    UniqueConstraint("company_id", "name"),
)

sites = Table(
    "sites",
    metadata,
    identity(),
    company(),
    Column("name", Text, nullable=False),
    Column("roles", ARRAY(Text), nullable=False),
    Column("country", Text),
    Column("city", Text),
    instant("created_at"),
    instant("updated_at"),
    UniqueConstraint("company_id", "name"),
)

suppliers = Table(
    "suppliers",
    metadata,
    identity(),
    company(),
    Column("name", Text, nullable=False),
    Column("email", Text),
    Column("country", Text),
    instant("created_at"),
    instant("updated_at"),
    UniqueConstraint("company_id", "name"),
)

library_components = Table(
    "library_components",
    metadata,
    identity(),
    company(),
    Column("code", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("component_type", Text, nullable=False),
    Column("material_family", Text, nullable=False),
    Column("polymer_or_grade", Text),
    Column("weight_g", Double),
    Column("supplier_id", Uuid),
    Column("colour", Text),
    Column("recycled_content_percent", Double),
    instant("created_at"),
    instant("updated_at"),
    UniqueConstraint("company_id", "code"),
)


TABLES: Mapping[str, Table] = {
    "brand": brands,
    "site": sites,
    "supplier": suppliers,
    "library_component": library_components,
}
"""The table of each resource type, as the audit ledger names the types."""

_BY_NAME: Final = {table.name: table for table in TABLES.values()}
_TAKEN_OVER: Final = {"library_components": tuple(LibraryPart.__annotations__)}
"""The fields that a SKU copies from a record that it refers to, besides the id, by the record's table."""

_SORTED_BY: Final = {"brand": "name", "site": "name", "supplier": "name", "library_component": "code"}
"""The sort column of each resource type: unique in the company, so the order is total."""


def page(resource: str, limit: int, offset: int, q: str | None = None) -> Listing[LibraryComponent | Site | Brand]:
    """Return the question for a page of the company's records; every field of the table except the company.

    With `q` only those whose name or code contains it, in any case. Sorted by code point, whatever the collation of the
    database: the order is the same on every server, and a client can repeat it.
    """
    table = TABLES[resource].name
    labels = "name || ' ' || code" if resource == "library_component" else "name"
    where = f"FROM {table} WHERE strpos(lower({labels}), lower(%(q)s)) > 0" if q else f"FROM {table}"
    order = f'{_SORTED_BY[resource]} COLLATE "C"'
    return pages.listing(
        _columns(resource),
        table,
        order=order,
        limit=limit,
        offset=offset,
        rows=f"SELECT * {where} ORDER BY {order} LIMIT {limit:d} OFFSET {offset:d}",
        total=f"(SELECT count(*) {where})",
        parameters={"q": q},
    )


def _columns(resource: str) -> str:
    """Return the columns that are shown: all but the company."""
    return ", ".join(column.name for column in TABLES[resource].columns if column.name != "company_id")


def first_names(connection: Connection, resource: str, most: int) -> list[tuple[str, str]]:
    """Return id and name of the company's records, at most so many, in the order of names."""
    query = f'SELECT id::text, name FROM {TABLES[resource].name} ORDER BY name COLLATE "C", id LIMIT {most:d}'
    return connection.execute(query).fetchall()


def labels(connection: Connection, resource: str) -> list[tuple[str, str, list[str]]]:
    """Return id, label and the names in small letters of each record that a person may name, in the order of labels."""
    label = "code || ' (' || name || ')'" if resource == "library_component" else "name"
    names = "ARRAY[lower(code), lower(name)]" if resource == "library_component" else "ARRAY[lower(name)]"
    query = (
        f'SELECT id::text, {label} AS label, {names} FROM {TABLES[resource].name} ORDER BY ({label}) COLLATE "C", id'
    )
    return connection.execute(query).fetchall()


def add(
    connection: Connection,
    resource: str,
    company_id: UUID,
    record_id: UUID,
    *,
    values: Mapping[str, object],
    at: datetime,
) -> dict[str, object]:
    """Add one record in a session of its company; return the record as the API shows it.

    Raises `psycopg.errors.UniqueViolation` where the company has one of that name or code.
    """
    table = TABLES[resource]
    row = {"id": record_id, "company_id": company_id, **values, "created_at": at, "updated_at": at}
    columns = [name for name in table.columns.keys() if name in row]  # noqa: SIM118  (a ColumnCollection is no dict)
    statement = (
        f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({', '.join(f'%({name})s' for name in columns)}) "
        f"RETURNING {_columns(resource)}"
    )
    with connection.cursor(row_factory=dict_row) as cursor:
        added = cursor.execute(statement, row).fetchone()
    assert added is not None, "an insert returns its row"
    return added


def unique_field(resource: str) -> str:
    """Return the field that names one record of a company: code or name."""
    return _SORTED_BY[resource]


def find_by_name(connection: Connection, resource: str, name: str) -> dict[str, object] | None:
    """Return the session's company's record of this name or code, as the API shows it; None where it has none."""
    query = f"SELECT {_columns(resource)} FROM {TABLES[resource].name} WHERE {_SORTED_BY[resource]} = %s"
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, [name]).fetchone()


_USES: Final = {
    "brand": "SELECT brand_id AS used, count(*) FROM skus WHERE brand_id IS NOT NULL GROUP BY 1",
    "site": """SELECT used, count(*) FROM (
        SELECT manufacturing_site_id AS used FROM skus WHERE manufacturing_site_id IS NOT NULL UNION ALL
        SELECT packing_site_id FROM skus WHERE packing_site_id <> manufacturing_site_id
            OR (packing_site_id IS NOT NULL AND manufacturing_site_id IS NULL)
    ) AS places GROUP BY 1""",
    "supplier": """SELECT used, count(*) FROM (
        SELECT named[1]::uuid AS used
        FROM skus, regexp_matches(components::text, '"supplier_id": ?"([0-9a-f-]{36})"', 'g') AS named
        WHERE strpos(components::text, '"supplier_id"') > 0
        UNION ALL SELECT supplier_id FROM library_components WHERE supplier_id IS NOT NULL
    ) AS parts GROUP BY 1""",
}
"""How often each record is used: a brand and a site by SKUs, a supplier by their components and shared ones."""


def uses(connection: Connection, resource: str) -> dict[str, int]:
    """Return how many SKUs, of a supplier how many components, use each record of the company, by its id."""
    return {str(record_id): number for record_id, number in connection.execute(_USES[resource])}


def find(connection: Connection, resource: str, record_id: UUID) -> dict[str, object] | None:
    """Return and lock a record of the session's company, as the API shows it; None where it has none of this id."""
    query = f"SELECT {_columns(resource)} FROM {TABLES[resource].name} WHERE id = %s FOR UPDATE"
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, [record_id]).fetchone()


def change(
    connection: Connection, resource: str, record_id: UUID, values: Mapping[str, object], at: datetime
) -> dict[str, object]:
    """Store new values of a record of the session's company; return it as the API shows it."""
    sets = ", ".join(
        f"{column.name} = %({column.name})s" for column in TABLES[resource].columns if column.name in values
    )
    statement = (
        f"UPDATE {TABLES[resource].name} SET {sets}, updated_at = %(updated_at)s WHERE id = %(id)s "
        f"RETURNING {_columns(resource)}"
    )
    with connection.cursor(row_factory=dict_row) as cursor:
        changed = cursor.execute(statement, {**values, "id": record_id, "updated_at": at}).fetchone()
    assert changed is not None, "the record was locked"
    return changed


def holds(connection: Connection, resource: str, record_id: UUID) -> bool:
    """Return whether the session's company has this record."""
    row = connection.execute(f"SELECT FROM {TABLES[resource].name} WHERE id = %s", [record_id])
    return row.rowcount == 1


def referred_to(connection: Connection, table: str, ids: Collection[str]) -> dict[str, LibraryPart]:
    """Return those records of a table that the session's company has, by id, with the fields that a SKU copies.

    Ids are texts, in the argument and in the result.
    """
    columns = [_BY_NAME[table].c[name] for name in ("id", *_TAKEN_OVER.get(table, ()))]
    columns_shown = ", ".join(
        f"{column.name}::text AS {column.name}" if isinstance(column.type, Uuid) else column.name for column in columns
    )
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(f"SELECT {columns_shown} FROM {table} WHERE id = ANY(%s::uuid[])", [list(ids)]).fetchall()
    return {row["id"]: cast(LibraryPart, row) for row in rows}


def names(connection: Connection, resource: str, ids: Collection[UUID]) -> dict[str, str]:
    """Return the names of those records that the session's company has, by id."""
    if not ids:
        return {}
    rows = connection.execute(f"SELECT id, name FROM {TABLES[resource].name} WHERE id = ANY(%s)", [list(ids)])
    return {str(record_id): name for record_id, name in rows}
