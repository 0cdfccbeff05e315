"""Defines the tables of issued declarations of conformity: content and PDF by language. Their metadata is in `docs`."""

from sqlalchemy import JSON, Column, LargeBinary, Table, Text, Uuid

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
