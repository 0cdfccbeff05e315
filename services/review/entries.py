"""Files an entry of the review queue, once however often that is repeated, and says how the parts that it names differ.

A payload is JSON, and by kind it is:

    supplier_answer      {"components", "contact", "comment"}: `schemas.suppliers`, with `request_id` beside it
    sku_update           {"changes", "component_changes"}: the fields of `schemas.skus.inputs.SkuInput` that are to
                         change, and fields of single components by their `id`
    doc_draft            {"reference", …}: the name of the declaration of conformity, and its prepared content
    supplier_document    {"type", "filename", "sha256", …}: the document's metadata (`schemas.files`)

The first two keep in `asked` what the parts that they name were: the facts by which a part is known, type, material,
polymer or grade, position and weight. The rows and the pages of the queue are `warehouse.review`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple, cast
from uuid import UUID

from uuid_utils import uuid7

from schemas.actors import Actor
from schemas.issues import Issue
from schemas.json_values import JsonMapping
from schemas.messages import Message
from schemas.refusals import Refused, require
from schemas.skus.types import Component, PartFacts
from warehouse import files, review, suppliers
from warehouse.audit import ledger
from warehouse.files import File
from warehouse.operate.sessions import Connection
from warehouse.review import Entry
from warehouse.skus import history, store
from warehouse.suppliers import Request


def file(
    conn: Connection,
    actor: Actor,
    kind: str,
    payload: Mapping[str, object],
    *,
    sku_id: UUID | None = None,
    request_id: UUID | None = None,
    filing_key: bytes | None = None,
) -> Entry:
    """File an entry in the caller's transaction, whose session has the company set, and enter it into the ledger.

    A second filing under the same `filing_key` (a digest of what is filed and by whom) returns the first entry, as
    it stands now, and files nothing.
    """
    if filing_key is not None:
        review.lock_filing(conn, actor.company_id, filing_key)
        if already_filed := review.filed_as(conn, filing_key):
            return already_filed
    if kind == "sku_update" and sku_id is not None and (ids := named_ids(kind, payload)):
        payload = {**payload, "asked": facts_by_id(store.of_id(conn, sku_id) or (), ids)}
    values = {"kind": kind, "sku_id": sku_id, "request_id": request_id, "payload": payload}
    entry_id, by = UUID(str(uuid7())), actor.origin
    filed_by = {"filed_by_type": by.actor_type, "filed_by_id": by.actor_id, "filed_by_name": by.actor_name}
    filing = {"id": entry_id, "company_id": actor.company_id, "filing_key": filing_key, "filed_at": actor.now}
    review.add(conn, values | filing | filed_by)
    filed = load_entry(conn, entry_id)
    stored_values = {name: value for name, value in values.items() if value is not None}
    ledger.enter(conn, actor, f"{filed.resource}.filed", filed.id, before=None, after=stored_values)
    return filed


def load_entry(conn: Connection, entry_id: UUID) -> Entry:
    """Return an entry of the session's company. Raises `NotThere`."""
    return require(review.find_entry(conn, entry_id))


MOST_FILES: Final = 20
"""Files that a supplier may attach to one request."""


def attach(
    conn: Connection, actor: Actor, file: File, *, request_id: UUID | None = None, entry_id: UUID | None = None
) -> None:
    """Store the record of a file whose bytes have arrived, for a supplier's request or an entry that is filed already.

    The caller has the request locked, so that concurrent files are counted one after the other. Raises `Refused`.
    """
    if request_id is not None and review.count_of_request(conn, request_id) >= MOST_FILES:
        sentence = Message(
            "A request takes at most {most} documents; answer with those that are there.", most=MOST_FILES
        )
        raise Refused([Issue("too_long", sentence, "file")])
    belongs_to = {"company_id": actor.company_id, "request_id": request_id, "entry_id": entry_id}
    review.add_file(conn, file, belongs_to | {"created_at": actor.now})


MOST_SHARED: Final = 100
"""Files that a supplier may attach to the rows of one enquiry."""


def attach_to_rows(conn: Connection, actor: Actor, file: File, *, enquiry_id: UUID, row_numbers: Sequence[int]) -> bool:
    """Store the record of a file that is about all parts of these rows; False where it is attached to them already.

    The caller has the enquiry locked. Raises `Refused`.
    """
    attached = review.of_enquiry(conn, enquiry_id)
    same = (file.sha256, file.filename, file.type, list(row_numbers))
    if same in [(other.sha256, other.filename, other.type, rows) for other, rows in attached]:
        return False
    if len(attached) >= MOST_SHARED:
        sentence = Message(
            "An enquiry takes at most {most} documents; answer with those that are there.", most=MOST_SHARED
        )
        raise Refused([Issue("too_long", sentence, "file")])
    belongs_to = {"company_id": actor.company_id, "request_id": None, "entry_id": None, "created_at": actor.now}
    review.add_file(conn, file, belongs_to | {"enquiry_id": enquiry_id, "row_numbers": list(row_numbers)})
    return True


