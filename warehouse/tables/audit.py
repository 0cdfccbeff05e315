"""The audit ledger: one row per transaction (who, when, why) and one per record that it changed.

For SKUs the values before and after are not copied here: an entry names the version it made, and the row versions
hold the values. Other records keep their changed fields in `before` and `after`.
"""

from sqlalchemy import JSON, BigInteger, Column, Identity, Integer, PrimaryKeyConstraint, Table, Text, Uuid

from warehouse.tables.base import company, identity, instant, metadata

audit_transactions = Table(
    "audit_transactions",
    metadata,
    identity(),
    company(),
    instant("at"),
    Column("actor_type", Text, nullable=False),
    Column("actor_id", Text),
    Column("actor_name", Text),
    Column("reason", Text),
    Column("correlation_id", Text, nullable=False),
    Column("ip", Text),
    Column("user_agent", Text),
)

audit_entries = Table(
    "audit_entries",
    metadata,
    Column("id", BigInteger, Identity(always=True)),
    company(),
    Column("transaction_id", Uuid, nullable=False),
    Column("action", Text, nullable=False),
    Column("resource_id", Text, nullable=False),
    Column("version", Integer, comment="of the SKU, where the entry is about one"),
    Column("before", JSON),
    Column("after", JSON),
    PrimaryKeyConstraint("company_id", "id"),
)
