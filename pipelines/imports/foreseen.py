"""Counts the grades that a dry run would change, from one to the other, and names the first items concerned."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeAlias

from pipelines.writing.prepared import Prepared
from schemas.report import ChangedGrade, ForeseenGrades, GradeChange

_Change: TypeAlias = tuple[str | None, str | None]
"""A grade before and after; null before for a new SKU."""
MOST_NAMED: Final = 100
"""Items that are named; all of them are counted."""


def foreseen(written: Prepared, unchanged: Mapping[str, int]) -> ForeseenGrades:
    """Return what a dry run did to grades; `unchanged` counts by grade the rows that were not even written."""
    counts: Counter[_Change] = Counter({(grade, grade): number for grade, number in unchanged.items()})
    changed: list[ChangedGrade] = []
    for code, sku_id, after in written.merged.rows(("sku_code", "id", "recyclability_grade")):
        before = written.grades_before.get(code)
        counts[before, after] += 1
        if before not in (None, after) and len(changed) < MOST_NAMED:
            changed.append({"sku_id": str(sku_id), "sku_code": code, "before": before, "after": after})
    return {"grades": _listed(counts), "changed": changed}


def together(first: ForeseenGrades | None, then: ForeseenGrades) -> ForeseenGrades:
    """Return two parts of one import as one; `first` is None before the first."""
    if first is None:
        return then
    counts: Counter[_Change] = Counter()
    for each in (*first["grades"], *then["grades"]):
        counts[each["before"], each["after"]] += each["skus"]
    return {"grades": _listed(counts), "changed": [*first["changed"], *then["changed"]][:MOST_NAMED]}


def _listed(counts: Counter[_Change]) -> list[GradeChange]:
    """Return the counts as they are published: new SKUs first, then by grade."""
    ordered = sorted(counts.items(), key=lambda each: (each[0][0] or "", each[0][1] or ""))
    return [{"before": before, "after": after, "skus": skus} for (before, after), skus in ordered]
