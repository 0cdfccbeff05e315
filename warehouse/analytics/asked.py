"""Adds the facts that the grades of a page of SKUs ask for: their traces' `missing` and `open`, of the current records.

A snapshot does not contain the trace of a grade; a page has few items, and each trace is computed from its row.
"""

from collections.abc import Sequence
from typing import Any, Final

import psycopg

from compliance import grading
from warehouse.rulesets.registry import Rulesets

_ROWS: Final = f"""
SELECT sku_code, ruleset_version,
       {", ".join(f"{name}::text" if name != "weight_grams" else name for name in grading.GRADED_INPUTS)}
FROM skus WHERE sku_code = ANY(%s)
"""


def with_asked(
    conn: psycopg.Connection[Any], items: Sequence[dict[str, Any]], rulesets: Rulesets, lang: str
) -> list[dict[str, Any]]:
    """Return the items with `missing` and `open` of their grades' traces, in a language of `LANGUAGES`.

    Both are empty where a grade asks for nothing, and where the SKU no longer exists.
    """
    day = rulesets.active(conn)
    asked: dict[str, dict[str, Any]] = {}
    for code, version, *row in conn.execute(_ROWS, [[item["sku_code"] for item in items]]):
        held = tuple(row)
        trace = grading.explain_row(held, grading.record_of(held), rulesets.of(conn, version), day=day, lang=lang)
        asked[code] = {name: trace[name] for name in ("missing", "open")}
    return [{**item, **asked.get(item["sku_code"], {"missing": [], "open": []})} for item in items]
