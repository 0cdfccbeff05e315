"""Builds the record that a review entry would write: the stored record with the changes of the entry.

A supplier answers for single lines of a graph, and the write path takes graphs whole: the other lines are sent as they
are stored, all with their ids. A field that the supplier left out or sent as null is not answered and stays.
"""

from collections.abc import Mapping, Sequence
from typing import Final, cast
from uuid import UUID

from schemas.issues import Issue
from schemas.messages import Message
from schemas.sku import Component, SkuPatch, Substances, SupplierAnswer
from warehouse.review.entries import Entry
from warehouse.sessions import Connection
from warehouse.skus import graphs
from warehouse.skus import queries as skus
from warehouse.skus.graphs import Locked

_NO_ANSWER: Final[SupplierAnswer] = {}
_WRITING_KINDS: Final = frozenset({"supplier_answer", "sku_update"})


class Conflict(Exception):  # noqa: N818  (an answer to the person who decides, not a fault)
    """The entry cannot be decided as asked, and nothing was written; `issues` are those of a refused record."""

    code = "conflict"

    def __init__(self, message: str, issues: Sequence[Issue] = ()) -> None:
        super().__init__(message)
        self.issues = tuple(issues)


def writes_sku(entry: Entry) -> bool:
    """Return whether accepting the entry writes a SKU."""
    return entry.kind in _WRITING_KINDS


def build_record(conn: Connection, entry: Entry, *, seen_version: int | None = None) -> SkuPatch:
    """Return what an entry would write that `writes_sku`; its SKU is locked until the transaction ends.

    `seen_version` is the SKU's version that the decision rests on. Raises `Conflict` where the SKU has another one by
    now, is archived, or no longer has the components that were answered for.
    """
    if entry.sku_id is None:
        return _build_new(conn, entry.payload["changes"])
    graph = lock_present(conn, entry.sku_id)
    if seen_version not in (None, graph.version):
        raise Conflict(
            Message("The SKU was changed since you opened this page. Look at the comparison again, then decide.")
        )
    if entry.kind == "sku_update":
        changes: SkuPatch = entry.payload["changes"]
        if of_lines := entry.payload.get("component_changes"):
            changes = {**changes, "components": change_lines(graph.lines, of_lines)}
        return {**changes, "sku_code": graph.sku_code}
    return {"sku_code": graph.sku_code, "components": merge_answers(graph.lines, entry.payload["components"] or ())}


def lock_present(conn: Connection, sku_id: UUID) -> Locked:
    """Return the SKU that an entry is about, locked until the transaction ends. Raises `Conflict` if it is archived."""
    found = graphs.lock_sku(conn, sku_id)
    if found is None:
        raise Conflict(
            Message("The item is archived. Bring it back first, then decide; or reject this without bringing it back.")
        )
    return found


def _build_new(conn: Connection, changes: SkuPatch) -> SkuPatch:
    """Return the record of a SKU that did not exist when it was proposed. Raises `Conflict` where it exists now."""
    if skus.id_of(conn, changes["sku_code"]) is not None:
        raise Conflict(
            Message(
                "A SKU {code} exists by now. Reject this, and propose a change of that SKU.", code=changes["sku_code"]
            )
        )
    return changes


def change_lines(lines: Sequence[Component], changes: Sequence[Mapping[str, object]]) -> list[Component]:
    """Return the lines of a stored graph, some with changed fields by their `id`; null clears, all else stays.

    Raises `Conflict` where a line is not in the graph any more.
    """
    by_id = {str(change["id"]): change for change in changes}
    if unknown := by_id.keys() - {line["id"] for line in lines}:
        raise Conflict(
            Message(
                "{count} of the components to change are not part of the SKU (any more): {ids}.",
                count=len(unknown),
                ids=", ".join(sorted(unknown)),
            )
        )
    return [_changed_line(line, by_id.get(line["id"], {})) for line in lines]


def _changed_line(line: Component, change: Mapping[str, object]) -> Component:
    changed: dict[str, object] = {**line, **change}
    if isinstance(declared := change.get("substances"), Mapping):
        changed["substances"] = {**line.get("substances", {}), **declared}
    return cast(Component, changed)


def merge_answers(lines: Sequence[Component], answers: Sequence[SupplierAnswer]) -> list[Component]:
    """Return the lines of a stored graph with a supplier's answers in place of their old values.

    Raises `Conflict` where one of them is not in the graph any more.
    """
    by_id = {answer["component_id"]: answer for answer in answers}
    if removed := by_id.keys() - {line["id"] for line in lines}:
        raise Conflict(
            Message(
                "{count} of the components that the supplier answered for are no longer part of the SKU. "
                "Reject the answer and ask again for the components that it has now.",
                count=len(removed),
            )
        )
    return [_merge_line(line, by_id.get(line["id"], _NO_ANSWER)) for line in lines]


def _merge_line(line: Component, answer: SupplierAnswer) -> Component:
    answered: dict[str, object] = {
        name: value for name, value in answer.items() if value is not None and name != "component_id"
    }
    if (declared := answer.get("substances")) is not None:
        answered["substances"] = {**line.get("substances", {}), **_with_source(declared)}
    return cast(Component, {**line, **answered})


def _with_source(substances: Substances) -> Substances:
    """Return a supplier's declarations; one without a source is the supplier's own attestation."""
    return {
        name: {**entry, "source": entry.get("source") or "supplier_attestation"}
        for name, entry in substances.items()
        if entry is not None
    }
