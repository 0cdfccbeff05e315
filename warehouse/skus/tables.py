"""The SKU as one row: fields, substances, component graph and volumes together, and the versions it had before.

A SKU is written, compared, graded, versioned and audited as a whole, so it rests as a whole (decision 0003). The
graph, the volumes and the substance entries are `json`, not `jsonb`: the stored text is canonical and comes back
as it was written, so that "unchanged" is a comparison of text. `sku_versions` holds each row as it stood before
the write that replaced it; nothing is ever removed from there. An archived SKU is not in `skus`: its newest version is
in `sku_versions`, and `archived_skus` names it.
"""

from typing import Final

from sqlalchemy import (
    ARRAY,
    JSON,
    Boolean,
    Column,
    Computed,
    Date,
    DateTime,
    Double,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)

from schemas.fields import SKU_FIELDS, Kind
from schemas.vocabularies import SUBSTANCES
from warehouse.base import company, identity, instant, metadata

_TYPES: Final[dict[Kind, type]] = {
    "text": Text,
    "code": Text,
    "gtin": Text,
    "number": Double,
    "integer": Integer,
    "truth": Boolean,
    "uuid": Uuid,
}
_LEGACY: Final = frozenset(
    {"pfas_intentional", "svhc_declared", "bpa_present", "heavy_metals_sum_ppm", "substances_source"}
)
"""Input fields that become substance entries on write and are read back from them."""


def _stored() -> list[Column[object]]:
    columns: list[Column[object]] = []
    for field in SKU_FIELDS:
        if field.name in _LEGACY:
            continue
        if field.kind in ("codes", "markets"):
            columns.append(Column(field.name, ARRAY(Text)))
        elif field.kind == "substances":
            columns += [Column(substance, JSON) for substance in SUBSTANCES]
        elif field.kind == "components":
            columns.append(Column(field.name, JSON))
        else:
            columns.append(Column(field.name, _TYPES[field.kind], nullable=field.nullable))
    return columns


def _row() -> list[Column[object]]:
    return [
        company(),
        *_stored(),
        Column("volumes", JSON, comment='{"FR/2026/0": units}: market, year, half; sorted by key'),
        Column("components_weight_g", Double, comment="sum over the graph; null without a graph"),
        Column("recyclability_grade", Text, nullable=False),
        Column("recyclability_score", Double),
        Column("grade_provisional", Boolean, nullable=False),
        Column("ruleset_version", Text, nullable=False),
        Column("version", Integer, nullable=False, comment="1 at creation, one more at each change"),
        Column("transaction_id", Uuid, nullable=False, comment="the audit transaction that wrote it"),
        Column("import_id", Uuid, comment="the import that wrote this version, with sheet and line"),
        Column("import_sheet", Text),
        Column("import_line", Integer),
        instant("created_at"),
        instant("updated_at"),
    ]


_WORDS: Final = (
    "pcds_sku_words(sku_code, name, gtin, material, material_subtype, packaging_format, product_category, components)"
)

skus = Table(
    "skus",
    metadata,
    identity(),
    *_row(),
    Column(
        "words",
        Text,
        Computed(_WORDS, persisted=True),
        comment="texts by which the SKU is found, in small letters without accents, the name first",
    ),
    UniqueConstraint("company_id", "sku_code"),
    # The order of the list; an import gives thousands of rows one instant, so that the id must be in it.
    Index("ix_skus_newest", "company_id", text("created_at DESC"), "id"),
    # Room for new versions beside the old ones: with it, and without an index on what changes, updates stay HOT.
    postgresql_with={"fillfactor": "50"},
)

sku_versions = Table(
    "sku_versions",
    metadata,
    Column("id", Uuid, nullable=False),
    *_row(),
    PrimaryKeyConstraint("id", "version"),
)

archived_skus = Table(
    "archived_skus",
    metadata,
    company(),
    Column("sku_id", Uuid, nullable=False),
    Column(
        "version",
        Integer,
        nullable=False,
        comment="the version as which it rests, in sku_versions: that of archiving, or of units written since",
    ),
    Column("sku_code", Text, nullable=False),
    instant("archived_at"),
    Column("returned_at", DateTime(timezone=True), comment="when the SKU came back; null while it is archived"),
    PrimaryKeyConstraint("sku_id", "version"),
    Index("ix_archived_skus_now", "company_id", "sku_code", unique=True, postgresql_where=text("returned_at IS NULL")),
)

STORED_COLUMNS: Final = tuple(column for column in skus.columns if column.computed is None)
"""What a row of `skus` and its versions in `sku_versions` both have: all columns but those that Postgres computes."""

VALUE_COLUMNS: Final[tuple[str, ...]] = (*(str(column.name) for column in _stored()), "volumes")
"""What a caller can write: a difference in one of these makes a new version."""

DERIVED_COLUMNS: Final = (
    "components_weight_g",
    "recyclability_grade",
    "recyclability_score",
    "grade_provisional",
    "ruleset_version",
)
"""What the service computes at each write."""

docs = Table(
    "docs",
    metadata,
    identity(),
    company(),
    Column("sku_id", Uuid),
    Column("reference", Text),
    Column("supplier_name", Text),
    Column("status", Text, nullable=False),
    Column("issued_on", Date),
    Column("expires_on", Date),
    Column("expiry_entered", Date, comment="the last day whose passing stands in the ledger"),
    Column("renews", Uuid, comment="the earlier declaration in whose place it was issued"),
    instant("withdrawn_at", nullable=True),
    Column("withdrawn_reason", Text, comment="why a person withdrew it; its status is rejected since"),
    instant("created_at"),
    instant("updated_at"),
    Index(None, "company_id", "sku_id"),
    Index("ix_docs_newest", "company_id", text("created_at DESC"), "id"),
    Index("ix_docs_renews", "company_id", "renews", postgresql_where=text("renews IS NOT NULL")),
)
