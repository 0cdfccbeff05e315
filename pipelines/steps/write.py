"""The write path: a patch goes in, every row has an outcome, and one transaction holds all that changed.

validate (the doors) → resolve → lock → merge → refuse → grade → store. POST and PUT are one row, a batch up to 1 000,
an import's chunk some thousands: there is no second road. `write_patch` works inside a caller's transaction;
`write_records` is the whole of a JSON write with its transaction and its repetition when writers collide.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import polars as pl
import psycopg
from uuid_utils import uuid7

from compliance.ruleset import RuleSet
from pipelines.steps import plans
from pipelines.steps.grade import grade
from pipelines.steps.merge import merge
from pipelines.steps.origin import Origin
from pipelines.steps.patch import Patch, RowIssue
from pipelines.steps.refuse import refuse
from pipelines.steps.resolve import resolve
from pipelines.steps.store import store
from pipelines.steps.stored import lock

_OUTCOME: Final = (
    "row", "sku_code", "id", "outcome", "recyclability_grade", "recyclability_score", "grade_provisional",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What became of each row of a patch.

    `rows`: row, sku_code, id (null for what a dry run would create), outcome, grade, score, provisional; rejected
    rows have an outcome and nothing behind it. `merged`: the accepted rows as they are held now. `seconds`: by step.
    """

    rows: pl.DataFrame
    merged: pl.DataFrame
    errors: list[RowIssue]
    seconds: dict[str, float] = field(default_factory=dict)


class _Stopwatch:
    """Seconds by step, for the metadata of a run."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - begun


def write_patch(
    conn: psycopg.Connection[Any], company_id: UUID, patch: Patch, *, origin: Origin, now: datetime, rules: RuleSet,
    dry_run: bool = False, source: pl.DataFrame | None = None, import_id: UUID | None = None,
) -> Outcomes:  # fmt: skip
    """Write one patch in the caller's transaction, whose session has the company set.

    `source` has `row`, `import_sheet`, `import_line` for rows out of a file. Raises `plans.PlanLimitReached` when the
    new codes would pass the plan's limit, before anything is written.
    """
    watch = _Stopwatch()
    whole = patch
    with watch.step("resolve"):
        patch, library, errors = resolve(conn, patch)
        patch = patch.without([error.row for error in errors])
    with watch.step("lock"):
        stored = lock(conn, patch.values["sku_code"])
    with watch.step("merge"):
        merged, faults = merge(patch, stored, library, rules)
    with watch.step("refuse"):
        faults += refuse(merged, rules, now.date())
        merged = merged.filter(~pl.col("row").is_in([fault.row for fault in faults])) if faults else merged
    with watch.step("grade"):
        merged = grade(merged, rules)
    plans.check(conn, company_id, new=int((merged["outcome"] == "created").sum()))
    if not dry_run:
        merged = _with_ids(merged)
        changed = _staged(merged, source)
        with watch.step("store"):
            if len(changed):
                store(conn, company_id, changed, origin=origin, now=now, import_id=import_id)
    return Outcomes(_outcomes(whole, merged), merged, errors + faults, watch.seconds)


def _with_ids(merged: pl.DataFrame) -> pl.DataFrame:
    """Created rows with a new id, every changed row with its next version."""
    created = merged["outcome"] == "created"
    ids = [str(uuid7()) if new else old for new, old in zip(created, merged["id"], strict=True)]
    bump = (pl.col("outcome") != "unchanged").cast(pl.Int64)
    return merged.with_columns(
        pl.Series("id", ids, pl.String), (pl.col("version").fill_null(0) + bump).alias("version")
    )


def _staged(written: pl.DataFrame, source: pl.DataFrame | None) -> pl.DataFrame:
    changed = written.filter(pl.col("outcome") != "unchanged")
    if source is None:
        return changed.with_columns(
            pl.lit(None, pl.String).alias("import_sheet"), pl.lit(None, pl.Int64).alias("import_line")
        )
    return changed.join(
        source.select("row", "import_sheet", "import_line"), on="row", how="left", maintain_order="left"
    )


def _outcomes(patch: Patch, written: pl.DataFrame) -> pl.DataFrame:
    rows = patch.values.select("row", "sku_code").join(
        written.select(name for name in _OUTCOME if name != "sku_code"), on="row", how="left", maintain_order="left"
    )
    return rows.with_columns(pl.col("outcome").fill_null("rejected")).select(_OUTCOME)
