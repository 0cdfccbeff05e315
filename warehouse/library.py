"""Lists, adds, changes and merges the records that SKUs refer to: brands, sites, suppliers, library components.

A brand, a site or a supplier that was merged away is a row that names the one that stays, and is in no list. Its id and
its name mean the one that stays wherever an id is looked up (`find`, `resolved`, `referred_to`) or a name (`labels`).
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final, cast
from uuid import UUID

from psycopg.rows import dict_row
from sqlalchemy import ARRAY, Column, Double, Table, Text, UniqueConstraint, Uuid

from schemas.library import Brand, LibraryComponent, Site
from schemas.messages import Message
from schemas.skus.types import LibraryPart
from warehouse import pages
from warehouse.base import company, identity, instant, metadata
from warehouse.operate.sessions import Connection
from warehouse.pages import Listing


def _merged_into() -> Column[UUID]:
    return Column("merged_into", Uuid, comment="the record that stands in its place; never one that is merged itself")


brands = Table(
    "brands",
    metadata,
    identity(),
    company(),
    Column("name", Text, nullable=False),
    Column("owner_name", Text),
    _merged_into(),
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
    _merged_into(),
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
    _merged_into(),
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


_LISTS: Final = {
    "brands": Message("brands"),
    "sites": Message("sites"),
    "suppliers": Message("suppliers"),
    "library_components": Message("shared components"),
}


def not_held(record: str, table: str) -> Message:
    """Return the sentence that the company has no such record in a table of its own, and what would be right."""
    return Message(
        "{id} is not one of the company's {list}; send one that is there, or add it first.",
        id=record,
        list=_LISTS[table],
    )


_BY_NAME: Final = {table.name: table for table in TABLES.values()}
_TAKEN_OVER: Final = {"library_components": tuple(LibraryPart.__annotations__)}
"""The fields that a SKU copies from a record that it refers to, besides the id, by the record's table."""

_SORTED_BY: Final = {"brand": "name", "site": "name", "supplier": "name", "library_component": "code"}
"""The sort column of each resource type: unique in the company, so the order is total."""


_ID: Final = dict.fromkeys(TABLES, "coalesce(named.merged_into, named.id)") | {"library_component": "named.id"}
"""The id that the id of a row `named` means: its own, or that of the record that stands in its place."""
_STAYS: Final = dict.fromkeys(TABLES, "merged_into IS NULL") | {"library_component": "true"}


def page(resource: str, limit: int, offset: int, q: str | None = None) -> Listing[LibraryComponent | Site | Brand]:
    """Return the question for a page of the company's records; every field of the table except the company.

    With `q` only those whose name or code contains it, in any case. Sorted by code point, whatever the collation of the
    database: the order is the same on every server, and a client can repeat it.
    """
    table = TABLES[resource].name
    labels = "name || ' ' || code" if resource == "library_component" else "name"
    chosen = f"FROM {table} WHERE {_STAYS[resource]}" + (f" AND strpos(lower({labels}), lower(%(q)s)) > 0" if q else "")
    return pages.listing(
        _columns(resource),
        table,
        order=f'{_SORTED_BY[resource]} COLLATE "C"',
        limit=limit,
        offset=offset,
        chosen=chosen,
        parameters={"q": q},
    )


def _columns(resource: str) -> str:
    """Return the columns that are shown: all but the company and what the record was merged into."""
    return ", ".join(c.name for c in TABLES[resource].columns if c.name not in ("company_id", "merged_into"))


def first_names(connection: Connection, resource: str, most: int) -> list[tuple[str, str]]:
    """Return id and name of the company's records, at most so many, in the order of names."""
    where = f"FROM {TABLES[resource].name} WHERE {_STAYS[resource]}"
    query = f'SELECT id::text, name {where} ORDER BY name COLLATE "C", id LIMIT {most:d}'
    return connection.execute(query).fetchall()


