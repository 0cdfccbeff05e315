"""Defines the table of technical files' metadata. Their bytes are objects (`warehouse.objects`)."""

from sqlalchemy import Column, Date, Index, Integer, Table, Text, Uuid, desc

from warehouse.base import company, instant, metadata

technical_files = Table(
    "technical_files",
    metadata,
    Column("id", Uuid, primary_key=True, comment="the object <company_id>/files/<id> holds the bytes"),
    company(),
    Column("sku_id", Uuid, nullable=False),
    Column("type", Text, nullable=False),
    Column("filename", Text, nullable=False),
    Column("media_type", Text, nullable=False, comment="what the bytes are, not what they were declared as"),
    Column("size_bytes", Integer, nullable=False),
    Column("sha256", Text, nullable=False, comment="of the bytes, hexadecimal"),
    Column("reference", Text),
    Column("issuer", Text),
    Column("issued_on", Date),
    Column("expires_on", Date),
    instant("created_at"),
    instant("updated_at"),
    Index("ix_technical_files_newest", "company_id", "sku_id", desc("created_at")),
)
