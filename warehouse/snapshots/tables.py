"""Defines the table of each company's newest snapshot; the files are in the data directory."""

from sqlalchemy import BigInteger, Column, Date, PrimaryKeyConstraint, Table, Text

from warehouse.base import company, instant, metadata

snapshots = Table(
    "snapshots",
    metadata,
    company(),
    Column("name", Text, nullable=False, comment="of its folder below the company's"),
    Column("number", BigInteger, nullable=False, comment="the last link of the audit chain that it holds"),
    instant("as_of"),
    Column("holds_until", Date, comment="the first day on which a DoC's validity changes without a write"),
    PrimaryKeyConstraint("company_id"),
)