def labels(connection: Connection, resource: str) -> list[tuple[str, str, list[str]]]:
    """Return id, label and the names in small letters of each record that a person may name, in the order of labels.

    The name of one that was merged away is a name of the one that stays.
    """
    table, label, names = TABLES[resource].name, "kept.name", "lower(kept.name) || array_agg(lower(named.name))"
    if resource == "library_component":
        label, names = "kept.code || ' (' || kept.name || ')'", "ARRAY[lower(kept.code), lower(kept.name)]"
    query = f"""SELECT kept.id::text, {label} AS label, {names}
        FROM {table} AS named JOIN {table} AS kept ON kept.id = {_ID[resource]}
        GROUP BY kept.id, {label} ORDER BY ({label}) COLLATE "C", kept.id"""
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


def fields(resource: str) -> list[str]:
    """Return the fields of a resource type that callers give."""
    own = ("id", "company_id", "merged_into", "created_at", "updated_at")
    return [str(column.name) for column in TABLES[resource].columns if column.name not in own]


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
        SELECT left(part, 36)::uuid AS used
        FROM skus, unnest((string_to_array(components::text, '"supplier_id":"'))[2:]) AS part
        UNION ALL SELECT supplier_id FROM library_components WHERE supplier_id IS NOT NULL
    ) AS parts GROUP BY 1""",
}
"""How often each record is used: a brand and a site by SKUs, a supplier by their components and shared ones."""


def uses(connection: Connection, resource: str) -> dict[str, int]:
    """Return how many SKUs, of a supplier how many components, use each record of the company, by its id."""
    return {str(record_id): number for record_id, number in connection.execute(_USES[resource])}


def one(resource: str) -> str:
    """Return the query of the record of the session's company that the parameter `id` means, as the API shows it."""
    table = TABLES[resource].name
    return f"""SELECT {_columns(resource)} FROM {table}
        WHERE id = (SELECT {_ID[resource]} FROM {table} AS named WHERE named.id = %(id)s)"""


_IN_LINE: Final = {
    name: f"(line ->> '{name}')" + ("::float8" if name in ("weight_g", "recycled_content_percent") else "")
    for name in LibraryPart.__annotations__
}
_DIFFERS: Final = " OR ".join(
    f"(shared.{name} IS NOT NULL AND {value} IS DISTINCT FROM shared.{name}{'' if 'float8' in value else '::text'})"
    for name, value in _IN_LINE.items()
)
_DIFFERING: Final = f"""
SELECT count(*) FROM skus, library_components AS shared
WHERE shared.id = %(id)s::uuid AND strpos(skus.components::text, %(id)s::text) > 0 AND EXISTS (
    SELECT FROM json_array_elements(skus.components) AS line
    WHERE line ->> 'component_id' = %(id)s::text AND ({_DIFFERS}))"""


def differing(connection: Connection, component_id: UUID | None) -> int:
    """Return how many SKUs have a line of a shared component with another value than one that the component has."""
    (number,) = connection.execute(_DIFFERING, {"id": component_id}).fetchone() or (0,)
    return int(number)


def find(connection: Connection, resource: str, record_id: UUID, *, merging: bool = False) -> dict[str, object] | None:
    """Return and lock the record of the session's company that an id means, as the API shows it; None for no id of it.

    The answer has the id of the record that stays. With `merging` it waits for writes that name the record, too.
    """
    table, lock = TABLES[resource].name, "UPDATE" if merging else "NO KEY UPDATE"
    query = f"""SELECT {_columns(resource)} FROM {table}
        WHERE id = (SELECT {_ID[resource]} FROM {table} AS named WHERE named.id = %s) FOR {lock}"""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, [record_id]).fetchone()


