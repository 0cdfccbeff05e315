"""Reads many SKUs of a company in the order of their codes: block by block, some by their codes, or all of them.

What belongs here: how a portfolio is walked without holding it in memory, and the rows that are about to be written.
What does not: pages that callers ask for (`queries`), and snapshots (`warehouse.figures.snapshots`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, cast  # Any: rows, whose types the statement says
from uuid import UUID

from psycopg.rows import dict_row

from schemas.vocabularies import SUBSTANCES
from warehouse.operate import copying
from warehouse.operate.sessions import Connection
from warehouse.skus.queries import DETAIL_CHANGED as CHANGED
from warehouse.skus.queries import GRADED_BEFORE, OF_THE_DAY, SELECT, StoredSku
from warehouse.skus.tables import DERIVED_COLUMNS, DTYPES, VALUE_COLUMNS, Table, resting, select_list

_AT_ONCE: Final = 500
"""SKUs that are fetched together."""

_FIRST: Final = "WHERE true ORDER BY sku_code LIMIT %(rows)s"
_NEXT: Final = "WHERE sku_code > %(after)s::text ORDER BY sku_code LIMIT %(rows)s"
_NAMED: Final = "WHERE sku_code = ANY(%(codes)s::text[]) ORDER BY sku_code"
_SHOWN: Final = f"""
SELECT {SELECT} FROM skus WHERE sku_code = ANY(%(codes)s)
UNION ALL
SELECT {SELECT} FROM {resting("skus")} WHERE rests.sku_code = ANY(%(codes)s)
ORDER BY sku_code"""
_EVERY: Final = f'SELECT {select_list(VALUE_COLUMNS)} FROM skus ORDER BY sku_code COLLATE "C"'
_GRADES: Final = """
SELECT recyclability_grade, grade_provisional, ruleset_version, min(recyclability_score), max(recyclability_score),
       count(*)
FROM skus GROUP BY recyclability_grade, grade_provisional, ruleset_version"""


def grades(connection: Connection) -> list[tuple[object, ...]]:
    """Return the company's grades: grade, whether provisional, rule-set; lowest and highest score (0 to 100), SKUs."""
    return connection.execute(_GRADES).fetchall()


def block(connection: Connection, columns: Sequence[str], *, after: str | None, rows: int) -> Table:
    """Return these columns of the company's next SKUs after a code, or of its first ones, by COPY."""
    return _copied(connection, columns, _FIRST if after is None else _NEXT, {"after": after, "rows": rows})


def skus_of_codes(connection: Connection, columns: Sequence[str], codes: Sequence[str]) -> Table:
    """Return these columns of the SKUs of these codes, by COPY."""
    return _copied(connection, columns, _NAMED, {"codes": list(codes)})


def _copied(connection: Connection, columns: Sequence[str], which: str, parameters: Mapping[str, object]) -> Table:
    query = f"SELECT {', '.join(f'skus.{name}' for name in columns)} FROM skus {which}"
    return Table.from_frame(copying.out_of(connection, query, parameters, {name: DTYPES[name] for name in columns}))


def of_codes(connection: Connection, codes: Sequence[str]) -> Iterator[StoredSku]:
    """Yield the SKUs of these codes, archived ones too, by `queries.COLUMNS`, a few hundred at a time."""
    with connection.cursor(row_factory=dict_row) as cursor:
        for first in range(0, len(codes), _AT_ONCE):
            yield from _rows(cursor.execute(_SHOWN, {"codes": list(codes[first : first + _AT_ONCE])}))


@contextmanager
def every(connection: Connection) -> Iterator[Callable[[], Iterator[StoredSku]]]:
    """Yield a function that walks over the value columns of all SKUs; it may be called again inside the block.

    Codes come in the order of their code points. Each walk begins with the first SKU and sees the portfolio as it was
    when the block began.
    """
    with connection.cursor("every_sku", row_factory=dict_row, scrollable=True) as cursor:
        cursor.execute(_EVERY)
        walks = 0

        def walk() -> Iterator[StoredSku]:
            nonlocal walks
            if walks:
                cursor.scroll(0, mode="absolute")
            walks += 1
            while page := cursor.fetchmany(_AT_ONCE):  # the cursor's own iterator does not see that it was moved
                yield from _rows(page)

        yield walk


def _rows(rows: Iterable[dict[str, Any]]) -> Iterator[StoredSku]:
    return (cast(StoredSku, row) for row in rows)


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
_OF_FEW: Final = f", skus.created_at, {CHANGED}, {OF_THE_DAY}"
_NAMES_OF_FEW: Final = ("created_at", "updated_at", "doc_status", GRADED_BEFORE)


