"""The write path: a patch goes in, every row has an outcome, and one transaction holds all that changed.

validate (the doors) → resolve → lock → merge → refuse → grade → store. POST and PUT are one row, a batch up to 1 000,
an import's chunk some thousands: there is no second road. `write_patch` works inside a caller's transaction; what
opens it, and repeats it when writers collide, is `records` for JSON and `imports.process` for files.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import polars as pl
import psycopg
from uuid_utils import uuid7

from compliance.ruleset import RuleSet
from pipelines.steps import plans
from pipelines.steps.admit import admit
from pipelines.steps.grade import grade
from pipelines.steps.merge import merge
from pipelines.steps.origin import Origin
from pipelines.steps.patch import Patch, RowIssue
from pipelines.steps.refuse import refuse
from pipelines.steps.resolve import resolve
from pipelines.steps.store import store
from pipelines.steps.stored import lock
from pipelines.steps.table import Table
from warehouse.tables.skus import VALUE_COLUMNS


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What became of each row of a patch.

    `merged`: the accepted rows as they are held now (or would be), with `row` and `outcome`, of an import's chunk only
    the columns that it gives or that were judged; `errors`: the faults of the rejected ones; `seconds`: by step.
    """

    patch: Patch
    merged: Table
    errors: list[RowIssue]
    seconds: dict[str, float]

    @property
    def counts(self) -> Counter[str]:
        """Rows by outcome: created, updated, unchanged, rejected."""
        counts = Counter(self.merged["outcome"])
        counts["rejected"] = len(self.patch.values) - len(self.merged)
        return counts


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
        columns = patch.given.names if import_id else VALUE_COLUMNS
        stored = lock(conn, patch.values["sku_code"], columns, now.date())
    with watch.step("merge"):
        merged, faults = merge(patch, stored, library, rules)
    with watch.step("refuse"):
        faults += admit(patch, merged)
        faults += refuse(merged, rules, now.date())
        merged = _without(merged, {fault.row for fault in faults})
    with watch.step("grade"):
        merged = grade(merged, rules)
    if not (dry_run and import_id):  # an import's dry run is never refused on quota (interface v1, Limits)
        plans.check(conn, company_id, new=merged["outcome"].count("created"))
    if not dry_run:
        with watch.step("store"):
            merged = _with_ids(merged)
            changed = _changed(merged, source)
            if len(changed):
                store(conn, company_id, changed, patch.given.names, origin=origin, now=now, import_id=import_id)
    return Outcomes(whole, merged, errors + faults, watch.seconds)


def _without(merged: Table, rows: set[int]) -> Table:
    return merged.take([at for at, row in enumerate(merged["row"]) if row not in rows]) if rows else merged


def _with_ids(merged: Table) -> Table:
    """Created rows with a new id, every changed row with its next version."""
    versions = zip(merged["version"], merged["outcome"], strict=True)
    return merged.with_columns({
        "id": [identity or str(uuid7()) for identity in merged["id"]],
        "version": [(version or 0) + (outcome != "unchanged") for version, outcome in versions],
    })  # fmt: skip


def _changed(merged: Table, source: pl.DataFrame | None) -> Table:
    """The rows to store, each with the sheet and line of the file that it came from, if it came from one."""
    changed = merged.take([at for at, outcome in enumerate(merged["outcome"]) if outcome != "unchanged"])
    places = {} if source is None else {row: place for row, *place in source.iter_rows()}
    sheets, lines = (
        zip(*(places.get(row, (None, None)) for row in changed["row"]), strict=True) if changed else ((), ())
    )
    return changed.with_columns({"import_sheet": list(sheets), "import_line": list(lines)})
