"""Bearer tokens, request windows, and what was spent of every limit; how they decide is migration 0004's functions."""

from sqlalchemy import ARRAY, BigInteger, Column, DateTime, ForeignKey, Index, Integer, LargeBinary, Table, Text, Uuid

from warehouse.tables.base import company, instant, metadata

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

spent_requests = Table(
    "spent_requests",
    metadata,
    Column("spender", Text, primary_key=True, comment="key:ID, token requests as client:ID and address:IP"),
    Column(
        "instants", ARRAY(DateTime(timezone=True)), nullable=False, server_default="{-infinity}",
        comment="of admissions in the last minute, ascending, behind the one before them",
    ),
    Column(
        "numbers", ARRAY(BigInteger), nullable=False, server_default="{0}",
        comment="how many had been admitted by each of these instants, it included",
    ),
    prefixes=["UNLOGGED"],
    postgresql_with={"fillfactor": "25", "toast_tuple_target": "8160"},
)  # fmt: skip
