"""Table of exports: one row for each file of a whole portfolio that was asked for."""

from sqlalchemy import JSON, BigInteger, Column, DateTime, Index, Integer, Table, Text, Uuid, text

from warehouse.base import company, identity, instant, metadata

exports = Table(
    "exports",
    metadata,
    identity(),
    company(),
    Column("format", Text, nullable=False, comment="csv, xlsx or parquet"),
    Column("source", Text, nullable=False, comment="records or snapshot"),
    Column("status", Text, nullable=False, comment="queued, processing, completed or failed"),
    Column("skus_total", Integer, nullable=False, comment="when the export was asked for"),
    Column("skus_done", Integer, nullable=False),
    Column("as_of", DateTime(timezone=True), comment="the instant of the records in the file"),
    Column("rows", JSON, comment="rows by table of the file"),
    Column("object_key", Text, nullable=False, comment="the file in the object store"),
    Column("size_bytes", BigInteger),
    Column("sha256", Text, comment="of the file, hexadecimal"),
    Column("failure", JSON, comment="Issue"),
    Column("claim", Uuid, comment="of the run that writes the file"),
    Column("attempts", Integer, nullable=False, comment="runs that have claimed it"),
    Column("client_id", Uuid, nullable=False),
    Column("client_name", Text, nullable=False),
    instant("created_at"),
    instant("heartbeat_at", nullable=True),
    instant("finished_at", nullable=True),
    Column("expires_at", DateTime(timezone=True), comment="when file and row may be removed"),
    Index("ix_exports_newest", "company_id", text("created_at DESC"), "id"),
    Index("ix_exports_open", "created_at", postgresql_where=text("status IN ('queued', 'processing')")),
)
