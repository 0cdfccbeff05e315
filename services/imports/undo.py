"""Takes the writes of an import back: each SKU returns to the version before it, a created one is archived.

Its units go back, too: what was placed stays in the figures (decisions §13), but these units never were.

A SKU that somebody has changed or archived since stays as it is, and is reported. All of it is one transaction of the
caller's; a second call finds nothing left to do.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple
from uuid import UUID

from compliance.ruleset import RuleSet
from pipelines.imports import beside
from pipelines.writing.merge import grade
from pipelines.writing.patch import of_kept
from pipelines.writing.refuse import judge, refuse
from schemas.actors import Actor
from schemas.imports.types import ImportUndoResult, UndoCounts, UndoKept
from schemas.issues import Issue
from schemas.messages import Message, message_of
from schemas.refusals import Refused, require
from warehouse import library
from warehouse.audit import ledger
from warehouse.imports import queries
from warehouse.operate.sessions import Connection
from warehouse.rules import Rulesets
from warehouse.skus import archive, history
from warehouse.skus.history import State
from warehouse.skus.store import stage, store
from warehouse.skus.tables import DERIVED_COLUMNS, VALUE_COLUMNS, Column, Table


def restore(
    conn: Connection, actor: Actor, wanted: Mapping[UUID, tuple[int, int]], *, rules: RuleSet, dry_run: bool
) -> list[tuple[str, Issue]]:
    """Store the values of earlier versions as the next ones; return code and fault of each SKU that the law refuses.

    `wanted` has the present version of each SKU, which is locked, and the version to restore. A restored value names
    the import that it first came from. With `dry_run` nothing is graded or stored, which no refusal waits for.
    """
    rows = history.versions(conn, [(sku_id, before) for sku_id, (_, before) in wanted.items()])
    ids = library.merged(conn)
    columns = ("brand_id", "manufacturing_site_id", "packing_site_id", "components") if ids else ()
    rows = rows.with_columns({name: [of_kept(text, ids) for text in rows[name]] for name in columns})
    versions = [wanted[UUID(sku_id)][0] + 1 for sku_id in rows["id"]]
    added: dict[str, Column] = {name: [None] * len(rows) for name in DERIVED_COLUMNS}
    added |= {"row": list(range(len(rows))), "version": versions, "outcome": ["updated"] * len(rows)}
    merged = rows.with_columns(added)
    faults = {fault.row: fault.issue for fault in [*refuse(merged, rules, actor.now.date()), *judge(merged, rules)]}
    refused = [(merged["sku_code"][row], issue) for row, issue in faults.items()]
    if dry_run:
        return refused
    merged = grade(merged.where([row not in faults for row in merged["row"]]), rules)
    for import_id, group in _by_import(merged).items():
        stage(conn, group, VALUE_COLUMNS)
        store(conn, actor, group, VALUE_COLUMNS, import_id=import_id, resource="sku")
    return refused


def _by_import(rows: Table) -> dict[UUID | None, Table]:
    """Return the rows by the import that their values came from: one statement stores those of one import."""
    places: defaultdict[str | None, set[int]] = defaultdict(set)
    for place, import_id in enumerate(rows["import_id"]):
        places[import_id].add(place)
    return {
        UUID(import_id) if import_id else None: rows.where([place in chosen for place in range(len(rows))])
        for import_id, chosen in places.items()
    }


_KEPT: Final[Mapping[State, Message]] = {
    "changed_since": Message("The SKU has been changed since the import; its values stay."),
    "archived_since": Message("The SKU has been archived since the import; bring it back first."),
}
_NOT_ENDED: Final = Message("Only an import that has written and has ended can be undone; this one has not.")
_UNDER_WAY: Final = Message("More requests than the limit allows; wait for the seconds in Retry-After.")
_REASON: Final = "Undo of the import {filename}."
_NAMED: Final = 100
"""SKUs that an answer names of those that stay as they are."""


class _Import(NamedTuple):
    status: str
    dry_run: bool
    filename: str


def undo(conn: Connection, actor: Actor, import_id: UUID, *, rulesets: Rulesets, dry_run: bool) -> ImportUndoResult:
    """Undo an import in the caller's transaction; with `dry_run` only say what it would do.

    Raise `NotThere`, and `Refused` for a dry run or an import that is worked on, and while an import of the company is
    being undone: another call would only wait, with a connection, for its locks.
    """
    record = require(queries.one(conn, import_id, _Import, _Import._fields))
    if record.dry_run or record.status not in ("completed", "failed"):
        raise Refused([Issue("invalid_format", _NOT_ENDED, "id")])
    if not queries.take_undo_turn(conn, actor.company_id):
        raise Refused([Issue("invalid_format", _UNDER_WAY)], "rate_limited")
    actor = actor.with_reason(actor.origin.reason or _REASON.format(filename=record.filename))
    touched = history.touched_by(conn, import_id, lock=not dry_run)
    states = Counter(sku.state for sku in touched)
    wanted = {
        sku.sku_id: (sku.version, sku.version_before)
        for sku in touched
        if sku.state == "restore" and sku.version is not None and sku.version_before is not None
    }
    refused = restore(conn, actor, wanted, rules=rulesets.active(conn), dry_run=dry_run) if wanted else []
    gone = {sku.sku_id: sku.version_before for sku in touched if sku.state == "archive"}
    resting = {sku.sku_id: sku.volumes_before for sku in touched if sku.state == "take_units"}
    kept: list[UndoKept] = [
        {"sku_code": sku.sku_code, "code": sku.state, "message": _KEPT[sku.state]}
        for sku in touched
        if sku.state in _KEPT
    ]
    kept += [{"sku_code": code, "code": issue.code, "message": message_of(issue.message)} for code, issue in refused]
    beside_restored, beside_kept = beside.take_back(conn, actor, import_id, dry_run=dry_run)
    kept += [
        {"sku_code": code, "code": "changed_since", "message": _KEPT["changed_since"]}
        for code in set(beside_kept.values()) - {sku["sku_code"] for sku in kept}
    ]
    counts: UndoCounts = {
        "restored": states["restore"] - len(refused) + len(beside_restored - {*wanted, *gone, *resting}),
        "archived": len(gone) + len(resting),
        "unchanged": states["undone"],
        "kept": len(kept),
    }
    if not dry_run and (counts["restored"] or counts["archived"]):
        archive.take_back(conn, actor, gone)
        archive.write_units(conn, actor, resting)
        queries.undone(conn, import_id, actor.now)
        after = {name: number for name, number in counts.items() if name != "unchanged"}
        ledger.enter(conn, actor, "import.undone", import_id, before=None, after=after)
    kept.sort(key=lambda sku: (sku["sku_code"], sku["code"]))
    return {"dry_run": dry_run, "counts": counts, "kept": kept[:_NAMED]}
