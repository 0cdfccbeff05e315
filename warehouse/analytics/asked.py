"""What the grades of a page of SKUs ask for: their traces' `missing` and `open` facts, of the records as they are now.

A snapshot does not hold what a grade is explained by; a page has few items, and each is explained from its row.
"""

from collections.abc import Sequence
from typing import Any, Final

from compliance import grading
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Connection

_ROWS: Final = f"""
SELECT sku_code, ruleset_version,
       {", ".join(f"{name}::text" if name != "weight_grams" else name for name in grading.GRADED_INPUTS)}
FROM skus WHERE sku_code = ANY(%s)
"""


def with_asked(
    conn: Connection, items: Sequence[dict[str, Any]], rulesets: Rulesets, lang: str
) -> list[dict[str, object]]:
    """The items with `missing` and `open` of their grades' traces, asked in a language of `LANGUAGES`.

    Both are empty where a grade asks for nothing, and where the SKU is no longer held.
    """
    day = rulesets.active(conn)
    asked: dict[str, dict[str, object]] = {}
    for code, version, *row in conn.execute(_ROWS, [[item["sku_code"] for item in items]]):
        held = tuple(row)
        trace = grading.explain_row(held, grading.record_of(held), rulesets.of(conn, version), day=day, lang=lang)
        asked[code] = {name: trace[name] for name in ("missing", "open")}
    return [{**item, **asked.get(item["sku_code"], {"missing": [], "open": []})} for item in items]
