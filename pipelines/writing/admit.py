"""What a row must bring along: a new SKU its name and a row of its own, and every graph at most so many components.

A row of a file may name a SKU without its name, because an empty cell leaves a stored name as it is; and a components
sheet may name a SKU that stands in no other sheet, because it is held. Neither can make a SKU that is not there.
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
    """The rows that would make a SKU without a name, or of too many components.

    `merged` has the rows of the patch in its order. A graph that a row does not give may be one from before the limit.
    """
    issues = []
    if "components" in patch.given:
        for at, graph in enumerate(patch.values["components"]):
            if graph and len(graph) > MAX_COMPONENTS and len(orjson.loads(graph)) > MAX_COMPONENTS:
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
    """What is wrong with a new SKU that has no name."""
    return Issue("required", Message("{code} is not held yet, and a new SKU needs a name.", code=code), "name")
