"""Puts SKUs back to an earlier version: its values become the next version, refused, graded and stored as any write.

What belongs here: the rows and their storing. What does not: which SKUs, and which version (`pipelines.imports.undo`).
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from compliance.ruleset import RuleSet
from pipelines.writing.grade import grade
from pipelines.writing.refuse import refuse
from pipelines.writing.unitless import judge
from schemas.issues import Issue
from warehouse.audit.origin import Origin
from warehouse.sessions import Connection
from warehouse.skus import earlier
from warehouse.skus.columns import Column, Table
from warehouse.skus.store import stage, store
from warehouse.skus.tables import DERIVED_COLUMNS, VALUE_COLUMNS


def restore(
    conn: Connection,
    company_id: UUID,
    wanted: Mapping[UUID, tuple[int, int]],
    *,
    origin: Origin,
    now: datetime,
    rules: RuleSet,
    dry_run: bool,
) -> list[tuple[str, Issue]]:
    """Store the values of earlier versions as the next ones; return code and fault of each SKU that the law refuses.

    `wanted` has the present version of each SKU, which is locked, and the version to restore. A restored value names
    the import that it first came from. With `dry_run` nothing is graded or stored, which no refusal waits for.
    """
    rows = earlier.versions(conn, [(sku_id, before) for sku_id, (_, before) in wanted.items()])
    versions = [wanted[UUID(sku_id)][0] + 1 for sku_id in rows["id"]]
    added: dict[str, Column] = {name: [None] * len(rows) for name in DERIVED_COLUMNS}
    added |= {"row": list(range(len(rows))), "version": versions, "outcome": ["updated"] * len(rows)}
    merged = rows.with_columns(added)
    faults = {fault.row: fault.issue for fault in [*refuse(merged, rules, now.date()), *judge(merged, rules)]}
    refused = [(merged["sku_code"][row], issue) for row, issue in faults.items()]
    if dry_run:
        return refused
    merged = grade(merged.where([row not in faults for row in merged["row"]]), rules)
    for import_id, group in _by_import(merged).items():
        stage(conn, group, VALUE_COLUMNS)
        store(conn, company_id, group, VALUE_COLUMNS, origin=origin, now=now, import_id=import_id, resource="sku")
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
