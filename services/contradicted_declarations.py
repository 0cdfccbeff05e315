"""Finds issued declarations of conformity that the record of their own item contradicts by now.

They are from before the service refused to issue such a one, or the record was changed since. Nothing is rewritten: a
person corrects the record, or withdraws the declaration.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final
from uuid import UUID

from compliance import conformity
from compliance.ruleset import RuleSet
from pipelines.writing import present
from schemas.issues import Issue
from warehouse.declarations import queries as declarations
from warehouse.sessions import Connection
from warehouse.skus import archive

_AT_ONCE: Final = 500
"""Declarations whose items are read by one statement."""


@dataclass(frozen=True, slots=True)
class Contradicted:
    """One valid declaration that was issued here, its item, and the facts for which it would be refused today."""

    doc_id: UUID
    reference: str | None
    issued_on: date | None
    sku_id: UUID
    sku_code: str
    facts: tuple[Issue, ...]


def find_contradicted(conn: Connection, rules: RuleSet, today: date) -> Iterator[Contradicted]:
    """Yield those of the session's company, the newest first; the items of some of them may be archived."""
    valid = declarations.valid_of_items(conn, today)
    for first in range(0, len(valid), _AT_ONCE):
        part = valid[first : first + _AT_ONCE]
        ids = list({str(doc.sku_id) for doc in part})
        rows = {row["id"]: row for row, _ in archive.of_ids(conn, ids, today)}
        for doc in part:
            row = rows.get(str(doc.sku_id))
            facts = conformity.against(present.record(row), rules, on=today) if row else []
            if row and facts:
                yield Contradicted(doc.doc_id, doc.reference, doc.issued_on, doc.sku_id, row["sku_code"], tuple(facts))
