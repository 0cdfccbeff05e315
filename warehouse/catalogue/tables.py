"""Defines the tables of the served jurisdiction catalogue, and of its loads."""

from sqlalchemy import JSON, Boolean, Column, Date, Integer, Table, Text

from warehouse.base import identity, instant, metadata

jurisdictions = Table(
    "jurisdictions",
    metadata,
    Column("code", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("parent_code", Text),
    Column("system", Text),
    Column("register_name", Text),
    Column("register_url", Text),
    Column("law_title", Text),
    Column("law_reference", Text),
    Column("law_date", Date),
    Column("law_date_seen", Text),
    Column("scope", Text),
    Column("reporting_period", Text),
    Column("authorised_representative_required", Text),
    Column("local_labelling_rule", Text),
    Column("depth", Integer, nullable=False, comment="as recorded; what is served is derived on read"),
    Column("verified_on", Date),
    Column("source_url", Text),
    Column("source_note", Text),
    Column("region", Text, nullable=False),
    Column("system_key", Text, nullable=False),
    Column("in_catalogue", Boolean, nullable=False, comment="served"),
    Column("reviewed_on", Date, comment="of the lawyer's review behind depth 3"),
    Column("composite_rule", Text),
    Column("composite_threshold_percent", Integer),
    Column("composite_basis", Text),
    Column("composite_note", Text),
)

catalogue_loads = Table(
    "catalogue_loads",
    metadata,
    identity(),
    instant("loaded_at"),
    Column("source_hash", Text, nullable=False),
    Column("rows", Integer, nullable=False),
    Column("changes", JSON, nullable=False, comment="added, changed, removed codes"),
    Column("pinned", Boolean, nullable=False, comment="false where an operator loaded a file"),
)
