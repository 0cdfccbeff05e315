"""Selects the items of a SKU list together with their whole stored rows, in the list's own statement.

A page with graphs, volumes or grades explained is so one query however many SKUs it has, and each item and its graph
are of one instant.
"""

from typing import Final, cast

import polars as pl

from schemas.json_values import JsonObject
from warehouse.skus.columns import DTYPES
from warehouse.skus.detail import NAMES, SHOWN, StoredSku
from warehouse.skus.queries import LIST_ITEM

STORED: Final = "stored"
"""The member of an item that holds its row."""
ITEM: Final = f"{LIST_ITEM}, (SELECT row_to_json(shown) FROM (SELECT {SHOWN}) AS shown) AS {STORED}"
"""`LIST_ITEM` with the row of `detail.NAMES`, for the parameter `today`."""
_FLOATS: Final = tuple(name for name in NAMES if DTYPES.get(name) == pl.Float64)


def row_of(item: JsonObject) -> StoredSku:
    """Take the row out of an item that was parsed from JSON, where a whole number has lost its type."""
    row = item.pop(STORED)
    for name in _FLOATS:
        if row[name] is not None:
            row[name] = float(row[name])
    return cast(StoredSku, row)
