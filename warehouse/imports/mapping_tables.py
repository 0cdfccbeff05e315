"""What a company has said about its files, kept under names: the mappings of imports."""

from sqlalchemy import JSON, Column, PrimaryKeyConstraint, Table, Text

from warehouse.base import company, instant, metadata

import_mappings = Table(
    "import_mappings",
    metadata,
    company(),
    Column("name", Text, nullable=False),
    Column("mapping", JSON, nullable=False, comment="as the caller sent it with the name last"),
    instant("updated_at"),
    PrimaryKeyConstraint("company_id", "name"),
)