def read(connection: Connection, codes: Sequence[str], columns: Sequence[str], today: date, *, locking: bool) -> Table:
    """Return the company's rows of these codes, ids as text; with `locking` they are locked until the transaction ends.

    Has `id`, `version`, the code, the derived columns and `columns`; few rows, which are shown to a caller, have the
    instants and the `doc_status` of the day too and what the rule-set before gave.
    """
    names = _read(tuple(columns))
    if len(codes) > FEW:
        query, parameters = _query(_BY_MANY, names, locking=locking), {"codes": _array(codes)}
        return Table.from_frame(copying.out_of(connection, query, parameters, {name: DTYPES[name] for name in names}))
    one = len(codes) == 1
    query = _query(_BY_ONE if one else _BY_FEW, names, _OF_FEW, locking=locking)
    by = {"code": codes[0]} if one else {"codes": _array(codes)}
    rows = connection.execute(query, {**by, "today": today}).fetchall()
    names_of_columns = (*names, *_NAMES_OF_FEW)
    values = zip(*rows, strict=True) if rows else [()] * len(names_of_columns)
    return Table({name: list(column) for name, column in zip(names_of_columns, values, strict=True)})


def lock_versions(connection: Connection, codes: Sequence[str]) -> dict[str, int]:
    """Lock the rows of these codes until the transaction ends; which version each has now."""
    query = _query(_BY_MANY, ("sku_code", "version"), locking=True)
    return dict(connection.execute(query, {"codes": _array(codes)}).fetchall())


@lru_cache(maxsize=1024)
def _read(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns to read where these are wanted, each once and in one order."""
    wanted = {"sku_code", *columns}
    return (*_ALWAYS, *(name for name in VALUE_COLUMNS if name in wanted))


def _array(codes: Sequence[str]) -> str:
    """Codes as one array literal; element by element psycopg takes 7 ms for ten thousand."""
    quoted = "\x00".join(codes).replace("\\", "\\\\").replace('"', '\\"').replace("\x00", '","')
    return f'{{"{quoted}"}}' if codes else "{}"


@lru_cache(maxsize=1024)
def _query(form: str, columns: tuple[str, ...], more: str = "", *, locking: bool) -> str:
    return form.format(selected=select_list(columns) + more, lock=" FOR UPDATE OF skus" if locking else "")


Record = Literal["sku", "library_component"]
_COLUMN_OF: Final[dict[Record, tuple[str, str]]] = {
    "sku": ("skus", "sku_code"),
    "library_component": ("library_components", "code"),
}
RECORDS: Final = tuple(_COLUMN_OF)
"""The kinds of records that have codes, as the audit ledger names them."""

_UNUSUAL: Final = "SELECT {code} FROM {table} WHERE {code} ~ '[^ -~]' OR {code} <> btrim({code}) ORDER BY {code}"
_AMONG: Final = "SELECT {code} FROM {table} WHERE {code} = ANY(%s::text[])"


def unusual(connection: Connection, record: Record) -> list[str]:
    """Return the company's codes with characters outside printable ASCII or with spaces around them; sorted."""
    return [code for (code,) in connection.execute(_filled_statement(_UNUSUAL, record))]


def among(connection: Connection, record: Record, codes: Sequence[str]) -> list[str]:
    """Return those of the given codes that are stored exactly so."""
    return [code for (code,) in connection.execute(_filled_statement(_AMONG, record), [list(codes)])]


def _filled_statement(statement: str, record: Record) -> str:
    table, code = _COLUMN_OF[record]
    return statement.format(table=table, code=code)


_LIMITED: Final = tuple(name for name in SUBSTANCES if name != "bpa")
"""The substances with a limit in a unit: Bisphenol A has none."""
_LINES: Final = (
    '$[*].substances.keyvalue() ? (@.key != "bpa").value '
    "? (exists (@.value) && @.value != null && (!exists (@.unit) || @.unit == null))"
)
_OWN: Final = " OR ".join(
    f"(skus.{name} ->> 'value' IS NOT NULL AND skus.{name} ->> 'unit' IS NULL)" for name in _LIMITED
)
UNITLESS: Final = f"""({_OWN} OR CASE
    WHEN skus.components::text LIKE '%%"value"%%' THEN jsonb_path_exists(skus.components::jsonb, '{_LINES}')
    ELSE false END)"""
"""Whether a row of `skus` holds a value without a unit, its own or one of a part; never null."""
_READ: Final = f"""
SELECT id, sku_code, json_build_object({", ".join(f"'{name}', {name}" for name in _LIMITED)}), components
FROM skus WHERE {UNITLESS} ORDER BY sku_code"""


class Holder(NamedTuple):
    """A SKU that holds a value without a unit: its own entries by substance, and its graph."""

    sku_id: UUID
    sku_code: str
    entries: dict[str, Any]
    components: list[Any] | None


def holders(conn: Connection) -> list[Holder]:
    """Return the SKUs of the session's company that hold a value without a unit, by code."""
    return [Holder(*row) for row in conn.execute(_READ.replace("%%", "%"))]
