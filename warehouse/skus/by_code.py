"""Reads and locks a company's SKUs by their codes: a few as parameters, many by COPY.

Rows are locked in the order of their codes by every writer, so that two writers wait for each other and never for
ever. A few rows come back as tuples, many through COPY: the same query, two ways to carry its answer.

What belongs here: finding rows by code before they are written. What does not: which columns a write must look at
(`pipelines.writing.write`), and storing (`store`).
"""

from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from typing import Final

from warehouse import copying
from warehouse.sessions import Connection
from warehouse.skus.columns import DTYPES, Table, select_list
from warehouse.skus.detail import CHANGED, GRADED_BEFORE, OF_THE_DAY
from warehouse.skus.tables import DERIVED_COLUMNS, VALUE_COLUMNS

FEW: Final = 200
"""Up to so many rows go as parameters: below it COPY and its temporary table cost more than they save."""

_BY_ONE: Final = "SELECT {selected} FROM skus WHERE sku_code = %(code)s::text{lock}"
_BY_FEW: Final = (
    "SELECT held.* FROM (SELECT code FROM unnest(%(codes)s::text[]) AS code ORDER BY code) AS asked, "
    "LATERAL (SELECT {selected} FROM skus WHERE sku_code = asked.code LIMIT 1{lock}) AS held"
)
"""One row after the other. Compared with an array, of whose length Postgres knows nothing, it would read every row of a
company that it has not counted yet, which takes longer than to store the few."""
_BY_MANY: Final = "SELECT {selected} FROM skus WHERE sku_code = ANY(%(codes)s::text[]) ORDER BY sku_code{lock}"

_ALWAYS: Final = ("id", *DERIVED_COLUMNS, "version")
INSTANTS: Final = ("created_at", "updated_at")
"""Wanted only where a caller is shown the record, which nobody is by an import."""


def read(connection: Connection, codes: Sequence[str], columns: Sequence[str], today: date, *, locking: bool) -> Table:
    """The company's rows of these codes, ids and instants as text; with `locking` until the transaction ends.

    Has `id`, `version`, the code, the derived columns and `columns`, which may name `INSTANTS`; few rows, which are
    shown to a caller, have the `doc_status` of the day too and what the rule-set before gave.
    """
    names = _read(tuple(columns))
    if len(codes) > FEW:
        query, asked = _query(_BY_MANY, names, locking=locking), {"codes": _array(codes)}
        return Table.of(copying.out_of(connection, query, asked, {name: DTYPES[name] for name in names}))
    one = len(codes) == 1
    query = _query(_BY_ONE if one else _BY_FEW, names, f", {OF_THE_DAY}", locking=locking)
    query = query.replace("skus.updated_at::text", CHANGED)
    by = {"code": codes[0]} if one else {"codes": _array(codes)}
    rows = connection.execute(query, {**by, "today": today}).fetchall()
    shown = (*names, "doc_status", GRADED_BEFORE)
    values = zip(*rows, strict=True) if rows else [()] * len(shown)
    return Table({name: list(column) for name, column in zip(shown, values, strict=True)})


def lock_versions(connection: Connection, codes: Sequence[str]) -> dict[str, int]:
    """Lock the rows of these codes until the transaction ends; which version each has now."""
    query = _query(_BY_MANY, ("sku_code", "version"), locking=True)
    return dict(connection.execute(query, {"codes": _array(codes)}).fetchall())


@lru_cache(maxsize=1024)
def _read(columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns to read where these are wanted, each once and in one order."""
    wanted = {"sku_code", *columns}
    return (*_ALWAYS, *(name for name in (*INSTANTS, *VALUE_COLUMNS) if name in wanted))


def _array(codes: Sequence[str]) -> str:
    """Codes as one array literal; element by element psycopg takes 7 ms for ten thousand."""
    quoted = "\x00".join(codes).replace("\\", "\\\\").replace('"', '\\"').replace("\x00", '","')
    return f'{{"{quoted}"}}' if codes else "{}"


@lru_cache(maxsize=1024)
def _query(form: str, columns: tuple[str, ...], more: str = "", *, locking: bool) -> str:
    return form.format(selected=select_list(columns) + more, lock=" FOR UPDATE OF skus" if locking else "")
