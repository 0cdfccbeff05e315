"""Defines the tools of what happened: changes of records, what waits for a decision, answers that are awaited."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Annotated, Final, Literal
from uuid import UUID

import orjson
from pydantic import Field

from connector.principal import current_principal
from connector.tools.kit import (
    SHORT,
    FittingLimit,
    Found,
    ItemId,
    Limit,
    Offset,
    SkuCode,
    ToolSet,
    instant,
    record_id,
    record_names,
    refusal,
    stated,
)
from connector.tools.skus import named_records
from schemas import texts
from schemas.json_values import JsonObject
from schemas.suppliers import AwaitedSupplier, SupplierRequest
from services import audit
from services.audit import Change, Changes, Record, Wanted
from services.review.entries import asked_parts, described, remembered_parts
from warehouse import library, review, suppliers
from warehouse.operate.sessions import Connection
from warehouse.review import Entry
from warehouse.skus import archive, search, store
from warehouse.skus import queries as skus
from warehouse.skus.search import Search

_SOURCE: Final = "The company's audit log"
_RECORDS: Final = "The company's own packaging records in this service"
_MOST_FIELDS: Final = 12
_SIZES: Final = (15, 10, 7, 5, 3, 2, 1)
"""How many changes are shown: the most of these with which the answer is short, at least one."""
_CODES: Final = 10
"""The most codes of items that are named of each supplier."""
_REMINDED: Final = "A reminder is sent on the website, under suppliers; no tool sends one."


class HistoryTools(ToolSet):
    """The tools of history, which read Postgres in a thread."""

    TITLES = (
        ("list_changes", "Who changed what, and when"),
        ("list_supplier_requests", "Suppliers who have not answered"),
        ("list_review_queue", "Review queue"),
    )

    def list_changes(
        self,
        *,
        sku_code: SkuCode = None,
        id: ItemId = None,  # noqa: A002  (the contract's name)
        field: Annotated[str | None, Field(description="Part of a field's name: weight, …")] = None,
        actor: Annotated[str | None, Field(description="Only by this `who` or `actor_id`.")] = None,
        since: Annotated[str | None, Field(description="From this day or instant on (ISO, UTC).")] = None,
        until: Annotated[str | None, Field(description="To this day or instant.")] = None,
        limit: FittingLimit = None,
        offset: Offset = 0,
    ) -> Found:
        """Who changed what, when, and from what to what: of one item, or everything since a day.

        An import is one line: actor with its id lists what it wrote.
        """
        wanted = Wanted(_instant(since), _instant(until, end=True), actor, field)
        with self._service.writes.company(current_principal().company_id) as conn:
            sku_id = None if id is None and sku_code is None else record_id(conn, id, sku_code)
            for size in _SIZES if limit is None else (limit,):
                if sku_id is None:
                    changes = audit.changes(conn, wanted, limit=size, offset=offset)
                else:
                    record = Record("sku", *skus.names_of(conn, [sku_id])[str(sku_id)])
                    changes = audit.changes_of_sku(conn, sku_id, record, wanted, limit=size, offset=offset)
                if changes is None:
                    return self._without_log(conn, wanted.since, size, offset)
                answer = self._told(conn, changes, offset)
                if len(answer.model_dump_json()) <= SHORT:
                    break
        return answer

    def _told(self, conn: Connection, changes: Changes, offset: int) -> Found:
        """Return the answer of a page of changes."""
        end, rows = offset + len(changes.page), list(map(_change, changes.page))
        answer: JsonObject = {
            "changes": rows,
            "names": record_names(conn, rows),
            "total": changes.total,
            "next_offset": end if end < changes.total else None,
        }
        if changes.counts:
            answer["counts"] = dict(changes.counts)
        next_step = (
            f"Call again with offset {end} for more of {changes.total}."
            if end < changes.total
            else "Name who and when."
        )
        if changes.back_to is not None:
            answer["looked_back_to"] = instant(changes.back_to)
            next_step += (
                f" Only changes since {instant(changes.back_to)} were looked at; ask for one item, or with a later "
                "since."
            )
        return Found(as_of=self._service.clock.now(), sources=[_SOURCE], next_step=next_step, answer=answer)

    def _without_log(self, conn: Connection, begin: datetime | None, limit: int, offset: int) -> Found:
        now = self._service.clock.now()
        since_begin = Search(updated_since=begin, sort="-updated_at")
        page = search.page(since_begin, limit, offset, now).read(conn)
        items = [{name: item[name] for name in ("sku_code", "name", "updated_at")} for item in page["data"]]
        return Found(
            as_of=now,
            sources=[_RECORDS],
            next_step="Say that the plan has no audit log: who changed which field is not shown, only which items.",
            answer={"audit_log": False, "changed_items": items, "total": page["pagination"]["total"]},
        )

    def list_supplier_requests(
        self,
        supplier: Annotated[str | None, Field(description="Its name, or words of it.")] = None,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> Found:
        """Which suppliers have not answered our data requests yet, since when they wait, and about which items.

        The longest waiting comes first, with the day that an answer is due. A rejected answer is awaited again.
        """
        now, end_step = self._service.clock.now(), _REMINDED
        with self._service.writes.company(current_principal().company_id) as conn:
            if supplier is not None:
                supplier, was_asked = _asked(conn, supplier)
                answered = "was asked, and no answer is awaited of it" if was_asked else "was never asked for data here"
                end_step = f"{texts.in_quotes(supplier)} {answered}."
            page = suppliers.awaited_page(now, limit, offset, supplier_name=supplier, codes=_CODES).read(conn)
            ids = [request_id for supplier in page["data"] for request_id in supplier["request_ids"]]
            marked = {
                request["id"]: _marks(request)
                for request in suppliers.requests_page(now, len(ids), 0, ids=ids).read(conn)["data"]
            }
        requests, total = page["data"], page["pagination"]["total"]
        end = offset + len(requests)
        return Found(
            as_of=now,
            sources=["The company's requests to suppliers in this service"],
            next_step=f"Call again with offset {end} for more of {total}."
            if end < total
            else (end_step if not total else _REMINDED),
            answer={
                "waiting": [_waiting(supplier, marked) for supplier in requests],
                "total": total,
                "next_offset": end if end < total else None,
            },
        )

    def list_review_queue(
        self,
        state: Annotated[Literal["open", "decided"], Field(description="Whether it waits.")] = "open",
        limit: FittingLimit = None,
        offset: Offset = 0,
    ) -> Found:
        """What waits for a person's release in the review queue, or was decided, by whom and why.

        Suppliers' answers, proposals, documents and drafts (limit 1: with its points): of which item, from whom.
        Archived items and gone parts are marked.
        """
        for size in _SIZES if limit is None else (limit,):
            with self._service.writes.company(current_principal().company_id) as conn:
                entries, total = review.page(conn, state=state, limit=size, offset=offset)
                rows = [_entry(conn, entry, whole=limit == 1) for entry in entries]
                names = record_names(conn, rows)
            end = offset + len(rows)
            answer = Found(
                as_of=self._service.clock.now(),
                sources=["The company's review queue in this service"],
                next_step=f"Call again with offset {end} for more of {total}."
                if end < total
                else "A person decides on the website, under review; no tool decides.",
                answer={"entries": rows, "names": names, "total": total, "next_offset": end if end < total else None},
            )
            if len(answer.model_dump_json()) <= SHORT:
                break
        return answer


def _asked(conn: Connection, text: str) -> tuple[str, bool]:
    """Return the supplier's name that a text is, and whether it was ever asked: by that name, else by all of its words.

    Raises the tool's refusal where several suppliers have the words, or none: no answer would read as nothing owed.
    """
    names = {name.casefold(): name for name in suppliers.asked_names(conn)}
    folded = text.casefold().strip()
    if folded in names:
        return names[folded], True
    fitting = [name for key, name in names.items() if all(word in key for word in folded.split())]
    if len(fitting) > 1:
        several = "; ".join(map(texts.in_quotes, fitting[:_CODES]))
        raise refusal("invalid_body", f"{texts.in_quotes(text)} stands in the names of several suppliers: {several}.")
    if fitting:
        return fitting[0], True
    held = library.names(conn, "supplier", [UUID(record.id) for record in named_records(conn, "supplier", text)])
    if not held:
        raise refusal("not_found", "The company has no supplier of this id.")
    name = next((name for name in held.values() if name.casefold() in names), next(iter(held.values())))
    return names.get(name.casefold(), name), name.casefold() in names


def _waiting(supplier: AwaitedSupplier, marked: Mapping[UUID, JsonObject]) -> JsonObject:
    """Return a supplier who is awaited, with the items named that are archived or have lost a part."""
    row: JsonObject = stated({name: value for name, value in supplier.items() if name != "request_ids"})
    marks = dict(zip(supplier["sku_codes"], (marked[each] for each in supplier["request_ids"]), strict=True))
    of_items = {code: marks_of for code, marks_of in marks.items() if marks_of}
    return row | ({"marked": of_items} if of_items else {})


def _marks(request: SupplierRequest) -> JsonObject:
    """Return whether the item of a request is archived, and which parts of it are gone."""
    parts = [described(part["was"]) if part["was"] else str(part["component_id"]) for part in request["gone_parts"]]
    return {**({"archived": True} if request["archived"] else {}), **({"gone_parts": parts} if parts else {})}


_LONG: Final = ("asked", "draft", "translations")
"""Members of an entry that are as long as a document, or that say again what it is about."""
_MOST_SAID: Final = 2_000
"""Characters of an entry from which on only the names of its members are told."""


def _entry(conn: Connection, entry: Entry, *, whole: bool) -> JsonObject:
    """Return an entry of the review queue with what it says, `whole` with the points of a draft.

    The parts of a supplier's answer are in words.
    """
    said = {name: value for name, value in entry.payload.items() if name not in _LONG}
    if "changes" in said:  # the code that the item had then names it, and is no change
        said["changes"] = {name: value for name, value in said["changes"].items() if name != "sku_code"}
    if draft := entry.payload.get("draft"):
        said["to_complete"] = draft["missing"]
        if whole:
            said["points"] = {point["heading"]: [*point["lines"], *point["notes"]] for point in draft["points"]}
    graph = said.get("changes", {}).get("components")
    if (changes := said.get("component_changes") or graph) and entry.sku_id and entry.state == "open":
        lines = store.of_id(conn, entry.sku_id) or archive.lines_of(conn, entry.sku_id)
        gone_ids = {part.id for part in asked_parts(conn, entry, lines) if part.is_gone}
        told = [{**line, **({"gone": True} if line.get("id") in gone_ids else {})} for line in changes]
        said |= {"changes": {**said["changes"], "components": told}} if graph else {"component_changes": told}
    request = suppliers.find_request(conn, entry.request_id) if entry.request_id else None
    if request is not None:
        parts = remembered_parts(conn, request)
        gone = {part["component_id"] for part in request.gone_parts} if entry.state == "open" else ()
        said["components"] = [
            {
                **({"part": described(parts[line["component_id"]])} if line["component_id"] in parts else {}),
                **line,
                **({"gone": True} if line["component_id"] in gone else {}),
            }
            for line in said.get("components") or ()
        ]
        if files := review.of_entry(conn, entry.id):
            said["documents"] = [
                {"type": each.type, "filename": each.filename, "sha256": each.sha256} for each in files
            ]
    row = {
        "kind": entry.kind,
        "sku_code": entry.sku_code,
        "name": entry.sku_name,
        "archived": entry.sku_archived or None,
        "state": entry.state,
        "filed_at": instant(entry.filed_at),
        "filed_by": entry.filed_by_name or entry.filed_by_type,
        "says": said if whole or len(orjson.dumps(said)) <= _MOST_SAID else {"too_long": sorted(said)},
        "decided_at": entry.decided_at and instant(entry.decided_at),
        "decided_by": entry.decided_by_name,
        "reason": entry.reason,
        "note_to_supplier": entry.note,
    }
    return {name: value for name, value in row.items() if value is not None}


def _instant(text: str | None, *, end: bool = False) -> datetime | None:
    """Return an instant, or the begin of a day, with `end` its end. Raises the tool's refusal."""
    if text is None:
        return None
    try:
        if len(text) == len("2026-01-01"):
            return datetime.combine(date.fromisoformat(text), time.max if end else time(), UTC)
        at = datetime.fromisoformat(text)
    except ValueError:
        name = "until" if end else "since"
        raise refusal("invalid_format", f"{name}: Send a day such as 2026-11-16, or an instant in ISO 8601.") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _change(change: Change) -> JsonObject:
    """Return a change as the answer has it, without what is empty."""
    record, is_sku = change.record, change.record.type.startswith("sku")
    entry: JsonObject = {
        "at": change.at,
        "who": change.who,
        "person": change.person,
        "action": change.action,
        "sku_code" if is_sku else "code": record.code,
        "name": record.name,
        "reason": change.reason,
    }
    if change.counts is not None:
        entry |= {"actor_id": change.actor_id, "counts": dict(change.counts)}
    else:
        entry["fields"] = [field._asdict() for field in change.fields[:_MOST_FIELDS]]
    if len(change.fields) > _MOST_FIELDS:
        entry["more_fields"] = len(change.fields) - _MOST_FIELDS
    return {name: value for name, value in entry.items() if value is not None}
