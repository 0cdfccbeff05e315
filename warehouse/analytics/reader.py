"""Opens a DuckDB connection that can read three views of one snapshot and nothing else.

DuckDB isolates it: access to files other than those named here is off, and the configuration is locked before the first
query. A path in a query, a link or a setting cannot circumvent that (tests/warehouse/test_reader.py).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar  # Any: a row of DuckDB, whose columns the query names

import duckdb

from warehouse.snapshots import Snapshot
from warehouse.snapshots.columns import ARCHIVED
from warehouse.snapshots.snapshot import TABLES

Row: TypeAlias = tuple[Any, ...]
"""A row of any query: which values it has is known by the query alone."""
Record = TypeVar("Record")

THREADS: Final = 2
MEMORY: Final = "1GiB"
"""Memory of one answer; one that needs more fails rather than take the memory of requests."""


class Reader:
    """Queries over the views `skus`, `components` and `volumes`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def rows(self, query: str, **parameters: object) -> list[Row]:
        """Return all rows of a query; values are always parameters, named `$name` in it."""
        return self._connection.execute(query, parameters).fetchall()

    def records(self, kind: type[Record], query: str, **parameters: object) -> list[Record]:
        """Return all rows by the names of their columns, which are those of the TypedDict `kind`."""
        found = self._connection.execute(query, parameters)
        names = [column[0] for column in found.description or ()]
        return [kind(**dict(zip(names, row, strict=True))) for row in found.fetchall()]


@contextmanager
def reader(snapshot: Snapshot) -> Iterator[Reader]:
    """Open a reader of this snapshot for the block."""
    files = {name: snapshot.files(name) for name in TABLES}
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": THREADS,
        "memory_limit": MEMORY,
        "temp_directory": "",
        "preserve_insertion_order": False,
    }
    with duckdb.connect(":memory:", config=config) as connection:
        connection.execute(f"SET allowed_paths = {_listed(path for paths in files.values() for path in paths)}")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        for name, paths in files.items():
            connection.execute(f"CREATE VIEW {name} AS {_view(name, paths)}")
        yield Reader(connection)


def _view(name: str, paths: Iterable[Path]) -> str:
    """Return the query behind a view; in lists, gaps and counts no archived SKU is there, only in figures."""
    rows = f"SELECT * FROM read_parquet({_listed(paths)})"
    return f"{rows} WHERE NOT {ARCHIVED}" if name in TABLES else rows


def _listed(paths: Iterable[Path]) -> str:
    """Return the paths as a DuckDB list."""
    texts = (str(path).replace("'", "''") for path in paths)
    quoted = ", ".join(f"'{text}'" for text in texts)
    return f"[{quoted}]"
