"""Brings archived SKUs back where a write has their codes: such a row is no new SKU, but the next version of the old.

What belongs here: which SKUs come back or stay archived, and what a dry run shows of it. What does not: the statements,
and archiving itself (`warehouse.skus.archive`).
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final
from uuid import UUID

from pipelines.writing.admit import Prepared, grade
from pipelines.writing.patch import Patch, RowIssue
from schemas.actors import Actor
from schemas.issues import Issue
from schemas.messages import Message
from warehouse.operate.sessions import Connection, savepoint
from warehouse.skus import archive

_ARCHIVED: Final = Message(
    "The SKU is archived and stays so, because archived is keep. Leave the row out, or send archived as return."
)


def bring_back(
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
            found = prepare_again(patch, codes)
            rejected = set(codes) - set(found.merged["sku_code"])
            attempt.keep = not rejected and not dry_run
        if not rejected:
            returned = replace(found, patch=requested, errors=found.errors + faults, returned=frozenset(codes))
            return _graded_today(returned)
        rows = {row for row, code in patch.values.rows(("row", "sku_code")) if code in rejected}
        faults += [fault for fault in found.errors if fault.row in rows]
        patch = patch.without(rows)
    if not faults:
        return prepared
    found = prepare_again(patch, ())
    return replace(found, patch=requested, errors=found.errors + faults)


def _lock_archived(conn: Connection, prepared: Prepared, patch: Patch) -> dict[str, int]:
    """Lock the archived SKUs of the patch and return their versions by code; `prepared` found the others stored."""
    new = [code for code in patch.values["sku_code"] if code not in prepared.versions]
    return archive.lock_versions(conn, new)


def keep_archived(conn: Connection, prepared: Prepared, prepare_again: Callable[[Patch], Prepared]) -> Prepared:
    """Return it with the rows of archived SKUs rejected, which stay archived, whatever else is wrong with them.

    The other rows are prepared anew: what was staged has all of them.
    """
    archived = _lock_archived(conn, prepared, prepared.patch)
    rows = {row: code for row, code in prepared.patch.values.rows(("row", "sku_code")) if code in archived}
    if not rows:
        return prepared
    faults = [RowIssue(row, Issue("sku_archived", _ARCHIVED, "sku_code")) for row in rows]
    found = prepare_again(prepared.patch.without(rows))
    return replace(found, patch=prepared.patch, errors=found.errors + faults)


def _graded_today(prepared: Prepared) -> Prepared:
    """Return it with the returned rows graded by the rules of the day: a regrade does not find archived ones."""
    rows = prepared.merged.rows(("sku_code", "ruleset_version", "outcome"))
    outcomes = [
        "updated" if code in prepared.returned and version != prepared.rules.version else outcome
        for code, version, outcome in rows
    ]
    return replace(prepared, merged=grade(prepared.merged.with_columns({"outcome": outcomes}), prepared.rules))


def as_updated(prepared: Prepared) -> Prepared:
    """Return it with its returned rows updated: to come back is a change, whatever else the write changes."""
    if not prepared.returned:
        return prepared
    outcomes = [
        "updated" if outcome == "unchanged" and code in prepared.returned else outcome
        for code, outcome in prepared.merged.rows(("sku_code", "outcome"))
    ]
    return replace(prepared, merged=prepared.merged.with_columns({"outcome": outcomes}))
