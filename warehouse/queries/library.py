"""What SKUs refer to (brands, sites, suppliers, library components), as operators add them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row
from sqlalchemy import Table

from warehouse.tables import brands, library_components, sites, suppliers

TABLES: Mapping[str, Table] = {
    "brand": brands, "site": sites, "supplier": suppliers, "library_component": library_components,
}  # fmt: skip
"""Resource type, as the audit ledger names it → its table."""


def add(
    connection: psycopg.Connection[Any], resource: str, company_id: UUID, record_id: UUID, *,
    values: Mapping[str, Any], at: datetime,
) -> dict[str, Any]:  # fmt: skip
    """Add one record in a session of its company; the record as the API shows it.

    Raises `psycopg.errors.UniqueViolation` where the company has one of that name or code.
    """
    table = TABLES[resource]
    row = {"id": record_id, "company_id": company_id, **values, "created_at": at, "updated_at": at}
    columns = [name for name in table.columns.keys() if name in row]  # noqa: SIM118  (a ColumnCollection is no dict)
    shown = ", ".join(name for name in table.columns.keys() if name != "company_id")  # noqa: SIM118
    statement = (
        f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({', '.join(f'%({name})s' for name in columns)}) "
        f"RETURNING {shown}"
    )
    with connection.cursor(row_factory=dict_row) as cursor:
        added = cursor.execute(statement, row).fetchone()
    assert added is not None, "an insert returns its row"
    return added


def holds(connection: psycopg.Connection[Any], resource: str, record_id: UUID) -> bool:
    """Whether the session's company has this record."""
    found = connection.execute(f"SELECT FROM {TABLES[resource].name} WHERE id = %s", [record_id])
    return found.rowcount == 1
