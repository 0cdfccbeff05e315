"""Defines the SQLAlchemy MetaData with its constraint names, and the columns that every company's table begins with."""

from sqlalchemy import Column, DateTime, MetaData, Uuid

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def identity() -> Column[object]:
    """Return the column of a record's id: a UUID version 7 made by the service, so that keys sort by time."""
    return Column("id", Uuid, primary_key=True)


def company() -> Column[object]:
    """Return the column of the company that owns the row; row-level security compares it with the session's company."""
    return Column("company_id", Uuid, nullable=False)


def instant(name: str, *, nullable: bool = False) -> Column[object]:
    """Return a column for a UTC instant, which always comes from the service's clock and never from the database's."""
    return Column(name, DateTime(timezone=True), nullable=nullable)
