"""A table as the write path works on it: columns by name, each a plain list.

One row costs microseconds here, where a frame costs its plan and its threads; fifty thousand cost a tenth of a second
(decision 0005). Frames stay where bytes become columns and columns bytes: reading files, COPY in and out, analytics.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Self

import polars as pl


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of equal height. Lists are shared between tables and never changed in place."""

    columns: Mapping[str, list[Any]]

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Self:
        """The columns of a frame."""
        return cls({column.name: column.to_list() for column in frame})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> list[Any]:
        return self.columns[name]

    @property
    def names(self) -> list[str]:
        """Its columns' names, in order."""
        return list(self.columns)

    def with_columns(self, columns: Mapping[str, list[Any]]) -> "Table":
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

    def frame(self, dtypes: Mapping[str, Any]) -> pl.DataFrame:
        """These columns as a frame of these types."""
        return pl.DataFrame({name: self.columns[name] for name in dtypes}, schema=dict(dtypes))