def accept_files(conn: Connection, actor: Actor, entry: Entry) -> None:
    """Record the entry's files as technical files of its SKU, each with its entry in the ledger."""
    for file, component_ids in review.evidence_of(conn, entry.id):
        assert entry.sku_id is not None, "what comes with files is about a SKU"
        files.record(conn, actor, entry.sku_id, file, component_ids=component_ids)


FACTS: Final = ("component_type", "material_family", "polymer_or_grade", "position_in_sku", "weight_g")
"""In the order in which they are shown. *Position* is `position_in_sku`, never the place in the list."""
_KIND: Final = ("component_type", "material_family", "polymer_or_grade")


class AskedPart(NamedTuple):
    """A part that was asked about: its id, what it was then (None: not known), what it is now (None: it is gone)."""

    id: str
    asked: PartFacts | None
    now: PartFacts | None

    @property
    def is_gone(self) -> bool:
        """Return whether the SKU has it no longer."""
        return self.now is None

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
        f"{weight:.15g} g" if weight is not None else None,
    ]
    details = ", ".join(filter(None, about))
    return f"{facts['component_type']} ({details})" if details else facts["component_type"]


def differences(at_request: PartFacts, now: PartFacts) -> tuple[str, ...]:
    """Return the names of the facts that differ."""
    before, after = cast(Mapping[str, object], at_request), cast(Mapping[str, object], now)
    return tuple(name for name in FACTS if before[name] != after[name])


def is_another(at_request: PartFacts, now: PartFacts, moved: Sequence[PartFacts] = ()) -> bool:
    """Return whether the part that has the id now is another than the one that was asked about.

    It is where type, material or polymer are recorded for both and differ, where position and weight both are others,
    or where the part that was asked about came to stand under another id (`moved`: what other ids have come to be). A
    fact that was added later, a position or a weight alone may have been corrected.
    """
    before, after = cast(Mapping[str, object], at_request), cast(Mapping[str, object], now)
    others = {name for name in differences(at_request, now) if None not in (before[name], after[name])}
    return (
        bool(others & set(_KIND))
        or {"position_in_sku", "weight_g"} <= others
        or (at_request != now and at_request in moved)
    )


def named_ids(kind: str, payload: JsonMapping) -> list[str]:  # stored JSON
    """Return the ids of the parts that an entry of the review queue is about, each once."""
    if kind == "supplier_answer":
        ids = [answer["component_id"] for answer in payload.get("components") or ()]
    elif kind == "sku_update":
        lines = payload.get("changes", {}).get("components") or ()
        ids = [change["id"] for change in (*(payload.get("component_changes") or ()), *lines) if change.get("id")]
    else:
        ids = []
    return list(dict.fromkeys(map(str, ids)))


Memory = dict[str, PartFacts]
"""What parts were, by id."""


def remembered_parts(conn: Connection, request: Request) -> Memory:
    """Return what the parts of a request were when it was made."""
    if request.asked is not None:
        return request.asked
    return _at(conn, request.sku_id, request.created_at, [str(component_id) for component_id in request.component_ids])


def _remembered_of(conn: Connection, entry: Entry) -> Memory:
    """Return what the parts of an entry were when they were asked about; of a proposal, when it was filed."""
    if (kept := entry.payload.get("asked")) is not None:
        memory: Memory = kept
        return memory
    request = suppliers.find_request(conn, entry.request_id) if entry.request_id else None
    if request is not None:
        return remembered_parts(conn, request)
    ids = named_ids(entry.kind, entry.payload)
    return _at(conn, entry.sku_id, entry.filed_at, ids) if entry.sku_id and ids else {}


def _at(conn: Connection, sku_id: UUID, at: datetime, ids: Sequence[str]) -> Memory:
    return facts_by_id(history.lines_at(conn, sku_id, at) or (), ids)


def asked_parts(conn: Connection, entry: Entry, lines: Sequence[Component]) -> tuple[AskedPart, ...]:
    """Return each part that an entry is about, as it was asked about and as it is among these lines."""
    if not (ids := named_ids(entry.kind, entry.payload)):
        return ()
    memory, now = _remembered_of(conn, entry), {line["id"]: facts_of(line) for line in lines}
    return tuple(AskedPart(line_id, memory.get(line_id), now.get(line_id)) for line_id in ids)


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
    findings: list[Misapplied] = []
    for answer in review.of_company(conn):
        kept = answer.payload.get("asked") or answer.asked or {}
        then = {line["id"]: facts_of(line) for line in answer.lines_asked}
        met = {line["id"]: facts_of(line) for line in answer.lines_met}
        for part in named_ids(answer.kind, answer.payload):
            at_request, written_to = kept.get(part) or then.get(part), met.get(part)
            if at_request is None or written_to is None:
                continue
            moved = [facts for line_id, facts in met.items() if line_id != part and then.get(line_id) != facts]
            if is_another(at_request, written_to, moved):
                findings.append(
                    Misapplied(
                        entry_id=answer.entry_id,
                        kind=answer.kind,
                        sku_id=answer.sku_id,
                        sku_code=answer.sku_code,
                        component_id=part,
                        asked=at_request,
                        written_to=written_to,
                        filed_by=answer.filed_by,
                        decided_by=answer.decided_by,
                        decided_at=answer.decided_at,
                    )
                )
    return findings
