"""Tables of bearer tokens, request windows, the request slots of every limit, and probes of the deployment's keys.

Functions of migration 0004 decide who is admitted.
"""

from sqlalchemy import (
    ARRAY,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
)

from warehouse.base import company, instant, metadata

key_probes = Table(
    "key_probes",
    metadata,
    Column("name", Text, primary_key=True),
    Column("probe", LargeBinary, nullable=False),
    comment="derived from each key; tells whether a file is the same, nothing else",
)

bearer_tokens = Table(
    "bearer_tokens",
    metadata,
    Column("token_hash", LargeBinary, primary_key=True, comment="SHA-256 of the token"),
    company(),
    Column("client_id", Uuid, ForeignKey("api_keys.id"), nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    instant("expires_at"),
    Index(None, "expires_at"),
)

request_windows = Table(
    "request_windows",
    metadata,
    Column("client_id", Uuid, ForeignKey("api_keys.id"), primary_key=True),
    company(),
    Column("per_minute", Integer, nullable=False),
    instant("opens_at"),
    Column("closes_at", DateTime(timezone=True), comment="the first instant after it; null is until it is closed"),
)

request_slots = Table(
    "request_slots",
    metadata,
    Column("spender", Text, comment="key:ID, for token requests client:ID and address:IP"),
    Column("number", Integer),
    Column(
        "taken_at",
        DateTime(timezone=True),
        nullable=False,
        server_default="-infinity",
        comment="by the last of its requests",
    ),
    Column(
        "requests",
        Integer,
        nullable=False,
        server_default="0",
        comment="that hold it; above 1 only where a ceiling is above 1 000",
    ),
    PrimaryKeyConstraint("spender", "number"),
    prefixes=["UNLOGGED"],
    postgresql_with={"fillfactor": "50"},
)
