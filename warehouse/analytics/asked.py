"""Adds the facts that the grades of a page of SKUs ask for: their traces' `missing` and `open`, of the current records.

A snapshot does not contain the trace of a grade; a page has few items, and each trace is computed from its row.
"""

from collections.abc import Sequence
from typing import Final

from compliance import grading
from schemas.analytics import IncompleteSku, QuestionedSku, Questions
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Connection

_ROWS: Final = f"""
SELECT sku_code, ruleset_version,
       {", ".join(f"{name}::text" if name != "weight_grams" else name for name in grading.GRADED_INPUTS)}
FROM skus WHERE sku_code = ANY(%s)
"""


def with_asked(conn: Connection, items: Sequence[IncompleteSku], rulesets: Rulesets, lang: str) -> list[QuestionedSku]:
    """Return the items with the questions of their grades."""
    asked = questions(conn, [item["sku_code"] for item in items], rulesets, lang)
    return [{**item, **asked[item["sku_code"]]} for item in items]


def questions(conn: Connection, sku_codes: Sequence[str], rulesets: Rulesets, lang: str) -> dict[str, Questions]:
    """Return `missing` and `open` of the traces of some SKUs, asked in a language of `LANGUAGES`, by code.

    Both are empty where a grade asks for nothing, and where the company has no such SKU.
    """
    day = rulesets.active(conn)
    asked: dict[str, Questions] = {code: {"missing": [], "open": []} for code in sku_codes}
    for code, version, *row in conn.execute(_ROWS, [list(sku_codes)]):
        inputs: grading.Inputs = tuple(row)
        trace = grading.explain_row(inputs, grading.record_of(inputs), rulesets.of(conn, version), day=day, lang=lang)
        asked[code] = {"missing": trace["missing"], "open": trace["open"]}
    return asked
