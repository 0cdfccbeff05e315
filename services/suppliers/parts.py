"""The facts by which a part is known: type, material, polymer or grade, position and weight; and how two differ."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple, cast
from uuid import UUID

from schemas.json_values import JsonMapping
from schemas.skus.types import Component, PartFacts
from warehouse.operate.sessions import Connection
from warehouse.review import entries
from warehouse.review.entries import Entry
from warehouse.skus import earlier
from warehouse.suppliers import requests
from warehouse.suppliers.requests import Request

FACTS: Final = ("component_type", "material_family", "polymer_or_grade", "position_in_sku", "weight_g")
"""In the order in which they are shown. *Position* is `position_in_sku`, never the place in the list."""
_KIND: Final = ("component_type", "material_family", "polymer_or_grade")


class AskedPart(NamedTuple):
    """A part that was asked about: its id, what it was then (None: not known), what it is now (None: it is gone)."""

    id: str
    asked: PartFacts | None
    now: PartFacts | None

    @property
    def differs(self) -> tuple[str, ...]:
        """Return the facts that are others now; empty where one side is not there to compare."""
        return differences(self.asked, self.now) if self.asked and self.now else ()


def facts_of(line: Component) -> PartFacts:
    """Return the facts of a line, null where they are not recorded."""
    fields: Mapping[str, object] = line
    return cast(PartFacts, {name: fields.get(name) for name in FACTS})


def facts_by_id(lines: Iterable[Component], wanted: Collection[str]) -> dict[str, PartFacts]:
    """Return the facts of the lines of these ids, by id."""
    return {line["id"]: facts_of(line) for line in lines if line["id"] in wanted}


def described(facts: PartFacts) -> str:
    """Return a part in English words: its type, and in brackets its material, position and weight."""
    position, weight = facts["position_in_sku"], facts["weight_g"]
    about = [
        facts["polymer_or_grade"] or facts["material_family"],
        f"position {position}" if position is not None else None,
        f"{weight:g} g" if weight is not None else None,
    ]
    known = ", ".join(filter(None, about))
    return f"{facts['component_type']} ({known})" if known else facts["component_type"]


def differences(asked: PartFacts, now: PartFacts) -> tuple[str, ...]:
    """Return the names of the facts that differ."""
    before, after = cast(Mapping[str, object], asked), cast(Mapping[str, object], now)
    return tuple(name for name in FACTS if before[name] != after[name])


def is_another(asked: PartFacts, now: PartFacts, moved: Sequence[PartFacts] = ()) -> bool:
    """Return whether the part that has the id now is another than the one that was asked about.

    It is where type, material or polymer are recorded for both and differ, where position and weight both are others,
    or where the part that was asked about came to stand under another id (`moved`: what other ids have come to be). A
    fact that was added later, a position or a weight alone may have been corrected.
    """
    before, after = cast(Mapping[str, object], asked), cast(Mapping[str, object], now)
    others = {name for name in differences(asked, now) if None not in (before[name], after[name])}
    return bool(others & set(_KIND)) or {"position_in_sku", "weight_g"} <= others or (asked != now and asked in moved)


def named_ids(kind: str, payload: JsonMapping) -> list[str]:  # stored JSON
    """Return the ids of the parts that an entry of the review queue is about, each once."""
    if kind == "supplier_answer":
        named = [answer["component_id"] for answer in payload.get("components") or ()]
    elif kind == "sku_update":
        lines = payload.get("changes", {}).get("components") or ()
        named = [change["id"] for change in (*(payload.get("component_changes") or ()), *lines) if change.get("id")]
    else:
        named = []
    return list(dict.fromkeys(map(str, named)))


Memory = dict[str, PartFacts]
"""What parts were, by id."""


def of_request(conn: Connection, request: Request) -> Memory:
    """Return what the parts of a request were when it was made."""
    if request.asked is not None:
        return request.asked
    return _at(conn, request.sku_id, request.created_at, [str(each) for each in request.component_ids])


def of_entry(conn: Connection, entry: Entry) -> Memory:
    """Return what the parts of an entry were when they were asked about; of a proposal, when it was filed."""
    if (kept := entry.payload.get("asked")) is not None:
        memory: Memory = kept
        return memory
    request = requests.of(conn, entry.request_id) if entry.request_id else None
    if request is not None:
        return of_request(conn, request)
    ids = named_ids(entry.kind, entry.payload)
    return _at(conn, entry.sku_id, entry.filed_at, ids) if entry.sku_id and ids else {}


def _at(conn: Connection, sku_id: UUID, at: datetime, ids: Sequence[str]) -> Memory:
    return facts_by_id(earlier.lines_at(conn, sku_id, at) or (), ids)


def asked_parts(conn: Connection, entry: Entry, lines: Sequence[Component]) -> tuple[AskedPart, ...]:
    """Return each part that an entry is about, as it was asked about and as it is among these lines."""
    if not (ids := named_ids(entry.kind, entry.payload)):
        return ()
    memory, now = of_entry(conn, entry), {line["id"]: facts_of(line) for line in lines}
    return tuple(AskedPart(each, memory.get(each), now.get(each)) for each in ids)


class Misapplied(NamedTuple):
    """An accepted answer or proposal: the part that it was about, and the one that it was written to.

    `kind` is that of the review entry; `filed_by` the supplier or connection, `decided_by` the person who accepted.
    """

    entry_id: UUID
    kind: str
    sku_id: UUID
    sku_code: str | None
    component_id: str
    asked: PartFacts
    written_to: PartFacts
    filed_by: str | None
    decided_by: str | None
    decided_at: datetime


def find_misapplied(conn: Connection) -> list[Misapplied]:
    """Return them for the session's company, the latest decision first, each part of an answer by itself.

    Decisions of this release are none: the person was shown what differs.
    """
    found: list[Misapplied] = []
    for answer in entries.of_company(conn):
        kept = answer.payload.get("asked") or answer.asked or {}
        then = {line["id"]: facts_of(line) for line in answer.lines_asked}
        met = {line["id"]: facts_of(line) for line in answer.lines_met}
        for part in named_ids(answer.kind, answer.payload):
            asked, written_to = kept.get(part) or then.get(part), met.get(part)
            if asked is None or written_to is None:
                continue
            moved = [facts for line_id, facts in met.items() if line_id != part and then.get(line_id) != facts]
            if is_another(asked, written_to, moved):
                found.append(
                    Misapplied(
                        entry_id=answer.entry_id,
                        kind=answer.kind,
                        sku_id=answer.sku_id,
                        sku_code=answer.sku_code,
                        component_id=part,
                        asked=asked,
                        written_to=written_to,
                        filed_by=answer.filed_by,
                        decided_by=answer.decided_by,
                        decided_at=answer.decided_at,
                    )
                )
    return found
