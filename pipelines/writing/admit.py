"""Rejects rows that cannot be stored: a new SKU without a name, components of an unknown SKU, too many components.

A row of a file may leave out the name, because an empty cell keeps the stored name; and a components sheet may name a
SKU that is in no other sheet, because it is stored. Neither can create a SKU.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

import orjson

from compliance.grading import GRADED_INPUTS, grade_many
from compliance.ruleset import RuleSet
from pipelines.writing.components import total_weight_g
from pipelines.writing.patch import Patch, RowIssue
from schemas.bounds import MAX_COMPONENTS, TOO_MANY_COMPONENTS
from schemas.issues import Issue
from schemas.messages import Message
from warehouse.skus.tables import Column, Table

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


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a write would do, computed from the rows as they were read.

    `patch`: the requested rows. `merged`: the accepted rows as they would be stored, with `row` and `outcome`; of an
    import's chunk only the columns that it gives and those in `_ALWAYS_READ`. `errors`: faults of the rejected rows.
    `versions`, `grades_before`: the versions and grades of the stored rows that were read. `rules`: the rule-set that
    graded. `seconds`: the time of each step. `staged`: the changed rows as `store` takes them, once they are in the
    database's staging table. `returned`: the codes of the archived SKUs that the write brings back.
    """

    patch: Patch
    merged: Table
    errors: list[RowIssue]
    versions: dict[str, int]
    grades_before: dict[str, str | None]
    rules: RuleSet
    seconds: dict[str, float]
    staged: Table | None = None
    returned: frozenset[str] = frozenset()

    @property
    def counts(self) -> Counter[str]:
        """Count the rows by outcome: created, updated, unchanged, rejected."""
        counts = Counter(self.merged["outcome"])
        counts["rejected"] = len(self.patch.values) - len(self.merged)
        return counts

    def version_before(self, sku_code: str) -> int | None:
        """Return the version of a SKU that the write met, archived ones included; None for a new SKU."""
        version = self.versions.get(sku_code)
        return version - 1 if version is not None and sku_code in self.returned else version

    @property
    def changes_nothing(self) -> bool:
        """Return whether every accepted row is stored already with the same values."""
        return all(outcome == "unchanged" for outcome in self.merged["outcome"])


_GRADED: Final = ("recyclability_grade", "recyclability_score", "grade_provisional")


def grade(merged: Table, rules: RuleSet) -> Table:
    """Return the merged rows with their derived columns computed again; unchanged rows keep the stored ones."""
    changed = [outcome != "unchanged" for outcome in merged["outcome"]]
    if not any(changed):
        return merged
    to_grade = merged.where(changed)
    graded = zip(*grade_many(list(to_grade.rows(GRADED_INPUTS)), rules), strict=True)
    computed = {
        **{name: list(values) for name, values in zip(_GRADED, graded, strict=True)},
        "components_weight_g": [total_weight_g(graph) for graph in to_grade["components"]],
        "ruleset_version": [rules.version] * len(to_grade),
    }
    if to_grade is merged:
        return merged.with_columns(computed)
    return merged.with_columns({name: _filled(merged[name], changed, values) for name, values in computed.items()})


def _filled(stored: Column, changed: list[bool], computed: Column) -> Column:
    """Return the column with the computed values, in their order, where the row changed."""
    new = iter(computed)
    return [next(new) if is_changed else old for old, is_changed in zip(stored, changed, strict=True)]
