"""Merging: what the record would be after the write, and whether that differs from what is stored.

An omitted field stays, a null clears (interface v1, write semantics). Everything here is one pass over columns.
"""

from functools import lru_cache
from typing import Final

import polars as pl

from compliance.ruleset import RuleSet
from pipelines.steps import components, volumes
from pipelines.steps.patch import Patch, RowIssue
from pipelines.steps.resolve import Library
from warehouse.tables.skus import DERIVED_COLUMNS, VALUE_COLUMNS

_CARRIED: Final = ("id", "version", "created_at", "updated_at", *DERIVED_COLUMNS)


def merge(patch: Patch, stored: pl.DataFrame, library: Library, rules: RuleSet) -> tuple[pl.DataFrame, list[RowIssue]]:
    """One row per row of the patch, as it would be held, with `row` and `outcome` (created, updated, unchanged).

    Its value columns are those that `stored` has; the stored `id`, `version`, instants and derived columns come along,
    null where there is no stored row. Faults of a component line are found here, because a library component may fill
    what it lacks; such a row is in the answer too and is the caller's to reject.
    """
    values = pl.concat([patch.values, patch.given.select(pl.all().name.prefix("given:"))], how="horizontal")
    joined = values.join(
        stored.select(pl.all().name.prefix("stored:")),
        left_on="sku_code", right_on="stored:sku_code", how="left", maintain_order="left", coalesce=False,
    )  # fmt: skip
    issues: list[RowIssue] = []
    if "components" in patch.given.columns:
        joined, issues = _merge_graphs(joined, library, rules)
    if "volumes" in patch.given.columns:
        joined = _merge_volumes(joined)
    held = tuple(name for name in VALUE_COLUMNS if name in stored.columns)
    return joined.select(_expressions(tuple(patch.given.columns), held)), issues


@lru_cache(maxsize=1024)
def _expressions(given: tuple[str, ...], held: tuple[str, ...]) -> list[pl.Expr]:
    """The merged row for patches that give these columns; callers send the same columns again and again."""
    changed = pl.any_horizontal(
        pl.col(f"given:{name}") & pl.col(name).ne_missing(pl.col(f"stored:{name}")) for name in given
    )
    outcome = pl.when(pl.col("stored:id").is_null()).then(pl.lit("created"))
    return [
        pl.col("row"),
        *(pl.col(f"stored:{name}").alias(name) for name in _CARRIED),
        *(_merged(name, name in given).alias(name) for name in held),
        outcome.when(changed).then(pl.lit("updated")).otherwise(pl.lit("unchanged")).alias("outcome"),
    ]


def _merged(name: str, given: bool) -> pl.Expr:
    stored = pl.col(f"stored:{name}")
    return pl.when(pl.col(f"given:{name}")).then(pl.col(name)).otherwise(stored) if given else stored


def _merge_graphs(joined: pl.DataFrame, library: Library, rules: RuleSet) -> tuple[pl.DataFrame, list[RowIssue]]:
    """Each given draft as the canonical text that it would be stored as, ids taken from the stored graph."""
    issues: list[RowIssue] = []
    texts: list[str | None] = []
    columns = joined.select("row", "components", "given:components", "stored:components")
    for row, draft, given, stored in columns.iter_rows():
        if not given or draft is None:
            texts.append(None)
            continue
        lines, faults = components.complete(draft, library, rules)
        issues += [RowIssue(row, fault) for fault in faults]
        texts.append(None if faults else components.graph_text(lines, stored))
    return joined.with_columns(pl.Series("components", texts, pl.String)), issues


def _merge_volumes(joined: pl.DataFrame) -> pl.DataFrame:
    columns = joined.select("volumes", "stored:volumes").iter_rows()
    return joined.with_columns(
        pl.Series("volumes", [volumes.merged(stored, patch) for patch, stored in columns], pl.String)
    )
