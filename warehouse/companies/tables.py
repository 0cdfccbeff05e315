"""Tables of companies, their plans, their API keys, and the counters of their SKUs and audit entries."""

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    Uuid,
    text,
)

from warehouse.base import company, identity, instant, metadata

plans = Table(
    "plans",
    metadata,
    Column("plan", Text, primary_key=True),
    Column("sku_limit", Integer, comment="SKUs that the plan holds; null is no limit"),
    Column("connector_calls_per_minute", Integer, nullable=False),
    Column("audit_log", Boolean, nullable=False),
    Column("api_keys", Boolean, nullable=False, comment="keys without the operator's override"),
    Column("storage_bytes", BigInteger, comment="technical files and uploads that the plan stores; null is no limit"),
)

companies = Table(
    "companies",
    metadata,
    identity(),
    Column("name", Text, nullable=False),
    Column("plan", Text, ForeignKey("plans.plan"), nullable=False),
    instant("created_at"),
    Column(
        "slug",
        Text,
        nullable=False,
        unique=True,
        comment="names the company's partition in Dagster; made from its first name, never changed",
    ),
    Column("sandbox_of", Uuid, comment="the company whose test keys reach this one; null for a company of its own"),
    Column(
        "left_at",
        DateTime(timezone=True),
        comment="when a reset took its keys to a new sandbox; it is erased after that",
    ),
    Index("uq_companies_sandbox_of", "sandbox_of", unique=True, postgresql_where=text("left_at IS NULL")),
)

company_counters = Table(
    "company_counters",
    metadata,
    Column("company_id", Uuid, ForeignKey("companies.id"), primary_key=True),
    Column("skus", BigInteger, nullable=False, server_default="0", comment="held against the plan's limit"),
    Column("links", BigInteger, nullable=False, server_default="0", comment="of the audit chain"),
    Column("audit_entries", BigInteger, nullable=False, server_default="0"),
    Column("chain_hash", LargeBinary, comment="of the last link; null before the first"),
)

removed_companies = Table(
    "removed_companies",
    metadata,
    Column("company", Uuid, primary_key=True),
    Column("slug", Text, comment="names its runs in Dagster; null once the removal has ended"),
    Column("sandbox_of", Uuid, comment="the company whose test keys reached this one; null for a company of its own"),
    instant("begun_at"),
    Column(
        "ended_at",
        DateTime(timezone=True),
        comment="null where the removal was cut off and goes on when it is asked again",
    ),
    Column("rows", JSON, nullable=False, comment="how many were removed, by table"),
    Column("links", BigInteger, nullable=False),
    Column("entries", BigInteger, nullable=False),
    Column("chain_hash", LargeBinary, comment="of the last link"),
    Column("hashes", LargeBinary, nullable=False, comment="SHA-256 over the hashes of all links in their order"),
    Column("certificate", JSON),
)

removed_links = Table(
    "removed_links",
    metadata,
    Column("company", Uuid, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("entries", Integer, nullable=False),
    Column("hash", LargeBinary, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    identity(),
    company(),
    Column("name", Text, nullable=False),
    Column("key_hash", LargeBinary, nullable=False, unique=True, comment="SHA-256 of the key"),
    Column("scopes", ARRAY(Text), nullable=False),
    instant("created_at"),
    instant("revoked_at", nullable=True),
    Column("last_used_at", DateTime(timezone=True), comment="of a request with the key or a token of it, to the hour"),
)
