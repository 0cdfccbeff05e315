"""Grading many SKUs at once: the same kernel, asked once for each distinct input and remembered.

Which columns are read and written is said at `grade_frame`; nothing about a rule stands here.
"""

from functools import lru_cache
from typing import Final

import orjson
import polars as pl

from compliance.grading.assessment import assess
from compliance.grading.provisional import is_provisional
from compliance.grading.score import stored
from compliance.ruleset import RuleSet

_COLUMNS: Final = (
    "material", "material_subtype", "packaging_format", "packaging_level", "weight_grams", "use_contexts", "svhc",
    "components",
)  # fmt: skip
_GRADED: Final = {"recyclability_grade": pl.String, "recyclability_score": pl.Float64, "grade_provisional": pl.Boolean}
_IDS: Final = r'"id": ?"[^"]*",?'
_NO_GRAPH: Final = pl.col("components").is_null() | (pl.col("components") == "[]")


def grade_frame(frame: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """The grade of every row, in the rows' order.

    Reads `material`, `material_subtype`, `packaging_format`, `packaging_level`, `weight_grams`, `use_contexts`
    (Postgres array text such as `{food,takeaway}`), `svhc` and `components` (JSON text). Returns
    `recyclability_grade`, `recyclability_score` and `grade_provisional`; a grade is never null.
    """
    asked = frame.select(_COLUMNS).with_columns(
        # With a graph its weights count; without one only whether the body weighs anything. Ids decide nothing.
        weight_grams=pl.when(_NO_GRAPH).then(pl.col("weight_grams").cast(pl.Float64).sign()),
        components=pl.when(~_NO_GRAPH).then(pl.col("components").cast(pl.String).str.replace_all(_IDS, "")),
    )
    return pl.DataFrame([_graded(row, rules) for row in asked.iter_rows()], schema=_GRADED, orient="row")


@lru_cache(maxsize=32_768)
def _graded(row: tuple[object, ...], rules: RuleSet) -> tuple[str, float | None, bool]:
    record = dict(zip(_COLUMNS, row, strict=True))
    contexts, svhc, components = record["use_contexts"], record["svhc"], record["components"]
    record["use_contexts"] = str(contexts).strip("{}").split(",") if contexts else ()
    record["svhc"] = orjson.loads(str(svhc)) if svhc else None
    record["components"] = orjson.loads(str(components)) if components else ()
    assessed = assess(record, rules)
    return assessed.result.grade, stored(assessed.result.score), is_provisional(record, assessed, rules)
