"""Grading many SKUs at once: the same kernel, asked once for each distinct input.

Which columns are read and written is said at `grade_frame`; nothing about a rule stands here.
"""

from typing import Final

import orjson
import polars as pl

from compliance.grading.assessment import assess
from compliance.grading.provisional import is_provisional
from compliance.grading.score import stored
from compliance.ruleset import RuleSet

_COLUMNS: Final = {
    "material": pl.String,
    "material_subtype": pl.String,
    "packaging_format": pl.String,
    "packaging_level": pl.String,
    "weight_grams": pl.Float64,
    "use_contexts": pl.String,
    "svhc": pl.String,
    "components": pl.String,
}
_GRADED: Final = {"recyclability_grade": pl.String, "recyclability_score": pl.Float64, "grade_provisional": pl.Boolean}
_NO_GRAPH: Final = pl.col("components").is_null() | (pl.col("components") == "[]")


def grade_frame(frame: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """The grade of every row, in the rows' order.

    Reads `material`, `material_subtype`, `packaging_format`, `packaging_level`, `weight_grams`, `use_contexts`
    (Postgres array text such as `{food,takeaway}`), `svhc` and `components` (JSON text). Returns
    `recyclability_grade`, `recyclability_score` and `grade_provisional`; a grade is never null.
    """
    asked = frame.select(
        *(pl.col(name).cast(dtype) for name, dtype in _COLUMNS.items() if name not in ("weight_grams", "components")),
        # With a graph its weights count; without one only whether the body weighs anything.
        weight_grams=pl.when(_NO_GRAPH).then(pl.col("weight_grams").cast(pl.Float64).sign()),
        components=pl.when(~_NO_GRAPH).then(pl.col("components")),
        graph=pl.when(~_NO_GRAPH).then(pl.col("components").str.replace_all(r'"id": ?"[^"]*"', "")),
    )
    key = [name for name in asked.columns if name != "components"]
    distinct = asked.unique(subset=key, keep="first", maintain_order=True)
    graded = [_graded(row, rules) for row in distinct.select(_COLUMNS.keys()).iter_rows()]
    answers = distinct.select(key).hstack(pl.DataFrame(graded, schema=_GRADED, orient="row"))
    found = asked.select(key).join(answers, on=key, how="left", nulls_equal=True, maintain_order="left")
    return found.select(_GRADED.keys())


def _graded(row: tuple[object, ...], rules: RuleSet) -> tuple[str, float | None, bool]:
    record = dict(zip(_COLUMNS, row, strict=True))
    contexts, svhc, components = record["use_contexts"], record["svhc"], record["components"]
    record["use_contexts"] = str(contexts).strip("{}").split(",") if contexts else ()
    record["svhc"] = orjson.loads(str(svhc)) if svhc else None
    record["components"] = orjson.loads(str(components)) if components else ()
    assessed = assess(record, rules)
    return assessed.result.grade, stored(assessed.result.score), is_provisional(record, assessed, rules)
