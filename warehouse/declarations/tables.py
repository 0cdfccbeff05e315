"""Defines the tables of issued declarations of conformity, whose metadata is in `docs`, and of kept declarations."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Numeric,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)

from warehouse.base import company, instant, metadata

issued_declarations = Table(
    "issued_declarations",
    metadata,
    Column("doc_id", Uuid, primary_key=True, comment="the row of docs that it is"),
    company(),
    Column(
        "entry_id", Uuid, nullable=False, unique=True, comment="the draft of the review queue that it was issued from"
    ),
    Column("content", JSON, nullable=False, comment="what the PDF says, point by point"),
    Column("pdf", LargeBinary, nullable=False),
    Column("sha256", Text, nullable=False, comment="of the PDF, hexadecimal"),
    instant("created_at"),
)

kept_declarations = Table(
    "kept_declarations",
    metadata,
    Column("id", Uuid, primary_key=True),
    company(),
    Column("market", Text, nullable=False),
    Column("year", Integer, nullable=False),
    Column("half", Integer, nullable=False, comment="0 is the calendar year"),
    Column("format", Text, nullable=False, comment="json, csv or rpd, the packaging data file of the United Kingdom"),
    Column("filename", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("sha256", Text, nullable=False, comment="of content, hexadecimal"),
    Column(
        "as_of",
        DateTime(timezone=True),
        nullable=False,
        comment="the instant of the snapshot that it was made from",
    ),
    Column("snapshot", Text, nullable=False),
    Column("ruleset_version", Text, nullable=False),
    Column("catalogue_hash", Text, nullable=False),
    Column("rows", Integer, nullable=False, comment="rows of tonnes, or of the UK file"),
    Column("total_tonnes", Numeric),
    Column("total_kg", BigInteger),
    Column("difference_kg", Numeric, comment="exact less rounded kilograms of the UK file"),
    Column(
        "uncounted_skus",
        Integer,
        nullable=False,
        comment="rows of uncounted: SKUs that it does not count, by reason",
    ),
    Column("scope_missing_skus", Integer),
    Column("producer", JSON, comment="what a UK producer stated of itself; null elsewhere"),
    Column("stated", JSON, nullable=False, comment="ratings and drinks containers that a UK producer stated"),
    Column("corrects", Uuid, comment="the first declaration, which this one corrects"),
    Column("kept_by_type", Text, nullable=False),
    Column("kept_by_id", Text),
    Column("kept_by_name", Text),
    Column("content", LargeBinary, nullable=False, comment="the bytes as filed"),
    Column("uncounted", LargeBinary, comment="CSV beside it; null where the declaration has the list inside"),
    Column("scope_missing", LargeBinary, comment="CSV beside it; null where the declaration has no such list beside"),
    instant("created_at"),
    UniqueConstraint("company_id", "id"),
    ForeignKeyConstraint(["company_id", "corrects"], ["kept_declarations.company_id", "kept_declarations.id"]),
    Index("ix_kept_declarations_newest", "company_id", text("created_at DESC"), text("id DESC")),
    Index("ix_kept_declarations_corrects", "corrects", postgresql_where=text("corrects IS NOT NULL")),
)

issued_translations = Table(
    "issued_translations",
    metadata,
    Column("doc_id", Uuid, primary_key=True, comment="the issued declaration, whose own row has its first language"),
    Column("lang", Text, primary_key=True),
    company(),
    Column("content", JSON, nullable=False, comment="what the PDF says, point by point"),
    Column("pdf", LargeBinary, nullable=False),
    Column("sha256", Text, nullable=False, comment="of the PDF, hexadecimal"),
    instant("created_at"),
)
