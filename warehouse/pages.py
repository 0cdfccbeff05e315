"""Builds one page of a list as one statement of typed rows, and reads it (decisions §1).

The columns of an item belong to each list's own module (`skus`, `library`, `conformity`, …), as does the type of its
rows: a TypedDict of `schemas`, which is also what is published.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Generic, TypeVar, cast  # Any: rows, whose types the statement says

import msgspec

from schemas.pages import Page
from schemas.refusals import NotThere
from warehouse.operate.sessions import AsyncCursor, Connection, Cursor

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """The question for one page of a list: a statement with its parameters, which every door can ask.

    A row of the statement has the total, what the list answers beside its page, whether it is an item, and the item's
    columns; an empty page is one row without an item, so that it can be joined to what admits its caller.
    """

    sql: str
    limit: int
    offset: int
    beside: tuple[str, ...] = ()
    """Names of what is answered beside the page."""
    parameters: Mapping[str, object] = field(default_factory=dict)

    def page(self, columns: Sequence[str], rows: Sequence[tuple[Any, ...]], *, skip: int = 0) -> Page[T]:
        """Return the page of a statement's rows; `skip` columns before its own belong to another question.

        Raise `NotThere` where the record whose list it is does not exist: its statement has no row then.
        """
        names = columns[self._items_at(skip) :]
        return cast(Page[T], self._whole(rows, skip, lambda *values: dict(zip(names, values, strict=True))))

    def records(self, columns: Sequence[str], rows: Sequence[tuple[Any, ...]], *, skip: int = 0) -> Page[Any]:
        """Return the same with its items as structs, for a door that writes them as JSON and reads none of them."""
        return self._whole(rows, skip, _record(tuple(columns[self._items_at(skip) :])))

    def _items_at(self, skip: int) -> int:
        return skip + len(self.beside) + 2

    def _whole(self, rows: Sequence[tuple[Any, ...]], skip: int, make: Callable[..., Any]) -> Page[Any]:
        if not rows or rows[0][skip] is None:
            raise NotThere
        items, total = self._items_at(skip), rows[0][skip]
        pagination = {"limit": self.limit, "offset": self.offset, "total": total}
        beside = dict(zip(self.beside, rows[0][skip + 1 :], strict=False))
        data = [make(*row[items:]) for row in rows if row[items - 1]]
        return cast(Page[Any], {"data": data, "pagination": pagination, **beside})

    def read(self, connection: Connection) -> Page[T]:
        """Ask the question in the session's company."""
        cursor = connection.execute(self.sql, self.parameters)
        return self.page(names_of(cursor), cursor.fetchall())


@lru_cache(maxsize=256)
def _record(names: tuple[str, ...]) -> type[msgspec.Struct]:
    """Return the struct of an item with these members: fifty take a twentieth of the time of fifty dictionaries."""
    return msgspec.defstruct("Item", names, gc=False)


def names_of(cursor: Cursor | AsyncCursor) -> list[str]:
    """Return the names of a result's columns; the cursor's own description of them takes longer than their rows."""
    result = cursor.pgresult
    return [] if result is None else [(result.fname(place) or b"").decode() for place in range(result.nfields)]


def listing(
    item: str,
    table: str,
    *,
    order: str,
    limit: int,
    offset: int,
    chosen: str | None = None,
    rows: str | None = None,
    total: str | None = None,
    beside: str = "",
    more: Mapping[str, str] = MappingProxyType({}),
    parameters: Mapping[str, object] = MappingProxyType({}),
) -> Listing[Any]:
    """Return the question for a page; the caller's return type says what its rows are.

    `item` is the select list of an item, `order` a total order of the table's rows. `chosen` are the rows of the list,
    `FROM … WHERE …`, where it has not all of the table. `rows` selects the page's rows, and `total` counts all of the
    list, where there is a cheaper way than to skip and to count. `beside` joins other tables that an item needs, `more`
    names the answer's members beside data and pagination. Limit and offset are in the text and not in parameters: the
    plan depends on them, so that Postgres would plan a prepared statement anew each time, at half the query's cost.
    """
    chosen = chosen or f"FROM {table}"
    page_rows = rows or f"SELECT * {chosen} ORDER BY {order} LIMIT {limit:d} OFFSET {offset:d}"
    counted = total or f"(SELECT count(*) {chosen})"
    others = "".join(f", {expression} AS {name}" for name, expression in more.items())
    sql = f"""
SELECT whole.*, item.* FROM (SELECT {counted} AS total{others}) AS whole LEFT JOIN (
    SELECT true AS is_item, {item} FROM ({page_rows}) AS {table}{beside} ORDER BY {order}) AS item ON true"""
    return Listing(sql, limit, offset, tuple(more), parameters)


def instant(column: str) -> str:
    """Return SQL for an instant as RFC 3339 in UTC with Z; microseconds only where there are any, as in details."""
    text = f"to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US') || 'Z'"
    return f"replace({text}, '.000000Z', 'Z')"
