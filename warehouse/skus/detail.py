"""Selects one SKU as its detail shows it."""

from typing import Final

from sqlalchemy import Boolean, Double, Integer

from warehouse.skus.tables import DERIVED_COLUMNS, VALUE_COLUMNS, skus

COLUMNS: Final = ("id", *VALUE_COLUMNS, *DERIVED_COLUMNS, "created_at", "updated_at")
"""The columns of `skus` and `sku_versions` that are shown."""
SELECT: Final = ", ".join(
    f"skus.{name}" if isinstance(skus.c[name].type, Boolean | Double | Integer) else f"skus.{name}::text"
    for name in COLUMNS
)
"""The select list that gives them, out of rows named `skus`."""
