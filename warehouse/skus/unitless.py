"""Reads the SKUs that hold a substance value without a unit: records from before a unit was always stored.

What such a value means is in `compliance.unitless`.
"""

from typing import Any, Final, NamedTuple  # Any: a JSON column
from uuid import UUID

from schemas.vocabularies import SUBSTANCES
from warehouse.sessions import Connection

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
