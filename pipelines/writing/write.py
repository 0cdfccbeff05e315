"""Writes a patch: resolves, locks, merges, refuses, grades and stores its rows in the caller's transaction.

Every write of SKUs comes here, validated: POST and PUT with one row, a batch with up to 1 000, an import's chunk with
some thousands. `services.skus.write` (for JSON) and `imports.process` (for files) open the transaction, and repeat it
when writers collide.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Final
from uuid import UUID

import polars as pl
from uuid_utils import uuid7

from compliance.ruleset import RuleSet
from compliance.substances import UnitlessValue, unitless_values
from pipelines.writing import refuse
from pipelines.writing.merge import grade, merge
from pipelines.writing.patch import Patch, Prepared, RowIssue, resolve
from schemas.actors import Actor, Origin
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import quote
from warehouse.companies import queries as queries_companies
from warehouse.companies.queries import Skus
from warehouse.operate.objects import Objects
from warehouse.operate.sessions import Connection, after_commit, savepoint
from warehouse.skus import archive, portfolio, queries
from warehouse.skus.store import stage, store
from warehouse.skus.tables import VALUE_COLUMNS, Table


@dataclass(frozen=True, slots=True)
class HeldValue:
    """A stored value without a unit, with its SKU."""

    sku_id: UUID
    sku_code: str
    value: UnitlessValue


def held_values(conn: Connection, rules: RuleSet) -> list[HeldValue]:
    """Return the values without a unit of the session's company, by SKU, whether a rule contradicts them or not."""
    return [
        HeldValue(holder.sku_id, holder.sku_code, value)
        for holder in portfolio.holders(conn)
        for value in unitless_values(holder.entries, holder.components or [], rules)
    ]


class PlanLimitReached(Exception):  # noqa: N818  (the name of the published code)
    """The write would exceed the plan's limit; nothing was written."""

    code = "plan_limit_reached"

    def __init__(self, limit: int, held: int, new: int) -> None:
        """`held` counts the company's SKUs, `new` the distinct codes that it does not have yet."""
        super().__init__(
            Message(
                "The plan holds {limit} SKUs; {held} are held and this would add {new}.",
                limit=limit,
                held=held,
                new=new,
            )
        )
        self.limit, self.held, self.new = limit, held, new


class Apart(Exception):  # noqa: N818  (no fault)
    """Requests cannot be written together; nothing was written, and each is to be written by itself."""


def counted(conn: Connection, company_id: UUID) -> Skus:
    """Return how many SKUs the session's company has and may have."""
    skus = queries_companies.skus(conn, company_id)
    assert skus is not None, "a session's company has a row and a counter"
    return skus


def check(conn: Connection, company_id: UUID, before: Skus, *, new: int, written: int = 0) -> None:
    """Raise `PlanLimitReached` where `new` more SKUs exceed the limit; lock the counter until the commit.

    `before` is what `counted` returned in this transaction; `written` of the new ones are in the counter since.
    """
    if before.limit is None or not new:
        return
    limit, count, *_ = queries_companies.skus_locked(conn, company_id) or before
    if limit is not None and count - written + new > limit:
        raise PlanLimitReached(limit, count - written, new)


def check_codes(conn: Connection, company_id: UUID, codes: Sequence[str], *, keep_archived: bool) -> None:
    """Do the same for a file before it is accepted, with those of its distinct codes that the company does not have.

    With `keep_archived` those of archived SKUs, which its rows will not bring back, are not new; nor are former codes,
    whose rows are rejected.
    """
    limit, count, _, has_former = counted(conn, company_id)
    if limit is None:
        return
    count_before = len(queries.existing_codes(conn, codes)) if keep_archived else queries.count_of(conn, codes)
    former = queries.codes_of_today(conn, codes) if has_former else {}
    new = len(set(codes)) - count_before - len(former)
    if count + new > limit:
        raise PlanLimitReached(limit, count, new)


_ALWAYS_READ: Final = (
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
    "heavy_metals",
    "markets",
    "volumes",
)
"""The columns that grading, refusing and merging read besides those that a patch gives."""
_UNITS: Final = {"sku_code", "volumes"}
"""The columns of a write of units alone, which no value of a substance holds up."""


