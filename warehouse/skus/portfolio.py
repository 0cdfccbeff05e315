"""Reads many SKUs of a company in the order of their codes: block by block, some by their codes, or all of them.

What belongs here: how a portfolio is walked without holding it in memory. What does not: pages that callers ask for
(`queries`), rows that are about to be written (`by_code`), and snapshots (`warehouse.snapshots`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast  # Any: rows, whose types the statement says

from psycopg.rows import dict_row

from warehouse import copying
from warehouse.sessions import Connection
from warehouse.skus.columns import DTYPES, Table, select_list
from warehouse.skus.detail import SELECT, StoredSku
from warehouse.skus.tables import VALUE_COLUMNS

_AT_ONCE: Final = 500
"""SKUs that are fetched together."""

_FIRST: Final = "WHERE true ORDER BY sku_code LIMIT %(rows)s"
_NEXT: Final = "WHERE sku_code > %(after)s::text ORDER BY sku_code LIMIT %(rows)s"
_NAMED: Final = "WHERE sku_code = ANY(%(codes)s::text[]) ORDER BY sku_code"
_SHOWN: Final = f"""
SELECT {SELECT} FROM skus WHERE sku_code = ANY(%(codes)s)
UNION ALL
SELECT {SELECT} FROM archived_skus AS rests
JOIN sku_versions AS skus ON skus.id = rests.sku_id AND skus.version = rests.version
WHERE rests.returned_at IS NULL AND rests.sku_code = ANY(%(codes)s)
ORDER BY sku_code"""
_EVERY: Final = f'SELECT {select_list(VALUE_COLUMNS)} FROM skus ORDER BY sku_code COLLATE "C"'
_GRADES: Final = """
SELECT recyclability_grade, grade_provisional, ruleset_version, min(recyclability_score), max(recyclability_score),
       count(*)
FROM skus GROUP BY recyclability_grade, grade_provisional, ruleset_version"""


def grades(connection: Connection) -> list[tuple[object, ...]]:
    """The company's grades: grade, whether provisional, rule-set; lowest and highest score (0 to 100), and SKUs."""
    return connection.execute(_GRADES).fetchall()


def block(connection: Connection, columns: Sequence[str], *, after: str | None, rows: int) -> Table:
    """These columns of the company's next SKUs after a code, or of its first ones, by COPY."""
    return _copied(connection, columns, _FIRST if after is None else _NEXT, {"after": after, "rows": rows})


def skus_of_codes(connection: Connection, columns: Sequence[str], codes: Sequence[str]) -> Table:
    """These columns of the SKUs of these codes, by COPY."""
    return _copied(connection, columns, _NAMED, {"codes": list(codes)})


def _copied(connection: Connection, columns: Sequence[str], which: str, parameters: Mapping[str, object]) -> Table:
    query = f"SELECT {', '.join(f'skus.{name}' for name in columns)} FROM skus {which}"
    return Table.of(copying.out_of(connection, query, parameters, {name: DTYPES[name] for name in columns}))


def of_codes(connection: Connection, codes: Sequence[str]) -> Iterator[StoredSku]:
    """The SKUs of these codes, archived ones among them, by `detail.COLUMNS`, a few hundred at a time."""
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


def _rows(found: Iterable[dict[str, Any]]) -> Iterator[StoredSku]:
    return (cast(StoredSku, row) for row in found)