def change(
    connection: Connection, resource: str, record_id: UUID, values: Mapping[str, object], at: datetime
) -> dict[str, object]:
    """Store new values of a record of the session's company; return it as the API shows it.

    Where one that was merged into it has its new name, that one takes its earlier name: files may still use it.
    """
    table = TABLES[resource].name
    sets = ", ".join(
        f"{column.name} = %({column.name})s" for column in TABLES[resource].columns if column.name in values
    )
    statement = (
        f"UPDATE {table} SET {sets}, updated_at = %(updated_at)s WHERE id = %(id)s RETURNING {_columns(resource)}"
    )
    parameters = {**values, "id": record_id, "updated_at": at}
    with connection.cursor(row_factory=dict_row) as cursor:
        former = None
        if "name" in values and "merged_into" in TABLES[resource].columns:
            aside = f"""UPDATE {table} AS named SET name = named.id::text FROM {table} AS kept
                WHERE kept.id = %(id)s AND named.merged_into = kept.id AND named.name = %(name)s
                RETURNING named.id, kept.name"""
            former = cursor.execute(aside, parameters).fetchone()
        changed = cursor.execute(statement, parameters).fetchone()
        if former is not None:
            cursor.execute(f"UPDATE {table} SET name = %(name)s WHERE id = %(id)s", former)
    assert changed is not None, "the record was locked"
    return changed


def resolved(connection: Connection, resource: str, record_id: UUID) -> UUID | None:
    """Return the id that an id of a record of the session's company means; None where the company has none of it."""
    query = f"SELECT {_ID[resource]} FROM {TABLES[resource].name} AS named WHERE named.id = %s"
    row = connection.execute(query, [record_id]).fetchone()
    return row and row[0]


def referred_to(connection: Connection, table: str, ids: Collection[str]) -> dict[str, LibraryPart]:
    """Return those records of a table that the session's company has, by id, with the fields that a SKU copies.

    Ids are texts, in the argument and in the result; `id` is the one that the argument means. Records that can be
    merged cannot be merged away until the caller's transaction ends: it would store an id that nothing rewrites.
    """
    resource = next(resource for resource, of in TABLES.items() if of.name == table)
    columns = [_BY_NAME[table].c[name] for name in _TAKEN_OVER.get(table, ())]
    columns_shown = "".join(
        f", {column.name}::text" if isinstance(column.type, Uuid) else f", {column.name}" for column in columns
    )
    lock = "" if table in _TAKEN_OVER else " FOR KEY SHARE"
    query = f"""SELECT id::text AS named_id, {_ID[resource]}::text AS id{columns_shown}
        FROM {table} AS named WHERE id = ANY(%s::uuid[]){lock}"""
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(query, [list(ids)]).fetchall()
    return {row.pop("named_id"): cast(LibraryPart, row) for row in rows}


def names(connection: Connection, resource: str, ids: Collection[UUID]) -> dict[str, str]:
    """Return the names of those records that the session's company has, by id."""
    if not ids:
        return {}
    table = TABLES[resource].name
    query = f"""SELECT named.id, kept.name FROM {table} AS named JOIN {table} AS kept ON kept.id = {_ID[resource]}
        WHERE named.id = ANY(%s)"""
    return {str(record_id): name for record_id, name in connection.execute(query, [list(ids)])}


def enquiries(connection: Connection, name: str) -> int:
    """Return how many enquiries were made for this name, whatever its case."""
    query = "SELECT count(*) FROM supplier_enquiries WHERE lower(supplier_name) = lower(%s)"
    (number,) = connection.execute(query, [name]).fetchone() or (0,)
    return int(number)


def merge(connection: Connection, resource: str, record_id: UUID, into: UUID, at: datetime) -> None:
    """Have a record, which is locked, mean another one, with all that mean it by now and the shared components."""
    table = TABLES[resource].name
    statement = f"UPDATE {table} SET merged_into = %(into)s, updated_at = %(at)s WHERE %(id)s IN (id, merged_into)"
    parameters = {"id": record_id, "into": into, "at": at}
    connection.execute(statement, parameters)
    if resource == "supplier":
        connection.execute(
            "UPDATE library_components SET supplier_id = %(into)s, updated_at = %(at)s WHERE supplier_id = %(id)s",
            parameters,
        )


def merged(connection: Connection) -> dict[str, str]:
    """Return each id of the session's company that means another one, and that one, as texts."""
    tables = " UNION ALL ".join(
        f"SELECT id::text, merged_into::text FROM {TABLES[resource].name} WHERE merged_into IS NOT NULL"
        for resource in ("brand", "site", "supplier")
    )
    return dict(connection.execute(tables).fetchall())
