"""Tables of the audit ledger: one row per transaction (who, when, why) and one per record that it changed.

For SKUs the values before and after are not copied here: an entry names the version it made, and the row versions store
the values. Entries about other records store the changed fields in `before` and `after`.

Transactions are the links of the company's chain (`warehouse.audit.chain`). Transactions and entries are numbered per
company without gaps, in the order of the commits; `company_counters` stores the last numbers.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)

from warehouse.base import company, identity, instant, metadata

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
    Column("number", BigInteger, nullable=False, comment="of the link in the company's chain, from 1"),
    Column("first_entry", BigInteger, nullable=False, comment="the lowest id of its entries, which follow each other"),
    Column("entries", Integer, nullable=False, comment="how many they are"),
    Column("digest_version", Integer, nullable=False, comment="what the hash is made of (warehouse.audit.chain)"),
    Column("hash", LargeBinary, nullable=False, comment="over the hash of the link before and all of this one"),
    instant("visible_at", nullable=True),
    UniqueConstraint("company_id", "number"),
    Index(None, "company_id", "at"),
    Index(None, "company_id", "visible_at"),
    Index("ix_audit_transactions_unstamped", "id", postgresql_where=text("visible_at IS NULL")),
)

audit_entries = Table(
    "audit_entries",
    metadata,
    Column("id", BigInteger, autoincrement=False, comment="number in the company's ledger, from 1"),
    company(),
    Column("transaction_id", Uuid, nullable=False),
    Column("action", Text, nullable=False),
    Column("resource_id", Text, nullable=False),
    Column("version", Integer, comment="of the SKU, where the entry is about one"),
    Column("before", JSON),
    Column("after", JSON),
    Column("digest", LargeBinary, nullable=False, comment="over the entry and the row version that it names"),
    PrimaryKeyConstraint("company_id", "id"),
)
