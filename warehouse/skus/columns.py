"""The columns of `skus` in memory: tables of plain lists, and the type of each column in frames and on the way to SQL.

What belongs here: how a column is named and typed outside the table, derived from `warehouse.skus.tables`. What does
not: statements, which are beside this module by topic, and what a value means (`pipelines.writing`).

One row costs microseconds in a `Table`, where a frame costs its plan and its threads; fifty thousand cost a tenth of a
second (decision 0005). Frames stay where bytes become columns and columns bytes: reading files, COPY in and out,
analytics.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final, Self, TypeAlias  # Any: a column's type is its field's

import polars as pl
from sqlalchemy import Boolean, Double, Integer
from sqlalchemy.dialects import postgresql

from warehouse.skus.tables import STORED_COLUMNS

_POLARS: Final = {Double: pl.Float64, Integer: pl.Int64, Boolean: pl.Boolean}
Column: TypeAlias = list[Any]
"""The values of a column. Which type they have is known by the column's name alone (`DTYPES`)."""

DTYPES: Final[dict[str, type[pl.DataType]]] = {
    column.name: _POLARS.get(type(column.type), pl.String) for column in STORED_COLUMNS
}
"""Column of `skus` → the type it has in a frame; whatever is not a number or a truth is text."""

_DIALECT: Final = postgresql.dialect()  # type: ignore[no-untyped-call]
_KINDS: Final = {column.name: column.type.compile(dialect=_DIALECT) for column in STORED_COLUMNS}


def column_definitions(names: Iterable[str]) -> str:
    """The columns with the types that they travel in, as a temporary table or a recordset declares them.

    Ids, arrays and JSON travel as text.
    """
    return ", ".join(f"{name} {'TEXT' if DTYPES[name] == pl.String else _KINDS[name]}" for name in names)


def select_list(names: Iterable[str]) -> str:
    """The select list that gives these columns of `skus` as they travel."""
    return ", ".join(f"skus.{name}::text" if DTYPES[name] == pl.String else f"skus.{name}" for name in names)


def as_stored(name: str, source: str) -> str:
    """A column that travelled to `source`, as the table holds it; an id column `id` travels as a uuid."""
    kind = _KINDS[name]
    as_it_is = name == "id" or kind == "TEXT" or DTYPES[name] != pl.String
    return f"{source}.{name}" if as_it_is else f"{source}.{name}::{kind}"


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of equal height by name. Lists are shared between tables and never changed in place."""

    columns: Mapping[str, Column]

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Self:
        """The columns of a frame."""
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
        """The table with these columns added or in the place of those of the same name."""
        return Table({**self.columns, **columns})

    def where(self, kept: Sequence[bool]) -> "Table":
        """The rows for which this says true; the table itself where those are all."""
        if all(kept):
            return self
        return Table({name: list(compress(column, kept)) for name, column in self.columns.items()})

    def rows(self, names: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """The rows as tuples of these columns."""
        return zip(*(self.columns[name] for name in names), strict=True)

    def dicts(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """The rows as mappings of these columns."""
        return [dict(zip(names, row, strict=True)) for row in self.rows(names)]

    def frame(self, dtypes: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
        """These columns as a frame of these types."""
        return pl.DataFrame({name: self.columns[name] for name in dtypes}, schema=dict(dtypes))
