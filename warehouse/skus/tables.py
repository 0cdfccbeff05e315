"""The SKU as one row: fields, substances, component graph and volumes together, and the versions it had before.

A SKU is written, compared, graded, versioned and audited as a whole, so it rests as a whole (decision 0003). The
graph, the volumes and the substance entries are `json`, not `jsonb`: the stored text is canonical and comes back
as it was written, so that "unchanged" is a comparison of text. `sku_versions` holds each row as it stood before
the write that replaced it; nothing is ever removed from there. An archived SKU is not in `skus`: its newest version is
in `sku_versions`, and `archived_skus` names it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final, Self, TypeAlias  # Any: a column's type is its field's

import polars as pl
from sqlalchemy import (
    ARRAY,
    JSON,
    Boolean,
    Computed,
    Date,
    DateTime,
    Double,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy import Column as SqlalchemyColumn
from sqlalchemy import Table as SqlalchemyTable
from sqlalchemy.dialects import postgresql

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


def _stored() -> list[SqlalchemyColumn[object]]:
    columns: list[SqlalchemyColumn[object]] = []
    for field in SKU_FIELDS:
        if field.name in _LEGACY:
            continue
        if field.kind in ("codes", "markets"):
            columns.append(SqlalchemyColumn(field.name, ARRAY(Text)))
        elif field.kind == "substances":
            columns += [SqlalchemyColumn(substance, JSON) for substance in SUBSTANCES]
        elif field.kind == "components":
            columns.append(SqlalchemyColumn(field.name, JSON))
        else:
            columns.append(SqlalchemyColumn(field.name, _TYPES[field.kind], nullable=field.nullable))
    return columns


def _row() -> list[SqlalchemyColumn[object]]:
    return [
        company(),
        *_stored(),
        SqlalchemyColumn("volumes", JSON, comment='{"FR/2026/0": units}: market, year, half; sorted by key'),
        SqlalchemyColumn(
            "flag_facts",
            JSON,
            comment='[{"fact", "answer", "by", "at"}], sorted: open facts of format bans that a person answered',
        ),
        SqlalchemyColumn("components_weight_g", Double, comment="sum over the graph; null without a graph"),
        SqlalchemyColumn("recyclability_grade", Text, nullable=False),
        SqlalchemyColumn("recyclability_score", Double),
        SqlalchemyColumn("grade_provisional", Boolean, nullable=False),
        SqlalchemyColumn("ruleset_version", Text, nullable=False),
        SqlalchemyColumn("version", Integer, nullable=False, comment="1 at creation, one more at each change"),
        SqlalchemyColumn("transaction_id", Uuid, nullable=False, comment="the audit transaction that wrote it"),
        SqlalchemyColumn("import_id", Uuid, comment="the import that wrote this version, with sheet and line"),
        SqlalchemyColumn("import_sheet", Text),
        SqlalchemyColumn("import_line", Integer),
        instant("created_at"),
        instant("updated_at"),
    ]


_WORDS: Final = (
    "pcds_sku_words(sku_code, name, gtin, material, material_subtype, packaging_format, product_category, components)"
)

skus = SqlalchemyTable(
    "skus",
    metadata,
    identity(),
    *_row(),
    SqlalchemyColumn(
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

sku_versions = SqlalchemyTable(
    "sku_versions",
    metadata,
    SqlalchemyColumn("id", Uuid, nullable=False),
    *_row(),
    PrimaryKeyConstraint("id", "version"),
)

archived_skus = SqlalchemyTable(
    "archived_skus",
    metadata,
    company(),
    SqlalchemyColumn("sku_id", Uuid, nullable=False),
    SqlalchemyColumn(
        "version",
        Integer,
        nullable=False,
        comment="the version as which it rests, in sku_versions: that of archiving, or of units written since",
    ),
    SqlalchemyColumn("sku_code", Text, nullable=False),
    instant("archived_at"),
    SqlalchemyColumn(
        "returned_at", DateTime(timezone=True), comment="when the SKU came back; null while it is archived"
    ),
    PrimaryKeyConstraint("sku_id", "version"),
    Index("ix_archived_skus_now", "company_id", "sku_code", unique=True, postgresql_where=text("returned_at IS NULL")),
)

former_codes = SqlalchemyTable(
    "former_codes",
    metadata,
    company(),
    SqlalchemyColumn("sku_code", Text, nullable=False),
    SqlalchemyColumn("sku_id", Uuid, nullable=False, comment="the SKU that had the code before it was renamed"),
    instant("renamed_at"),
    PrimaryKeyConstraint("company_id", "sku_code"),
)

STORED_COLUMNS: Final = tuple(column for column in skus.columns if column.computed is None)
"""What a row of `skus` and its versions in `sku_versions` both have: all columns but those that Postgres computes."""

VALUE_COLUMNS: Final[tuple[str, ...]] = (*(str(column.name) for column in _stored()), "volumes", "flag_facts")
"""What a caller can write: a difference in one of these makes a new version."""

DERIVED_COLUMNS: Final = (
    "components_weight_g",
    "recyclability_grade",
    "recyclability_score",
    "grade_provisional",
    "ruleset_version",
)
"""What the service computes at each write."""

docs = SqlalchemyTable(
    "docs",
    metadata,
    identity(),
    company(),
    SqlalchemyColumn("sku_id", Uuid),
    SqlalchemyColumn("reference", Text),
    SqlalchemyColumn("supplier_name", Text),
    SqlalchemyColumn("status", Text, nullable=False),
    SqlalchemyColumn("issued_on", Date),
    SqlalchemyColumn("expires_on", Date),
    SqlalchemyColumn("expiry_entered", Date, comment="the last day whose passing stands in the ledger"),
    SqlalchemyColumn("renews", Uuid, comment="the earlier declaration in whose place it was issued"),
    instant("withdrawn_at", nullable=True),
    SqlalchemyColumn("withdrawn_reason", Text, comment="why a person withdrew it; its status is rejected since"),
    instant("created_at"),
    instant("updated_at"),
    Index(None, "company_id", "sku_id"),
    Index("ix_docs_newest", "company_id", text("created_at DESC"), "id"),
    Index("ix_docs_renews", "company_id", "renews", postgresql_where=text("renews IS NOT NULL")),
)


_POLARS: Final = {Double: pl.Float64, Integer: pl.Int64, Boolean: pl.Boolean}
Column: TypeAlias = list[Any]
"""The values of a column. Which type they have is known by the column's name alone (`DTYPES`)."""

