"""Answers what-if questions without filing anything: a grade after changes, and changes that reach a wished grade.

The grade after changes is the dry run of the same write (`services.review.compare`), so that the two cannot differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import NamedTuple
from uuid import UUID

from compliance import grading
from compliance.grading import improvements
from schemas.actors import Actor
from schemas.json_values import JsonMapping
from schemas.skus.types import Component
from services.review import compare
from services.review.compare import Comparison
from services.skus import detail as detail_skus
from warehouse.operate.sessions import Connection
from warehouse.review import Entry
from warehouse.rules import Rulesets
from warehouse.skus import queries, store


class Way(NamedTuple):
    """The grade now with what it asks for, and changes of the packaging that reach another grade."""

    trace: JsonMapping
    now: grading.Grade
    reached: list[improvements.Reached]


def unfiled(
    actor: Actor, sku_id: UUID, changes: Mapping[str, object], component_changes: Sequence[Mapping[str, object]]
) -> Entry:
    """Return the entry that a proposal of the actor would be, before it is filed."""
    return Entry(
        id=sku_id,
        kind="sku_update",
        state="open",
        sku_id=sku_id,
        request_id=None,
        payload=payload_of(changes, component_changes),
        filed_by_type=actor.origin.actor_type,
        filed_by_id=actor.origin.actor_id,
        filed_by_name=actor.origin.actor_name,
        filed_at=actor.now,
        decided_by_name=None,
        decided_at=None,
        reason=None,
        sku_code=None,
        sku_name=None,
    )


def payload_of(changes: Mapping[str, object], component_changes: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return the payload of a proposal: fields of the SKU, and fields of single lines of its graph by their ids."""
    return {"changes": dict(changes)} | ({"component_changes": list(component_changes)} if component_changes else {})


def compared(
    conn: Connection,
    actor: Actor,
    sku_id: UUID,
    changes: Mapping[str, object],
    component_changes: Sequence[Mapping[str, object]],
    *,
    rulesets: Rulesets,
) -> Comparison:
    """Compare a SKU with what these changes would make of it; nothing is written."""
    return compare.compare(conn, actor, unfiled(actor, sku_id, changes, component_changes), rulesets=rulesets)


def lines_of(conn: Connection, sku_id: UUID, component_ids: Iterable[str]) -> list[Component]:
    """Return the lines of a SKU that name one of these library components."""
    wanted = set(component_ids)
    return [line for line in store.of_id(conn, sku_id) or [] if line.get("component_id") in wanted]


def way_to(conn: Connection, sku_id: UUID, target: str, *, today: date, rulesets: Rulesets) -> Way:
    """Return what would bring a SKU of the session's company to a grade or a better one."""
    row = queries.find_sku(conn, sku_id, today)
    assert row is not None, "the caller has found it"
    record, rules = detail_skus.record(row), rulesets.active(conn)
    trace = grading.explain(record, rules)
    return Way({**trace}, grading.grade(record, rules), improvements.toward(record, rules, target))
