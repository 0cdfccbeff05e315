"""The write path: a patch goes in, every row has an outcome, and one transaction holds all that changed.

validate (the doors) → resolve → lock → merge → refuse → grade → store. POST and PUT are one row, a batch up to 1 000,
an import's chunk some thousands: there is no second road. `write_patch` works inside a caller's transaction; what
opens it, and repeats it when writers collide, is `records` for JSON and `imports.process` for files.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

import polars as pl
from uuid_utils import uuid7

from compliance.ruleset import RuleSet
from pipelines.writing import plans
from pipelines.writing.admit import admit
from pipelines.writing.grade import grade
from pipelines.writing.merge import merge
from pipelines.writing.patch import Patch, RowIssue
from pipelines.writing.refuse import refuse
from pipelines.writing.resolve import resolve
from warehouse.audit.origin import Origin
from warehouse.sessions import Connection
from warehouse.skus import by_code
from warehouse.skus.columns import Table
from warehouse.skus.store import stage, store
from warehouse.skus.tables import VALUE_COLUMNS

_JUDGED: Final = (
    "sku_code",
    "material",
    "material_subtype",
    "weight_grams",
    "packaging_format",
    "packaging_level",
    "use_contexts",
    "svhc",
    "components",
    "food_contact",
    "pfas",
    "markets",
    "volumes",
)
"""What grading, refusing and merging look at besides what a patch gives."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a write would do, by the rows as they were read.

    `patch`: the rows asked for; `merged`: the accepted ones as they would be held, with `row` and `outcome`, of an
    import's chunk only the columns that it gives or that were judged; `errors`: the faults of the rejected ones;
    `versions`: of the stored rows that this follows from; `rules`: what it was graded with; `seconds`: by step;
    `staged`: the changed rows as `store` takes them, once they were carried to the database.
    """

    patch: Patch
    merged: Table
    errors: list[RowIssue]
    versions: dict[str, int]
    rules: RuleSet
    seconds: dict[str, float]
    staged: Table | None = None

    @property
    def counts(self) -> Counter[str]:
        """Rows by outcome: created, updated, unchanged, rejected."""
        counts = Counter(self.merged["outcome"])
        counts["rejected"] = len(self.patch.values) - len(self.merged)
        return counts

    @property
    def changes_nothing(self) -> bool:
        """Whether every accepted row is held already as it is."""
        return all(outcome == "unchanged" for outcome in self.merged["outcome"])


class _Stopwatch:
    """Seconds by step, for the metadata of a run."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - begun


def prepare(
    conn: Connection, patch: Patch, *, now: datetime, rules: RuleSet, whole_rows: bool, locking: bool
) -> Prepared:
    """Everything up to storing, in a session that has the company set; nothing is written.

    With `whole_rows` the merged rows have every column, else those that the patch gives and those that were judged.
    Without `locking` another writer may change the rows meanwhile: `write_patch` finds out.
    """
    watch, asked = _Stopwatch(), patch
    with watch.step("resolve"):
        patch, library, errors = resolve(conn, patch)
        patch = patch.without([error.row for error in errors])
    with watch.step("read"):
        columns = (*VALUE_COLUMNS, *by_code.INSTANTS) if whole_rows else (*patch.given.names, *_JUDGED)
        held = by_code.read(conn, patch.values["sku_code"], columns, now.date(), locking=locking)
    with watch.step("merge"):
        merged, faults = merge(patch, held, library, rules)
    with watch.step("refuse"):
        faults += admit(patch, merged)
        faults += refuse(merged, rules, now.date())
        merged = _without(merged, {fault.row for fault in faults})
    with watch.step("grade"):
        merged = grade(merged, rules)
    versions = dict(held.rows(("sku_code", "version")))
    return Prepared(asked, merged, errors + faults, versions, rules, watch.seconds)


def staged(conn: Connection, prepared: Prepared, source: pl.DataFrame | None = None) -> Prepared:
    """The same with ids and versions as they shall be stored, its changed rows carried to the database.

    That locks nothing. `source` as for `write_patch`, which is to follow in the same transaction.
    """
    if prepared.changes_nothing:
        return prepared
    watch = _Stopwatch()
    with watch.step("stage"):
        merged = _with_ids(prepared.merged)
        changed = _changed(merged, source)
        stage(conn, changed, prepared.patch.given.names)
    return replace(prepared, merged=merged, staged=changed, seconds={**prepared.seconds, **watch.seconds})


def write_patch(
    conn: Connection,
    company_id: UUID,
    patch: Patch,
    *,
    origin: Origin,
    now: datetime,
    rules: RuleSet,
    dry_run: bool = False,
    source: pl.DataFrame | None = None,
    import_id: UUID | None = None,
    ahead: Prepared | None = None,
    resource: str = "sku",
) -> Prepared:
    """Write one patch in the caller's transaction, whose session has the company set; returns what it did.

    `source` has `row`, `import_sheet`, `import_line` for rows out of a file. `ahead` is the patch prepared without
    locks, and perhaps staged: it is used where no other writer has changed its rows since and `rules` are still those
    that it was graded with. `origin` is who causes it. `resource` is what the audit calls the thing written. Raises
    `plans.PlanLimitReached` when the new codes would pass the plan's limit, before anything is written.
    """
    if ahead is not None and ahead.rules is rules and _still_holds(conn, ahead):
        prepared = ahead
    else:
        prepared = prepare(conn, patch, now=now, rules=rules, whole_rows=import_id is None, locking=True)
    if not (dry_run and import_id):  # an import's dry run is never refused on quota (interface v1, Limits)
        plans.check(conn, company_id, new=prepared.merged["outcome"].count("created"))
    if dry_run or prepared.changes_nothing:
        return prepared
    if prepared.staged is None:
        prepared = staged(conn, prepared, source)
    assert prepared.staged is not None, "what changes something was staged"
    watch = _Stopwatch()
    with watch.step("store"):
        changed, columns = prepared.staged, patch.given.names
        store(conn, company_id, changed, columns, origin=origin, now=now, import_id=import_id, resource=resource)
    return replace(prepared, seconds={**prepared.seconds, **watch.seconds})


def _still_holds(conn: Connection, ahead: Prepared) -> bool:
    """Lock the rows that the preparation follows from and see that they are still so.

    What changes nothing needs no lock. A code that was not held then has no row to lock: where another writer has made
    one since, the store meets it at the unique index, and the whole transaction is repeated.
    """
    if ahead.changes_nothing or not ahead.versions:
        return True
    return by_code.lock_versions(conn, list(ahead.versions)) == ahead.versions


def _without(merged: Table, rows: set[int]) -> Table:
    return merged.where([row not in rows for row in merged["row"]]) if rows else merged


def _with_ids(merged: Table) -> Table:
    """Created rows with a new id, every changed row with its next version."""
    versions = zip(merged["version"], merged["outcome"], strict=True)
    return merged.with_columns(
        {
            "id": [identity or str(uuid7()) for identity in merged["id"]],
            "version": [(version or 0) + (outcome != "unchanged") for version, outcome in versions],
        }
    )


def _changed(merged: Table, source: pl.DataFrame | None) -> Table:
    """The rows to store, each with the sheet and line of the file that it came from, if it came from one."""
    changed = merged.where([outcome != "unchanged" for outcome in merged["outcome"]])
    if source is None:
        return changed.with_columns(dict.fromkeys(("import_sheet", "import_line"), [None] * len(changed)))
    places = pl.DataFrame({"row": changed["row"]}).join(source, on="row", how="left", maintain_order="left")
    return changed.with_columns({name: places[name].to_list() for name in ("import_sheet", "import_line")})