DTYPES: Final[dict[str, type[pl.DataType]]] = {
    column.name: _POLARS.get(type(column.type), pl.String) for column in STORED_COLUMNS
}
"""Column of `skus` → the type it has in a frame; whatever is not a number or a truth is text."""

_AS_TEXT: Final = {column.name for column in STORED_COLUMNS if not isinstance(column.type, (*_POLARS, DateTime))}
_DIALECT: Final = postgresql.dialect()  # type: ignore[no-untyped-call]
_KINDS: Final = {column.name: column.type.compile(dialect=_DIALECT) for column in STORED_COLUMNS}


def resting(version: str = "last") -> str:
    """Return the archived SKUs, `rests`, joined with the versions as which they rest, which have the name `version`."""
    return (
        f"archived_skus AS rests JOIN sku_versions AS {version} ON {version}.id = rests.sku_id "
        f"AND {version}.version = rests.version AND rests.returned_at IS NULL"
    )


def column_definitions(names: Iterable[str]) -> str:
    """Return the columns with the types that they travel in, as a temporary table or a recordset declares them.

    Ids, arrays and JSON travel as text.
    """
    return ", ".join(f"{name} {'TEXT' if DTYPES[name] == pl.String else _KINDS[name]}" for name in names)


def select_list(names: Iterable[str]) -> str:
    """Return the select list that gives these columns of `skus` as they travel, instants as they are."""
    return ", ".join(f"skus.{name}::text" if name in _AS_TEXT else f"skus.{name}" for name in names)


def as_stored(name: str, source: str) -> str:
    """Return a column that travelled to `source`, as the table holds it; an id column `id` travels as a uuid."""
    kind = _KINDS[name]
    as_it_is = name == "id" or kind == "TEXT" or DTYPES[name] != pl.String
    return f"{source}.{name}" if as_it_is else f"{source}.{name}::{kind}"


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of equal height by name. Lists are shared between tables and never changed in place."""

    columns: Mapping[str, Column]

    @classmethod
    def from_frame(cls, frame: pl.DataFrame) -> Self:
        """Return the columns of a frame."""
        return cls({column.name: column.to_list() for column in frame})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    @property
    def names(self) -> list[str]:
        """Its columns' names, in order."""
        return list(self.columns)

    def with_columns(self, columns: Mapping[str, Column]) -> "Table":
        """Return the table with these columns, which replace those of the same name."""
        return Table({**self.columns, **columns})

    def where(self, kept: Sequence[bool]) -> "Table":
        """Return the rows for which `kept` is true; the table itself where those are all."""
        if all(kept):
            return self
        return Table({name: list(compress(column, kept)) for name, column in self.columns.items()})

    def rows(self, names: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """Return the rows as tuples of these columns."""
        return zip(*map(self.columns.__getitem__, names), strict=True)

    def dicts(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return the rows as mappings of these columns."""
        return [dict(zip(names, row, strict=True)) for row in self.rows(names)]

    def frame(self, dtypes: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
        """Return these columns as a frame of these types."""
        return pl.DataFrame({name: self.columns[name] for name in dtypes}, schema=dict(dtypes))
