"""Tables of imports with their checkpoints, of the report (a row per fault), of a company's mappings and words."""

from sqlalchemy import JSON, Boolean, Column, DateTime, Index, Integer, PrimaryKeyConstraint, Table, Text, Uuid, text

from warehouse.base import company, identity, instant, metadata

imports = Table(
    "imports",
    metadata,
    identity(),
    company(),
    Column("status", Text, nullable=False),
    Column("dry_run", Boolean, nullable=False),
    Column("filename", Text, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("sha256", Text, nullable=False, comment="of the uploaded bytes, hexadecimal"),
    Column("upload_key", Text, nullable=False, comment="the uploaded bytes in the object store"),
    Column("table_key", Text, nullable=False, comment="the table read from them, in the object store"),
    Column("default_year", Integer, nullable=False, comment="of volume columns that name no year"),
    Column("source", JSON, nullable=False, comment="ImportSource"),
    Column("rows_total", Integer, nullable=False, comment="data lines"),
    Column("rows_done", Integer, nullable=False, server_default="0"),
    Column("position", Integer, nullable=False, server_default="0", comment="typed rows committed"),
    Column("created", Integer, nullable=False, server_default="0"),
    Column("updated", Integer, nullable=False, server_default="0"),
    Column("unchanged", Integer, nullable=False, server_default="0"),
    Column("rejected", Integer, nullable=False, server_default="0"),
    Column("failure", JSON, comment="Issue"),
    Column(
        "templates",
        JSON,
        comment="templates of messages in source, failure and warnings, by their English",
    ),
    Column("claim", Uuid, comment="of the run that may write the next chunk"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("run_id", Text, comment="the Dagster run that holds or held the claim"),
    Column("key_id", Uuid, nullable=False),
    Column("key_name", Text, nullable=False),
    Column("correlation_id", Text, nullable=False),
    Column("ip", Text),
    Column("user_agent", Text),
    instant("created_at"),
    instant("started_at", nullable=True),
    instant("heartbeat_at", nullable=True),
    instant("finished_at", nullable=True),
    Column(
        "upload_removed_at", DateTime(timezone=True), comment="of a dry run whose upload made room for another file"
    ),
    Column(
        "keep_archived",
        Boolean,
        nullable=False,
        server_default="false",
        comment="whether rows of archived SKUs are rejected, not brought back",
    ),
    Column("undone_at", DateTime(timezone=True), comment="when its writes were last taken back"),
    Column("preview", JSON, comment="ForeseenGrades, of a dry run"),
    Column("taken_codes", JSON, comment="codes that no row of this file of corrections may have; null where none"),
    Column("warnings", JSON, comment="ImportWarnings; null where there are none"),
    Column("mapping", JSON, comment="the caller's, an earlier one merged with its answers"),
    Column("answers", Uuid, comment="the import whose held-back values this one writes; null where none"),
    Index("ix_imports_open", "created_at", postgresql_where=text("status IN ('queued', 'processing')")),
    Index("ix_imports_started", "company_id", "started_at"),
)

import_errors = Table(
    "import_errors",
    metadata,
    company(),
    Column("import_id", Uuid, nullable=False),
    Column("sheet_position", Integer, nullable=False, comment="0 the main table, 1 the components sheet"),
    Column("line", Integer, nullable=False, comment="of the caller's file, from 1"),
    Column("number", Integer, nullable=False, comment="among the faults of one line"),
    Column("sheet", Text),
    Column("sku_code", Text),
    Column("field", Text),
    Column("column", Text),
    Column("value", Text),
    Column("code", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("template", Text, comment="the message's template and parameters; null where the text is the template"),
    PrimaryKeyConstraint("import_id", "sheet_position", "line", "number"),
)

import_mappings = Table(
    "import_mappings",
    metadata,
    company(),
    Column("id", Uuid, nullable=False, server_default=text("gen_random_uuid()")),
    Column("name", Text, nullable=False),
    Column("mapping", JSON, nullable=False, comment="as the caller sent it with the name last"),
    instant("updated_at"),
    PrimaryKeyConstraint("company_id", "name"),
)

own_words = Table(
    "own_words",
    metadata,
    company(),
    Column("field", Text, nullable=False),
    Column("folded", Text, nullable=False, comment="the text without the differences that readers ignore"),
    Column("text", Text, nullable=False),
    Column("value", JSON, nullable=False, comment="as in a mapping; JSON null for an empty cell"),
    instant("updated_at"),
    PrimaryKeyConstraint("company_id", "field", "folded"),
)
