"""Grades SKUs of the columns one by one by the kernel: packs of very many parts, and what the arrays cannot number."""

from collections.abc import Iterable
from typing import Final

import polars as pl

from compliance.grading.many.codes import MISSING
from compliance.grading.many.columns import line_of, record_at
from compliance.grading.provisional import judge
from compliance.grading.score import rounded_score
from compliance.rule_rows import RuleSet
from schemas.sku import Component

GRADED: Final = pl.Schema(
    {"grade": pl.String, "score": pl.Float64, "provisional": pl.Boolean, "stream": pl.String, "missing": pl.Int64}
)
"""A row a SKU: its answer, the stream of its body's unit, and the bits (`MISSING`) of the kinds of missing facts."""
_KINDS: Final = {**MISSING, "material_subtype": MISSING["polymer_or_grade"], "weight_grams": MISSING["weight_g"]}


def by_the_kernel(skus: pl.DataFrame, components: pl.DataFrame, places: Iterable[int], rules: RuleSet) -> pl.DataFrame:
    """Return `GRADED` of the SKUs at these places."""
    wanted = list(places)
    lines: dict[int, list[Component]] = {place: [] for place in wanted}
    for row in components.filter(pl.col("sku").is_in(wanted)).iter_rows(named=True):
        lines[row["sku"]].append(line_of(row))
    rows = []
    for place in wanted:
        assessed, provisional = judge(record_at(skus, lines[place], place), rules)
        stream = assessed.units[0].stream if assessed.units else None
        missing = {_KINDS[path.rpartition(".")[2]] for path in assessed.missing}
        rows.append((assessed.result.grade, rounded_score(assessed.result.score), provisional, stream, sum(missing)))
    return pl.DataFrame(rows, schema=GRADED, orient="row")
