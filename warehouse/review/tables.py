"""Defines the tables of requests to suppliers, of entries that a person decides, and of the files that came with them.

A supplier's answer is an entry like any other: a newer answer puts the older one into the state `replaced`.
"""

from sqlalchemy import (
    ARRAY,
    JSON,
    Column,
    Date,
    DateTime,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)

from warehouse.base import company, identity, instant, metadata

supplier_requests = Table(
    "supplier_requests",
    metadata,
    identity(),
    company(),
    Column("sku_id", Uuid, nullable=False),
    Column("component_ids", ARRAY(Uuid), nullable=False, comment="the lines of the SKU's graph that are asked about"),
    Column("supplier_name", Text),
    Column("token_hash", LargeBinary, nullable=False, unique=True, comment="SHA-256 of the token in the link"),
    Column("state", Text, nullable=False, comment="open, awaiting_review or closed"),
    instant("created_at"),
    instant("updated_at"),
    Column("enquiry_id", Uuid, comment="the enquiry that it is an item of"),
    Column("expires_at", DateTime(timezone=True), comment="when its link ends; null for one without end"),
    Column("withdrawn_at", DateTime(timezone=True), comment="when a person ended its link"),
    Index("ix_supplier_requests_enquiry_id", "enquiry_id", postgresql_where=text("enquiry_id IS NOT NULL")),
    Index("ix_supplier_requests_newest", "company_id", text("created_at DESC"), "id"),
)

supplier_enquiries = Table(
    "supplier_enquiries",
    metadata,
    identity(),
    company(),
    Column("supplier_name", Text, nullable=False),
    Column("message", Text, comment="what the supplier reads above the items"),
    Column("token_hash", LargeBinary, nullable=False, unique=True, comment="SHA-256 of the token in the link"),
    Column("due_on", Date, comment="the day by which answers are asked for; nothing ends with it"),
    Column("expires_at", DateTime(timezone=True), nullable=False, comment="when its links end"),
    instant("created_at"),
    Column("withdrawn_at", DateTime(timezone=True), comment="when a person ended its links before that"),
    Index("ix_supplier_enquiries_newest", "company_id", text("created_at DESC"), "id"),
)

review_entries = Table(
    "review_entries",
    metadata,
    identity(),
    company(),
    Column("kind", Text, nullable=False, comment="supplier_answer, sku_update, doc_draft or supplier_document"),
    Column("state", Text, nullable=False, comment="open, replaced, accepted or rejected"),
    Column("sku_id", Uuid, comment="the SKU that it is about; null for one that is not held yet"),
    Column("request_id", Uuid, comment="of a supplier's answer: the request that it answers"),
    Column("payload", JSON, nullable=False),
    Column("filing_key", LargeBinary, comment="the same for a filing that is repeated, which is then filed once"),
    Column("filed_by_type", Text, nullable=False),
    Column("filed_by_id", Text),
    Column("filed_by_name", Text),
    instant("filed_at"),
    Column("decided_by_id", Text),
    Column("decided_by_name", Text),
    instant("decided_at", nullable=True),
    Column("reason", Text, comment="why it was accepted or rejected, in the decider's words"),
    Column("note", Text, comment="what the supplier is told of a rejection"),
    Column("decided", JSON, comment="what was decided on: fields and grade before and after"),
    UniqueConstraint("company_id", "filing_key", name="uq_review_entries_company_id_filing_key"),
    Index("ix_review_entries_open", "company_id", "filed_at", "id", postgresql_where=text("state = 'open'")),
    Index(
        "ix_review_entries_decided",
        "company_id",
        text("decided_at DESC"),
        "id",
        postgresql_where=text("decided_at IS NOT NULL"),
    ),
    Index(
        "ix_review_entries_answers",
        "request_id",
        text("filed_at DESC"),
        postgresql_where=text("request_id IS NOT NULL"),
    ),
    Index("uq_review_entries_request", "request_id", unique=True, postgresql_where=text("state = 'open'")),
)

review_files = Table(
    "review_files",
    metadata,
    Column("id", Uuid, primary_key=True, comment="the object <company_id>/files/<id> holds the bytes"),
    company(),
    Column("request_id", Uuid, comment="the request that a supplier attached it to"),
    Column("entry_id", Uuid, comment="the entry that it came with; null until the answer is sent"),
    Column("type", Text, nullable=False),
    Column("filename", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("reference", Text),
    Column("issuer", Text),
    Column("issued_on", Date),
    Column("expires_on", Date),
    instant("created_at"),
    Index(None, "request_id"),
    Index(None, "entry_id"),
)
