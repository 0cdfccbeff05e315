"""What a write would do, computed before it is stored: passed between the steps of `pipelines.writing.write`."""

from collections import Counter
from dataclasses import dataclass

from compliance.ruleset import RuleSet
from pipelines.writing.patch import Patch, RowIssue
from warehouse.skus.columns import Table


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
