"""Finds what is false in a company's own records: codes from before they had one form, and declarations.

It reports and changes nothing: the company has to say which of two SKUs is meant, and whether to correct a declaration.
"""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict
from uuid import UUID

from pipelines.declarations.declare import Inputs
from pipelines.declarations.differing import (
    ChangedDeclaration,
    DoubleDeclaration,
    changed_declarations,
    double_declarations,
)
from pipelines.figures.compute import loaded_catalogue
from schemas import texts
from warehouse import codes as stored
from warehouse import snapshots
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Connection


@dataclass(frozen=True, slots=True)
class Finding:
    """Codes of one company that are stored in another form than new ones.

    With several `codes`, they are one code now: they collide. With a single one, callers that send it send `form`, so
    that a new record is made.
    """

    record: str
    form: str
    codes: tuple[str, ...]

    @property
    def collides(self) -> bool:
        """Return whether several records have the code."""
        return len(self.codes) > 1


class DeclarationFindings(TypedDict):
    """What `pipelines.declarations.differing` finds of one company; `changed` is None without a snapshot to compare."""

    changed: list[ChangedDeclaration] | None
    double: list[DoubleDeclaration]


def find_declarations(conn: Connection, company_id: UUID, data_dir: Path, rules: Rulesets) -> DeclarationFindings:
    """Return the kept declarations of the session's company that its current snapshot contradicts, and doubles."""
    snapshot = snapshots.current(data_dir, company_id)
    inputs = None if snapshot is None else Inputs(snapshot, loaded_catalogue(conn), rules.active(conn))
    return {
        "changed": None if inputs is None else changed_declarations(conn, inputs),
        "double": double_declarations(conn),
    }


def find_codes(conn: Connection) -> list[Finding]:
    """Return the findings of the session's company."""
    found = []
    for record in stored.RECORDS:
        by_form: defaultdict[str, set[str]] = defaultdict(set)
        for code in stored.unusual(conn, record):
            if (form := texts.code(code)) != code:
                by_form[form].add(code)
        for code in stored.among(conn, record, list(by_form)):
            by_form[code].add(code)
        found += [Finding(record, form, tuple(sorted(stored_codes))) for form, stored_codes in sorted(by_form.items())]
    return found
