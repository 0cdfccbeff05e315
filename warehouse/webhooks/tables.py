"""Tables of webhooks and of what is sent to them.

A delivery has the text that is sent, so that each attempt sends the same bytes under the same id.
"""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    text,
)

from warehouse.base import company, identity, instant, metadata

webhooks = Table(
    "webhooks",
    metadata,
    identity(),
    company(),
    Column("url", Text, nullable=False),
    Column("description", Text),
    Column("types", ARRAY(Text), comment="of the changes that are sent; null for all"),
    Column("state", Text, nullable=False, comment="active, paused, disabled or removed"),
    Column("disabled_reason", Text, comment="not_delivered, gone or restored"),
    Column("secret", LargeBinary, nullable=False, comment="signs what is sent; sealed"),
    Column("old_secret", LargeBinary, comment="the one before; signs too until old_secret_until"),
    instant("old_secret_until", nullable=True),
    Column(
        "position",
        BigInteger,
        nullable=False,
        comment="the last entry of the ledger whose change was put among its deliveries",
    ),
    instant("next_at", nullable=True),
    Column("failures", Integer, nullable=False, comment="attempts in a row of which none was taken"),
    instant("failing_since", nullable=True),
    Column("fault", Text, comment="why the last attempt failed, as a code"),
    instant("delivered_at", nullable=True),
    instant("created_at"),
    instant("updated_at"),
    instant("removed_at", nullable=True),
    Index("ix_webhooks_company_id", "company_id", "created_at"),
    Index("ix_webhooks_active", "company_id", postgresql_where=text("state = 'active'")),
)

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", Uuid, nullable=False),
    company(),
    Column("webhook_id", Uuid, nullable=False),
    Column("number", BigInteger, nullable=False, comment="of the change in the company's ledger"),
    Column("change_id", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column(
        "key",
        Text,
        nullable=False,
        comment="changes of the same key are sent one after the other: the SKU, or another record",
    ),
    Column("sku_code", Text),
    Column("body", Text, nullable=False),
    Column("state", Text, nullable=False, comment="waiting, delivered or failed"),
    instant("due_at"),
    Column("tries", Integer, nullable=False),
    Column("status", Integer, comment="of the last answer (HTTP); null where there was none"),
    Column("fault", Text),
    instant("created_at"),
    instant("ended_at", nullable=True),
    PrimaryKeyConstraint("id"),
    ForeignKeyConstraint(["webhook_id"], ["webhooks.id"]),
    Index("ix_webhook_deliveries_newest", "webhook_id", "number", "id"),
    Index("ix_webhook_deliveries_waiting", "webhook_id", "key", "number", postgresql_where=text("state = 'waiting'")),
    Index("ix_webhook_deliveries_ended_at", "webhook_id", "ended_at"),
)
