"""Grading many SKUs at once: the same kernel, asked once for each distinct input and remembered.

Which columns are read is said at `GRADED_INPUTS`; nothing about a rule stands here.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, TypeAlias

import orjson

from compliance.grading.assessment import assess
from compliance.grading.provisional import is_provisional
from compliance.grading.score import stored
from compliance.ruleset import RuleSet

GRADED_INPUTS: Final = (
    "material", "material_subtype", "packaging_format", "packaging_level", "weight_grams", "use_contexts", "svhc",
    "components",
)  # fmt: skip
"""The columns of a stored SKU that a grade depends on, in the order of `grade_rows`."""

Answer: TypeAlias = tuple[str, float | None, bool]

_IDS: Final = re.compile(r'"id": ?"[^"]*",?')
_NO_GRAPH: Final = (None, "[]")


def grade_rows(rows: Iterable[tuple[Any, ...]], rules: RuleSet) -> list[Answer]:
    """Grade, score and provisional of each row of `GRADED_INPUTS`.

    `use_contexts` is Postgres array text such as `{food,takeaway}`, `svhc` and `components` are JSON text; null where
    there is none.
    """
    return [_graded(_deciding(row), rules) for row in rows]


def _deciding(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """What of a row decides: with a graph its weights count, without one only whether the body weighs anything."""
    *others, weight, contexts, svhc, graph = row
    if graph in _NO_GRAPH:
        return (*others, weight if weight is None else float(weight > 0), contexts, svhc, None)
    return (*others, None, contexts, svhc, _IDS.sub("", graph))


@lru_cache(maxsize=32_768)
def _graded(row: tuple[Any, ...], rules: RuleSet) -> Answer:
    record = dict(zip(GRADED_INPUTS, row, strict=True))
    contexts, svhc, components = record["use_contexts"], record["svhc"], record["components"]
    record["use_contexts"] = contexts.strip("{}").split(",") if contexts else ()
    record["svhc"] = orjson.loads(svhc) if svhc else None
    record["components"] = orjson.loads(components) if components else ()
    assessed = assess(record, rules)
    return assessed.result.grade, stored(assessed.result.score), is_provisional(record, assessed, rules)
