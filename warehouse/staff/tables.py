"""Defines the tables of the operator's staff: accounts of the deployment and of no company, and their sessions.

Functions of migration 0019 authenticate an account; the application's role has no other way to these tables.
"""

from sqlalchemy import CheckConstraint, Column, DateTime, ForeignKey, Index, LargeBinary, Table, Text, Uuid, text

from warehouse.base import identity, instant, metadata

staff = Table(
    "staff",
    metadata,
    identity(),
    Column(
        "email", Text, nullable=False, comment="in small letters; of one live account, so that who left can come back"
    ),
    Column(
        "role",
        Text,
        CheckConstraint("role IN ('analyst', 'operator')", name="role"),
        nullable=False,
        comment="analyst: looks at Dagster; operator: acts in it, too",
    ),
    Column("password_hash", Text, nullable=False, comment="Argon2id with its parameters"),
    instant("created_at"),
    instant("disabled_at", nullable=True),
    Index("uq_staff_email", "email", unique=True, postgresql_where=text("disabled_at IS NULL")),
)

staff_sessions = Table(
    "staff_sessions",
    metadata,
    Column("token_hash", LargeBinary, primary_key=True, comment="SHA-256 of the cookie's token"),
    Column("staff_id", Uuid, ForeignKey("staff.id"), nullable=False),
    Column("seen_at", DateTime(timezone=True), nullable=False, comment="of its last request, to the minute"),
    instant("expires_at"),
    Index(None, "expires_at"),
    Index(None, "staff_id"),
)
