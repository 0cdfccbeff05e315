"""Defines the table of codes by which a user confirms through an assistant: bound to a connection and to an action."""

from sqlalchemy import Column, Index, LargeBinary, PrimaryKeyConstraint, Table, Uuid

from warehouse.base import company, instant, metadata

confirmations = Table(
    "confirmations",
    metadata,
    company(),
    Column("code_hash", LargeBinary, nullable=False, comment="SHA-256 of the code"),
    Column("connection_id", Uuid, nullable=False),
    Column("meaning", LargeBinary, nullable=False, comment="SHA-256 of the tool and its arguments"),
    instant("expires_at"),
    PrimaryKeyConstraint("company_id", "code_hash"),
    Index("ix_confirmations_expires_at", "company_id", "expires_at"),
)
