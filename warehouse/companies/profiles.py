"""Stores a company's profile: one row of what it says of itself, null where it has not answered."""

from datetime import datetime
from typing import Final, cast
from uuid import UUID

from psycopg.rows import dict_row
from sqlalchemy import Boolean, Column, Integer, Table, Text, Uuid

from schemas.companies import CompanyProfile, ProfileFields
from warehouse.base import instant, metadata
from warehouse.operate.sessions import Connection

company_profiles = Table(
    "company_profiles",
    metadata,
    Column("company_id", Uuid, primary_key=True),
    Column("seat", Text),
    Column("size", Text),
    Column("sells_directly_abroad", Boolean),
    Column("address", Text, comment="what a declaration of conformity states on its point 2"),
    Column("standards", Text, comment="what it states on its point 6"),
    Column("signatory", Text),
    Column("function", Text, comment="of the signatory"),
    Column("place", Text),
    Column("version", Integer, nullable=False, comment="1 at the first answer, one more at each change"),
    instant("updated_at"),
)

FIELDS: Final = tuple(ProfileFields.__annotations__)
_READ: Final = f"SELECT {', '.join(CompanyProfile.__annotations__)} FROM company_profiles"
_WRITE: Final = f"""
INSERT INTO company_profiles (company_id, {", ".join(FIELDS)}, version, updated_at)
VALUES (%(company_id)s, {", ".join(f"%({name})s" for name in FIELDS)}, %(version)s + 1, %(at)s)
ON CONFLICT (company_id) DO UPDATE
SET ({", ".join(FIELDS)}, version, updated_at)
    = ({", ".join(f"excluded.{name}" for name in FIELDS)}, excluded.version, excluded.updated_at)
WHERE company_profiles.version = %(version)s"""


def read(conn: Connection) -> CompanyProfile:
    """Return the profile of the session's company; nothing is answered where it has none."""
    with conn.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(_READ).fetchone()
    return cast(CompanyProfile, row or {**dict.fromkeys(FIELDS), "version": 0, "updated_at": None})


def write(conn: Connection, company_id: UUID, fields: ProfileFields, *, version: int, at: datetime) -> bool:
    """Store the fields in place of those of a version; return False where another version is stored by now."""
    values = {**fields, "company_id": company_id, "version": version, "at": at}
    return conn.execute(_WRITE, values).rowcount == 1
