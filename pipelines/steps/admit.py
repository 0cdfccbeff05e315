"""What a new SKU must bring along: its name, and a row of its own.

A row of a file may name a SKU without its name, because an empty cell leaves a stored name as it is; and a components
sheet may name a SKU that stands in no other sheet, because it is held. Neither can make a SKU that is not there.
"""

from typing import Final

from pipelines.steps.patch import Patch, RowIssue
from pipelines.steps.table import Table
from schemas.issues import Issue

_ONLY_A_GRAPH: Final = {"sku_code", "components"}


def admit(patch: Patch, merged: Table) -> list[RowIssue]:
    """The rows that would make a SKU without a name; `merged` has the rows of the patch in its order."""
    if None not in merged["name"]:
        return []
    return [
        RowIssue(row, _issue(patch, at, code))
        for at, (row, code, name) in enumerate(merged.rows(("row", "sku_code", "name")))
        if name is None
    ]


def _issue(patch: Patch, at: int, code: str) -> Issue:
    given = {name for name in patch.given.names if patch.given[name][at]}
    if given == _ONLY_A_GRAPH:
        return Issue("unknown_reference", f"No SKU {code} is in the file or held; add its row.", "sku_code")
    return nameless(code)


def nameless(code: str) -> Issue:
    """What is wrong with a new SKU that has no name."""
    return Issue("required", f"{code} is not held yet, and a new SKU needs a name.", "name")
