"""Finds stored records that are false by today's rules, or that nobody can be sure of; nothing is rewritten.

`pcds doctor` and the page of the portfolio list each with the reason, by company: a person decides what is done. Each
kind has its own module, which finds; this one knows them all.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

from pipelines.answers.misapplied import find_misapplied
from pipelines.answers.parts import described
from pipelines.declarations.declare import Inputs
from pipelines.declarations.differing import changed_declarations, double_declarations
from pipelines.figures.compute import loaded_catalogue
from pipelines.writing.unitless import held_values
from schemas.json_values import JsonObject
from services.contradicted_declarations import find_contradicted
from services.doctor import find_codes
from warehouse import snapshots
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Connection


class Looked(NamedTuple):
    """What is looked at: the rows of the session's company and its snapshot, by the rules and the day of today."""

    conn: Connection
    rulesets: Rulesets
    today: date
    company_id: UUID
    data_dir: Path


def find(looked: Looked) -> dict[str, list[JsonObject]]:
    """Return the findings by kind, each kind's in its own order; a kind without findings is empty."""
    return {kind: list(found(looked)) for kind, found in KINDS.items()}


def _codes(looked: Looked, *, collide: bool) -> Iterator[JsonObject]:
    for finding in find_codes(looked.conn):
        if finding.collides is collide:
            yield {"record": finding.record, "code": finding.form, "held": list(finding.codes)}


def _collisions(looked: Looked) -> Iterator[JsonObject]:
    return _codes(looked, collide=True)


def _unreachable(looked: Looked) -> Iterator[JsonObject]:
    return _codes(looked, collide=False)


def _values_without_unit(looked: Looked) -> Iterator[JsonObject]:
    """Yield values with the status that the unit of their limit implies: a contradiction refuses the next write."""
    for held in held_values(looked.conn, looked.rulesets.active(looked.conn)):
        yield {"sku_id": str(held.sku_id), "sku_code": held.sku_code, **asdict(held.found)}


def _misapplied_answers(looked: Looked) -> Iterator[JsonObject]:
    for answer in find_misapplied(looked.conn):
        in_words = {"asked_part": described(answer.asked), "written_part": described(answer.written_to)}
        yield {**answer._asdict(), **in_words}


def _changed_declarations(looked: Looked) -> Iterator[JsonObject]:
    """Yield kept declarations that the company's current snapshot contradicts; tonnes as numbers."""
    snapshot, conn = snapshots.current(looked.data_dir, looked.company_id), looked.conn
    inputs = Inputs(snapshot, loaded_catalogue(conn), looked.rulesets.active(conn)) if snapshot else None
    for found in changed_declarations(conn, inputs):
        yield {name: float(value) if isinstance(value, Decimal) else value for name, value in found.items()}


def _double_declarations(looked: Looked) -> Iterator[JsonObject]:
    yield from ({**found} for found in double_declarations(looked.conn))


def _declarations_against_record(looked: Looked) -> Iterator[JsonObject]:
    """Yield valid declarations of conformity that the record of their own item contradicts, with each fact."""
    for found in find_contradicted(looked.conn, looked.rulesets.active(looked.conn), looked.today):
        yield {
            "doc_id": str(found.doc_id),
            "reference": found.reference,
            "issued_on": None if found.issued_on is None else found.issued_on.isoformat(),
            "sku_id": str(found.sku_id),
            "sku_code": found.sku_code,
            "facts": [fact.message for fact in found.facts],
        }


KINDS: Final[Mapping[str, Callable[[Looked], Iterator[JsonObject]]]] = {
    "collisions": _collisions,
    "unreachable": _unreachable,
    "values_without_unit": _values_without_unit,
    "misapplied_answers": _misapplied_answers,
    "changed_declarations": _changed_declarations,
    "double_declarations": _double_declarations,
    "declarations_against_record": _declarations_against_record,
}
"""Every kind of finding by the name under which it is reported. `/metrics` counts each (`pcds_records{kind}`); a new
one has its case in `deploy/prometheus/alerts.test.yaml` and a sentence in docs/operations.md, which a test asks for.
"""
