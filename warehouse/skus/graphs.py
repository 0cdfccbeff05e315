"""The component graphs of SKUs as they are stored: whose lines they are, and the lock before one is changed.

A line is a JSON object (`pipelines.writing.components`). Reading a whole SKU belongs elsewhere in this folder.
"""

from typing import Final, NamedTuple
from uuid import UUID

import orjson

from schemas.sku import Component
from warehouse.sessions import Connection

_LOCKED: Final = "SELECT sku_code, version, components::text FROM skus WHERE id = %s FOR UPDATE"
_OF_CODE: Final = "SELECT components::text FROM skus WHERE sku_code = %s"
_OF_ID: Final = "SELECT components::text FROM skus WHERE id = %s"


class Locked(NamedTuple):
    """A SKU that is locked: its code, its version, and its graph as JSON text."""

    sku_code: str
    version: int
    graph: str | None

    @property
    def lines(self) -> list[Component]:
        """The lines of the graph."""
        return _lines(self.graph)


def lock_sku(connection: Connection, sku_id: UUID) -> Locked | None:
    """Lock a SKU of the session's company until the transaction ends; None where there is none of that id."""
    row = connection.execute(_LOCKED, [sku_id]).fetchone()
    return None if row is None else Locked(*row)


def of_code(connection: Connection, sku_code: str) -> list[Component] | None:
    """The lines of a SKU by its code; None where the session's company has no such SKU."""
    row = connection.execute(_OF_CODE, [sku_code]).fetchone()
    return None if row is None else _lines(row[0])


def of_id(connection: Connection, sku_id: UUID) -> list[Component] | None:
    """The lines of a SKU by its id; None where the session's company has no such SKU."""
    row = connection.execute(_OF_ID, [sku_id]).fetchone()
    return None if row is None else _lines(row[0])


def _lines(graph: str | None) -> list[Component]:
    found: list[Component] = orjson.loads(graph) if graph else []
    return found
