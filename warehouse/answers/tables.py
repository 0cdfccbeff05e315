"""Defines the table of answers to writes with an Idempotency-Key, stored for a day beside the written rows.

A row is written in the transaction of the write that it answers, so that neither exists without the other.
"""

from sqlalchemy import Column, Index, Integer, LargeBinary, PrimaryKeyConstraint, Table, Text

from warehouse.base import company, instant, metadata

kept_answers = Table(
    "kept_answers",
    metadata,
    company(),
    Column("request", LargeBinary, nullable=False, comment="SHA-256 of company, method, path and Idempotency-Key"),
    Column("fingerprint", LargeBinary, nullable=False, comment="SHA-256 of the payload"),
    Column("status", Integer, nullable=False, comment="of HTTP, 200 to 299"),
    Column("media_type", Text, nullable=False),
    Column("body", LargeBinary, nullable=False, comment="as zlib deflates it (RFC 1950)"),
    instant("answered_at"),
    PrimaryKeyConstraint("company_id", "request"),
    Index("ix_kept_answers_answered_at", "answered_at"),
)
