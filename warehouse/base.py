"""The MetaData with its naming of constraints, and the columns that every company-owned table begins with."""

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
    """The record's id: a UUID version 7 made by the service, so that keys sort by time."""
    return Column("id", Uuid, primary_key=True)


def company() -> Column[object]:
    """The company that owns the row; row-level security compares it with the session's company."""
    return Column("company_id", Uuid, nullable=False)


def instant(name: str, *, nullable: bool = False) -> Column[object]:
    """A UTC instant, always from the service's clock and never from the database's."""
    return Column(name, DateTime(timezone=True), nullable=nullable)
