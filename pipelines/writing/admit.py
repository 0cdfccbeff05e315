"""Rejects rows that cannot be stored: a new SKU without a name, components of an unknown SKU, too many components.

A row of a file may leave out the name, because an empty cell keeps the stored name; and a components sheet may name a
SKU that is in no other sheet, because it is stored. Neither can create a SKU.
"""

from typing import Final

import orjson

from pipelines.writing.patch import Patch, RowIssue
from schemas.bounds import MAX_COMPONENTS, TOO_MANY_COMPONENTS
from schemas.issues import Issue
from schemas.messages import Message
from warehouse.skus.columns import Table

_ONLY_A_GRAPH: Final = {"sku_code", "components"}


def admit(patch: Patch, merged: Table) -> list[RowIssue]:
    """Return a fault for each row that would create a SKU without a name, or store too many components.

    `merged` has the rows of the patch in its order. A graph that a row does not give may be older than the limit.
    """
    issues = []
    if "components" in patch.given:
        for at, graph in enumerate(patch.values["components"]):
            # Each line is an object: a text with few braces is not parsed.
            if graph and graph.count("{") > MAX_COMPONENTS and len(orjson.loads(graph)) > MAX_COMPONENTS:
                issues.append(RowIssue(merged["row"][at], Issue("out_of_range", TOO_MANY_COMPONENTS, "components")))
    if None in merged["name"]:
        issues += [
            RowIssue(row, _issue(patch, at, code))
            for at, (row, code, name) in enumerate(merged.rows(("row", "sku_code", "name")))
            if name is None
        ]
    return issues


def _issue(patch: Patch, at: int, code: str) -> Issue:
    given = {name for name in patch.given.names if patch.given[name][at]}
    if given == _ONLY_A_GRAPH:
        return Issue(
            "unknown_reference", Message("No SKU {code} is in the file or held; add its row.", code=code), "sku_code"
        )
    return nameless(code)


def nameless(code: str) -> Issue:
    """Return the fault of a new SKU that has no name."""
    return Issue("required", Message("{code} is not held yet, and a new SKU needs a name.", code=code), "name")
