"""Defines the tables of added rule-sets, of activations, and of each company's latest regrade."""

from sqlalchemy import JSON, BigInteger, Column, Identity, Integer, PrimaryKeyConstraint, Table, Text

from warehouse.base import company, instant, metadata

rulesets = Table(
    "rulesets",
    metadata,
    Column("version", Text, primary_key=True),
    Column("content_hash", Text, nullable=False, comment="SHA-256 over names and texts of the tables"),
    Column("rules", Integer, nullable=False, comment="how many design rules it has"),
    Column("tables", JSON, nullable=False, comment="file name of each table to its CSV text"),
    instant("added_at"),
)

ruleset_activations = Table(
    "ruleset_activations",
    metadata,
    Column(
        "number",
        BigInteger,
        Identity(always=True),
        primary_key=True,
        comment="the highest one is the version that grades",
    ),
    Column("version", Text, nullable=False),
    instant("activated_at"),
)

regrades = Table(
    "regrades",
    metadata,
    company(),
    Column("version", Text, nullable=False, comment="of the rule-set that the SKUs are graded with"),
    Column("position", Text, comment="the last sku_code that is done; null before the first block"),
    Column("skus", BigInteger, nullable=False, server_default="0", comment="looked at up to there"),
    Column(
        "changed",
        BigInteger,
        nullable=False,
        server_default="0",
        comment="of those, written because grade or trace changed",
    ),
    Column("matrix", JSON, nullable=False, comment='{"A→B": SKUs}: the grade before and after, unchanged ones too'),
    Column("examples", JSON, nullable=False, comment="the first changes: sku_code, grade before, grade after"),
    instant("begun_at"),
    instant("finished_at", nullable=True),
    PrimaryKeyConstraint("company_id"),
)