class _Stopwatch:
    """Measures the seconds of each step, for the metadata of a run."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - started


def prepare(
    conn: Connection,
    patch: Patch,
    returning_codes: Collection[str] = (),
    *,
    now: datetime,
    rules: RuleSet,
    whole_rows: bool,
    locking: bool,
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> Prepared:
    """Do everything up to storing, in a session that has the company set; write nothing.

    With `whole_rows` the merged rows have every column, else those that the patch gives and those in `_ALWAYS_READ`.
    Without `locking` another writer may change the rows meanwhile: `write_patch` checks that. `returning_codes` are
    those of SKUs that the write brings back from the archive: what they become is judged whole. `renamed` as for
    `merge`.
    """
    watch, requested = _Stopwatch(), patch
    with watch.step("resolve"):
        patch, library, errors = resolve(conn, patch)
        patch = patch.without([error.row for error in errors])
    with watch.step("read"):
        columns = VALUE_COLUMNS if whole_rows else (*patch.presence.names, *_ALWAYS_READ)
        stored = portfolio.read(conn, patch.values["sku_code"], columns, now.date(), locking=locking)
    with watch.step("merge"):
        merged, faults = merge(patch, stored, library, rules, renamed=renamed)
    with watch.step("refuse"):
        faults += refuse.admit(patch, merged)
        faults += refuse.refuse_write(patch, merged, stored, rules, now.date(), returning_codes=returning_codes)
        faults += refuse.judge(merged, rules) if set(patch.presence.names) - _UNITS else []
        rejected = {fault.row for fault in faults}
        merged = merged.where([row not in rejected for row in merged["row"]]) if rejected else merged
    with watch.step("grade"):
        merged = grade(merged, rules)
    versions = dict(stored.rows(("sku_code", "version")))
    grades = dict(stored.rows(("sku_code", "recyclability_grade")))
    return Prepared(requested, merged, errors + faults, versions, grades, rules, watch.seconds)


def stage_rows(conn: Connection, prepared: Prepared, source: pl.DataFrame | None = None) -> Prepared:
    """Return it with the ids and versions to store; copy its changed rows to the database's staging table.

    It locks nothing. `source` is that of `write_patch`, which follows in the same transaction.
    """
    if prepared.changes_nothing:
        return prepared
    watch = _Stopwatch()
    with watch.step("stage"):
        merged = _with_ids(prepared.merged)
        changed = _changed(merged, source)
        stage(conn, changed, prepared.patch.presence.names)
    return replace(prepared, merged=merged, staged=changed, seconds={**prepared.seconds, **watch.seconds})


_ARCHIVED: Final = Message(
    "The SKU is archived and stays so, because archived is keep. Leave the row out, or send archived as return."
)


def _bring_back(
    conn: Connection,
    actor: Actor,
    prepared: Prepared,
    prepare_again: Callable[[Patch, Collection[str]], Prepared],
    *,
    import_id: UUID | None,
    dry_run: bool,
) -> Prepared:
    """Put the archived SKUs of the patch back, and return what `prepare_again` makes of its rows and their codes then.

    A row that is rejected brings nothing back. A dry run does all of it, and takes it back. `prepared` comes back as it
    is where none of its codes is archived.
    """
    requested = patch = prepared.patch
    faults: list[RowIssue] = []
    while codes := list(_lock_archived(conn, prepared, patch)):
        with savepoint(conn) as attempt:
            archive.bring_back(conn, actor, codes, import_id=import_id)
            again = prepare_again(patch, codes)
            rejected = set(codes) - set(again.merged["sku_code"])
            attempt.keep = not rejected and not dry_run
        if not rejected:
            returned = replace(again, patch=requested, errors=again.errors + faults, returned=frozenset(codes))
            return _graded_today(returned)
        rows = {row for row, code in patch.values.rows(("row", "sku_code")) if code in rejected}
        faults += [fault for fault in again.errors if fault.row in rows]
        patch = patch.without(rows)
    if not faults:
        return prepared
    again = prepare_again(patch, ())
    return replace(again, patch=requested, errors=again.errors + faults)


def _lock_archived(conn: Connection, prepared: Prepared, patch: Patch) -> dict[str, int]:
    """Lock the archived SKUs of the patch and return their versions by code; `prepared` found the others stored."""
    new = [code for code in patch.values["sku_code"] if code not in prepared.versions]
    return archive.lock_versions(conn, new)


def _without_archived(conn: Connection, prepared: Prepared, prepare_again: Callable[[Patch], Prepared]) -> Prepared:
    """Return it with the rows of archived SKUs rejected, which stay archived, whatever else is wrong with them.

    The other rows are prepared anew: what was staged has all of them.
    """
    archived = _lock_archived(conn, prepared, prepared.patch)
    rows = {row: code for row, code in prepared.patch.values.rows(("row", "sku_code")) if code in archived}
    if not rows:
        return prepared
    faults = [RowIssue(row, Issue("sku_archived", _ARCHIVED, "sku_code")) for row in rows]
    prepared_again = prepare_again(prepared.patch.without(rows))
    return replace(prepared_again, patch=prepared.patch, errors=prepared_again.errors + faults)


def _refused_codes(conn: Connection, prepared: Prepared) -> list[RowIssue]:
    """Return a fault for each row of a new code that a renamed SKU had before: it would make a second SKU of one."""
    new = {code: row for row, code in prepared.patch.values.rows(("row", "sku_code")) if code not in prepared.versions}
    today = queries.codes_of_today(conn, list(new))
    return [RowIssue(new[code], former_code(code, today[code])) for code in sorted(today)]


def former_code(code: str, today: str) -> Issue:
    """Return the fault of a code that a SKU had before it was renamed; `today` is its code now."""
    sentence = Message(
        "{former} was renamed to {code}; send that code. Free the former one where it shall name a new SKU.",
        former=quote(code),
        code=quote(today),
    )
    return Issue("sku_code_former", sentence, "sku_code")


def _graded_today(prepared: Prepared) -> Prepared:
    """Return it with the returned rows graded by the rules of the day: a regrade does not find archived ones."""
    rows = prepared.merged.rows(("sku_code", "ruleset_version", "outcome"))
    outcomes = [
        "updated" if code in prepared.returned and version != prepared.rules.version else outcome
        for code, version, outcome in rows
    ]
    return replace(prepared, merged=grade(prepared.merged.with_columns({"outcome": outcomes}), prepared.rules))


def _as_updated(prepared: Prepared) -> Prepared:
    """Return it with its returned rows updated: to come back is a change, whatever else the write changes."""
    if not prepared.returned:
        return prepared
    outcomes = [
        "updated" if outcome == "unchanged" and code in prepared.returned else outcome
        for code, outcome in prepared.merged.rows(("sku_code", "outcome"))
    ]
    return replace(prepared, merged=prepared.merged.with_columns({"outcome": outcomes}))


def write_patch(
    conn: Connection,
    actor: Actor,
    patch: Patch,
    *,
    rules: RuleSet,
    dry_run: bool = False,
    source: pl.DataFrame | None = None,
    import_id: UUID | None = None,
    ahead: Prepared | None = None,
    resource: str = "sku",
    keep_archived: bool = False,
    renamed: Mapping[str, str] = MappingProxyType({}),
    origins: Mapping[int, Origin] = MappingProxyType({}),
) -> Prepared:
    """Write one patch in the caller's transaction, whose session has the company set; return what was written.

    `source` has `row`, `import_sheet` and `import_line` for the rows of a file. `ahead` is the patch prepared without
    locks, and perhaps staged: it is used if no other writer has changed its rows since and `rules` is still the
    rule-set that graded it. `resource` is the name of the written record in the audit. An archived SKU comes back, or
    with `keep_archived` its row is rejected. A row of a code that a renamed SKU had before is rejected; `renamed` has
    the new codes of stored SKUs, which nobody else has. Raises `PlanLimitReached` if the new codes would exceed the
    plan's limit, before anything is written. `origins` are those of rows that are each a request by itself, by their
    numbers: each is a link of the ledger. Raises `Apart` where one of these brings an archived SKU back.
    """
    whole_rows = dry_run or import_id is None
    again = partial(prepare, conn, now=actor.now, rules=rules, whole_rows=whole_rows, locking=True, renamed=renamed)
    prepared = ahead if ahead is not None and ahead.rules is rules and _is_current(conn, ahead) else again(patch)
    if len(prepared.versions) < len(patch.values):
        skus = counted(conn, actor.company_id)
        refused = _refused_codes(conn, prepared) if skus.has_former else []
        if refused:
            prepared = again(patch.without([fault.row for fault in refused]))
        if skus.has_archived and keep_archived:
            prepared = _without_archived(conn, prepared, again)
        elif skus.has_archived:
            prepared = _bring_back(conn, actor, prepared, again, import_id=import_id, dry_run=dry_run)
        if not (dry_run and import_id):  # an import's dry run is never refused on quota (interface v1, Limits)
            returned = len(prepared.returned)
            new = prepared.merged["outcome"].count("created") + returned
            check(conn, actor.company_id, skus, new=new, written=0 if dry_run else returned)
        if refused:
            prepared = replace(prepared, patch=patch, errors=prepared.errors + refused)
    if origins and prepared.returned:
        raise Apart
    if dry_run or prepared.changes_nothing:
        return _as_updated(prepared)
    if prepared.staged is None:
        prepared = stage_rows(conn, prepared, source)
    assert prepared.staged is not None, "a write that changes something was staged"
    watch = _Stopwatch()
    with watch.step("store"):
        changed, columns = prepared.staged, patch.presence.names
        each = [origins[row] for row in changed["row"]] if origins else ()
        store(conn, actor, changed, columns, import_id=import_id, resource=resource, origins=each)
    return _as_updated(replace(prepared, seconds={**prepared.seconds, **watch.seconds}))


def _is_current(conn: Connection, ahead: Prepared) -> bool:
    """Lock the rows that were read for the preparation, and return whether their versions are the same.

    A preparation that changes nothing needs no lock. A code that was not stored then has no row to lock: if another
    writer has stored one since, `store` fails at the unique index, and the whole transaction is repeated.
    """
    if ahead.changes_nothing or not ahead.versions:
        return True
    return portfolio.lock_versions(conn, list(ahead.versions)) == ahead.versions


def _with_ids(merged: Table) -> Table:
    """Return the rows with a new id for each created one and the next version for each changed one."""
    versions = zip(merged["version"], merged["outcome"], strict=True)
    return merged.with_columns(
        {
            "id": [identity or str(uuid7()) for identity in merged["id"]],
            "version": [(version or 0) + (outcome != "unchanged") for version, outcome in versions],
        }
    )


def _changed(merged: Table, source: pl.DataFrame | None) -> Table:
    """Return the rows to store, each with the sheet and line of its file, if it came from a file."""
    changed = merged.where([outcome != "unchanged" for outcome in merged["outcome"]])
    if source is None:
        return changed.with_columns(dict.fromkeys(("import_sheet", "import_line"), [None] * len(changed)))
    places = pl.DataFrame({"row": changed["row"]}).join(source, on="row", how="left", maintain_order="left")
    return changed.with_columns({name: places[name].to_list() for name in ("import_sheet", "import_line")})


class StorageFull(PlanLimitReached):
    """The file would exceed the plan's storage; nothing was stored. `limit`, `held` and `new` are bytes."""

    def __init__(self, limit: int, held: int, new: int) -> None:
        """Add to the message what an operator can do."""
        super().__init__(limit, held, new)
        message = Message(
            "The plan stores {limit} bytes of technical files and uploads; {held} are held and this would add {new}. "
            "Ask the operator for a larger plan.",
            limit=limit,
            held=held,
            new=new,
        )
        self.args = (message,)


def admit(
    conn: Connection, objects: Objects, company_id: UUID, *, new_bytes: int, now: datetime, dry_run: bool = False
) -> None:
    """Check that the company may store a file of this size, in its session; raise `StorageFull` where it may not.

    Files that make room are removed when the caller's transaction has committed.
    """
    if (limit := queries_companies.storage_locked(conn, company_id)) is None:
        return
    stored = queries_companies.stored_bytes(conn)
    if stored + new_bytes > limit:
        stored -= _free_bytes(conn, objects, stored + new_bytes - limit, now)
    if stored + new_bytes > limit and not dry_run:
        raise StorageFull(limit, stored, new_bytes)


def _free_bytes(conn: Connection, objects: Objects, wanted: int, now: datetime) -> int:
    """Give up exports and uploads of dry runs until so many bytes are free or none is left; return the bytes freed."""
    freed, removed = 0, []
    for file in queries_companies.replaceable(conn):
        if freed >= wanted:
            break
        removed.append(file)
        freed += file.size_bytes
    queries_companies.removed(conn, removed, now)
    after_commit(conn, partial(objects.remove, *(file.key for file in removed)))
    return freed
