"""Tables of the records that SKUs refer to: brands, sites, suppliers and shared components of a company."""

from sqlalchemy import ARRAY, Column, Double, Table, Text, UniqueConstraint, Uuid

from warehouse.base import company, identity, instant, metadata

brands = Table(
    "brands",
    metadata,
    identity(),
    company(),
    Column("name", Text, nullable=False),
    Column("owner_name", Text),
    instant("created_at"),
    instant("updated_at"),
    UniqueConstraint("company_id", "name"),
)

sites = Table(
    "sites",
    metadata,
    identity(),
    company(),
    Column("name", Text, nullable=False),
    Column("roles", ARRAY(Text), nullable=False),
    Column("country", Text),
    Column("city", Text),
    instant("created_at"),
    instant("updated_at"),
    UniqueConstraint("company_id", "name"),
)

suppliers = Table(
    "suppliers",
    metadata,
    identity(),
    company(),
    Column("name", Text, nullable=False),
    Column("email", Text),
    Column("country", Text),
    instant("created_at"),
    instant("updated_at"),
    UniqueConstraint("company_id", "name"),
)

library_components = Table(
    "library_components",
    metadata,
    identity(),
    company(),
    Column("code", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("component_type", Text, nullable=False),
    Column("material_family", Text, nullable=False),
    Column("polymer_or_grade", Text),
    Column("weight_g", Double),
    Column("supplier_id", Uuid),
    Column("colour", Text),
    Column("recycled_content_percent", Double),
    instant("created_at"),
    instant("updated_at"),
    UniqueConstraint("company_id", "code"),
)
