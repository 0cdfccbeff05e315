"""Keeps the suppliers' article numbers that a file gives, each for a part that was written and for its supplier."""

from collections.abc import Iterator
from typing import Final
from uuid import UUID

import orjson
import polars as pl

from pipelines.writing.patch import Prepared, RowIssue
from schemas.issues import Issue
from schemas.messages import Message
from warehouse import enquiries, library
from warehouse.enquiries import Sold
from warehouse.operate.sessions import Connection

_WHOSE: Final = Message(
    "The number is not kept: the part names no supplier. Write its supplier beside it, and send the line again."
)


def keep_articles(
    conn: Connection, company_id: UUID, values: pl.DataFrame, written: Prepared, *, dry_run: bool
) -> list[RowIssue]:
    """Keep the `articles` of the typed rows whose SKUs were written; return a warning for each that names no supplier.

    They are in the order of the parts, as the parts are stored in the order of the file.
    """
    if "articles" not in values.columns:
        return []
    given = dict(values.select("row", "articles").drop_nulls().iter_rows())
    kept: list[tuple[str, UUID, str]] = []
    warned: list[RowIssue] = []
    for row, graph in written.merged.rows(("row", "components")):
        for place, (line_id, supplier_id, article) in enumerate(_sold(given.get(row), graph)):
            if supplier_id is None and article:
                warned.append(RowIssue(row, Issue("required", _WHOSE, f"components[{place}].supplier_id")))
            elif supplier_id is not None and article is not None:
                kept.append((line_id, UUID(supplier_id), article))
    if kept and not dry_run:
        names = library.names(conn, "supplier", {supplier_id for _, supplier_id, _ in kept})
        sold = [Sold(line_id, names[str(supplier_id)], article) for line_id, supplier_id, article in kept]
        enquiries.keep_articles(conn, company_id, sold)
    return warned


def _sold(articles: str | None, graph: str | None) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield id, supplier and article number of each part of a SKU of which numbers are given."""
    numbers = orjson.loads(articles) if articles else []
    for line, number in zip(orjson.loads(graph or "[]"), numbers, strict=False):
        yield line["id"], line.get("supplier_id"), number
