"""Compares a SKU with what an open entry would make of it, field by field, with the grade before and after.

The new values come from a dry run of the same write that accepting does, so that page and decision cannot differ;
nothing is stored. Paths are the contract's: `components[0].substances.pfas.status`.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType
from typing import Final, NamedTuple, Self, cast
from uuid import UUID

import orjson

from pipelines.writing import write
from schemas.actors import Actor
from schemas.issues import Issue
from schemas.json_values import JsonMapping, JsonObject
from schemas.messages import Message, from_json, message_of, stored_template
from schemas.refusals import Refused
from schemas.rules import AnnexVFlag
from schemas.skus.types import Component, SkuDetail, SkuPatch, SubstanceEntry, Substances, SupplierAnswer
from services.review.entries import AskedPart, asked_parts
from services.skus import detail as detail_skus
from services.skus.write import WriteOutcome, write_records
from warehouse import suppliers
from warehouse.operate.sessions import Connection
from warehouse.review import Entry
from warehouse.rules import Rulesets
from warehouse.skus import archive, queries, store
from warehouse.skus.store import Locked

_WRITING_KINDS: Final = frozenset({"supplier_answer", "sku_update"})


def conflict(sentence: Message, issues: Sequence[Issue] = ()) -> Refused:
    """Return why an entry cannot be decided as asked; `issues` are those of a record that was refused.

    Its first issue is of no field: that tells it from the refusals of what a person has filled in.
    """
    return Refused([Issue("invalid_format", sentence), *issues])


def is_conflict(refused: Refused) -> bool:
    """Return whether a refusal says that the entry cannot be decided as asked."""
    return refused.issues[0].field is None and refused.code == "invalid_body"


def writes_sku(entry: Entry) -> bool:
    """Return whether accepting the entry writes a SKU."""
    return entry.kind in _WRITING_KINDS


_ALL_GONE: Final = Message(
    "The parts that this would change are no longer part of the item. Reject it, and propose a change of the parts "
    "that it has now."
)


def build_record(
    conn: Connection, entry: Entry, *, seen_version: int | None = None, kept: Collection[str] = ()
) -> SkuPatch:
    """Return what an entry would write that `writes_sku`; its SKU is locked until the transaction ends.

    `seen_version` is the SKU's version that the decision rests on; `kept` are the parts of an answer that stay as the
    record has them. What a proposal would change of a part that is gone since it was filed is not taken over. Raises
    `Refused` where the SKU has another one by now, is archived, or no longer has any component that was answered for
    or that alone was to change.
    """
    if entry.sku_id is None:
        return _build_new(conn, entry.payload["changes"])
    graph = lock_present(conn, entry.sku_id)
    if seen_version not in (None, graph.version):
        raise conflict(
            Message("The SKU was changed since you opened this page. Look at the comparison again, then decide.")
        )
    if entry.kind == "sku_update":
        return {**_without_gone(entry, graph.lines), "sku_code": graph.sku_code}
    answers = [answer for answer in entry.payload["components"] or () if answer["component_id"] not in kept]
    return {"sku_code": graph.sku_code, "components": merge_answers(graph.lines, answers)}


def _without_gone(entry: Entry, held_lines: Sequence[Component]) -> SkuPatch:
    """Return the changes of a proposal without those of parts that are gone since it was filed.

    They stand in the graph that it sends, or are changes of single lines. Raises `Refused` where nothing else is left.
    """
    changes: SkuPatch = entry.payload["changes"]
    held, known = {line["id"] for line in held_lines}, entry.payload.get("asked") or {}

    def taken(lines: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
        return [line for line in lines if line.get("id") in held or line.get("id") not in known]

    of_lines, graph = entry.payload.get("component_changes"), changes.get("components")
    if not (of_lines or graph):
        return changes
    left = taken(of_lines or cast(Sequence[Mapping[str, object]], graph))
    if left:
        lines = change_lines(held_lines, left) if of_lines else cast(list[Component], left)
        return {**changes, "components": lines}
    others = cast(SkuPatch, {name: value for name, value in changes.items() if name != "components"})
    if not others.keys() - {"sku_code"}:
        raise conflict(_ALL_GONE)
    return others


def lock_present(conn: Connection, sku_id: UUID) -> Locked:
    """Return the SKU that an entry is about, locked until the transaction ends. Raises `Refused` if it is archived."""
    sku = store.lock_sku(conn, sku_id)
    if sku is None:
        raise conflict(
            Message("The item is archived. Bring it back first, then decide; or reject this without bringing it back.")
        )
    return sku


def _build_new(conn: Connection, changes: SkuPatch) -> SkuPatch:
    """Return the record of a SKU that did not exist when it was proposed. Raises `Refused` where it exists now."""
    if queries.id_of(conn, changes["sku_code"]) is not None:
        raise conflict(
            Message(
                "A SKU {code} exists by now. Reject this, and propose a change of that SKU.", code=changes["sku_code"]
            )
        )
    return changes


def change_lines(lines: Sequence[Component], changes: Sequence[Mapping[str, object]]) -> list[Component]:
    """Return the lines of a stored graph, some with changed fields by their `id`; null clears, all else stays.

    Raises `Refused` where a line is not in the graph.
    """
    by_id = {str(change["id"]): change for change in changes}
    if unknown := by_id.keys() - {line["id"] for line in lines}:
        raise conflict(
            Message(
                "{count} of the components to change are not part of the SKU (any more): {ids}.",
                count=len(unknown),
                ids=", ".join(sorted(unknown)),
            )
        )
    changed: list[dict[str, object]] = [{**line, **by_id.get(line["id"], {})} for line in lines]
    for line, after in zip(lines, changed, strict=True):
        if isinstance(declared := by_id.get(line["id"], {}).get("substances"), Mapping):
            after["substances"] = {**line.get("substances", {}), **declared}
    return cast(list[Component], changed)


def merge_answers(lines: Sequence[Component], answers: Sequence[SupplierAnswer]) -> list[Component]:
    """Return the lines of a stored graph with a supplier's answers in place of their old values.

    What was answered for parts that are not in the graph any more stays in the entry, and is not taken over. Raises
    `Refused` where that is so of every answer.
    """
    held = {line["id"] for line in lines}
    if answers and not any(answer["component_id"] in held for answer in answers):
        raise conflict(
            Message(
                "The parts that the supplier answered for are no longer part of the item. "
                "Reject the answer and ask again for the parts that it has now."
            )
        )
    changes: list[dict[str, object]] = []
    stored = {line["id"]: line.get("substances", {}) for line in lines}
    for answer in (answer for answer in answers if answer["component_id"] in held):
        values = {name: value for name, value in answer.items() if value is not None and name != "component_id"}
        if (declared := answer.get("substances")) is not None:
            values["substances"] = _with_source(declared, stored.get(answer["component_id"] or "", {}))
        changes.append({**values, "id": answer["component_id"]})
    return change_lines(lines, changes)


def _with_source(substances: Substances, stored: Substances) -> Substances:
    """Return a supplier's declarations; one without a source is the supplier's own attestation.

    One that says what an attestation or a test report said already leaves that as it is.
    """
    return {
        name: {**entry, "source": entry.get("source") or "supplier_attestation"}
        for name, entry in substances.items()
        if entry is not None and not _is_proven(entry, stored.get(name))
    }


def _is_proven(entry: SubstanceEntry, stored: SubstanceEntry | None) -> bool:
    held: Mapping[str, object] = stored or {}
    is_proof = held.get("source") in ("supplier_attestation", "test_report")
    return is_proof and all(value is None or held.get(part) == value for part, value in entry.items())


_NOT_COMPARED: Final = frozenset(
    {
        "id",
        "version",
        "compliance",
        "created_at",
        "updated_at",
        "doc_status",
        "recyclability_grade",
        "recyclability_score",
        "packaging_format_key",
        "weight_source",
    }
)
"""Derived, or shown by themselves."""
REFUSED: Final = Message("The record that this would leave is refused.")
OTHER_PARTS: Final = Message(
    "A part is not what it was when it was asked about. Compare the two, and say that you have before you accept."
)
GONE_PARTS: Final = Message(
    "A part that was answered for is no longer part of the item. Open the answer to take over the rest of it."
)


class Change(NamedTuple):
    """One field: its path, its value now, and the value that accepting would write."""

    field: str
    now: object
    then: object


class Graded(NamedTuple):
    """A grade with its score, its reason, the format flags beside it, and whether it is provisional."""

    grade: str | None
    score: float | None
    reason: str | None
    flags: list[AnnexVFlag]
    provisional: bool = False

    def as_dict(self) -> JsonObject:  # JSON
        """Return what is stored of it: the reason's template and parameters beside its English."""
        return self._asdict() | {"template": stored_template(self.reason or "")}

    @classmethod
    def from_stored(cls, stored: JsonMapping) -> Self:  # JSON that was stored
        """Return the grade that `as_dict` gave; one from before it had a template keeps its reason in English."""
        values = dict(stored)
        template = values.pop("template", None)
        return cls(**values | ({"reason": from_json(template)} if template else {}))


@dataclass(frozen=True, slots=True)
class Comparison:
    """What accepting an entry would change.

    `version` is that of the compared SKU, None for a new one. `parts` are the component types of the graph after the
    change and then of the lines that it takes away (`removed`), in the order of the paths, `materials` what each is
    made of: polymer or grade, else its family; none of a decision from before they were kept. `asked` are the parts
    that the entry is about, as they were asked about and as they are before the change. `refusal` is why the entry
    cannot be accepted, followed by what the write path found. `reasons` are the reviewer's, each with the id of a part
    whose answer contradicted the record; of those, `kept` stayed as the record had them.
    """

    version: int | None
    changes: list[Change]
    parts: list[str]
    before: Graded | None
    after: Graded | None
    warnings: list[Issue]
    refusal: tuple[Issue, ...] = ()
    removed: tuple[Component, ...] = ()
    asked: tuple[AskedPart, ...] = ()
    materials: Sequence[str] = ()
    reasons: tuple[tuple[str, str], ...] = ()
    kept: Sequence[str] = ()

    @property
    def gone(self) -> list[str]:
        """Return the ids of the parts that the entry is about and that the SKU had no longer before the change."""
        return [part.id for part in self.asked if part.is_gone]

    @property
    def refused(self) -> str | None:
        """Return why the entry cannot be accepted, in one text; None where it can."""
        return " ".join(dict.fromkeys(issue.message for issue in self.refusal)) or None

    def as_dict(self) -> dict[str, object]:
        """Return what is stored with a decided entry; `of` reads it back."""
        return {
            "changes": [change._asdict() for change in self.changes],
            "parts": self.parts,
            "materials": list(self.materials),
            "asked": [part._asdict() for part in self.asked],
            "reasons": list(self.reasons),
            "kept": list(self.kept),
            **{name: graded and graded.as_dict() for name, graded in (("before", self.before), ("after", self.after))},
        }

    @classmethod
    def from_stored(cls, stored: JsonMapping) -> Self:  # JSON that was stored
        """Return the comparison that `as_dict` gave, without version and warnings."""
        before, after = (stored[name] and Graded.from_stored(stored[name]) for name in ("before", "after"))
        changes = [Change(**change) for change in stored["changes"]]
        entry_parts = tuple(AskedPart(**part) for part in stored.get("asked") or ())
        materials = stored.get("materials", ())
        comparison = cls(None, changes, stored["parts"], before, after, [], asked=entry_parts, materials=materials)
        return replace(comparison, reasons=tuple(map(tuple, stored.get("reasons", ()))), kept=stored.get("kept", ()))


def compare(conn: Connection, actor: Actor, entry: Entry, *, rulesets: Rulesets) -> Comparison:
    """Compare an open entry that writes a SKU, in the caller's transaction; nothing is written."""
    before = load_current(conn, entry.sku_id, rulesets, actor.today)
    resting = archive.lines_of(conn, entry.sku_id) if entry.sku_id and not before else ()
    entry_parts = asked_parts(conn, entry, before["components"] if before else resting)
    try:
        record = build_record(conn, entry)
        result = write_records(conn, actor, {0: record}, rulesets=rulesets, dry_run=True)[0]
        if result.outcome == "rejected":
            raise conflict(REFUSED, result.errors)
    except (Refused, write.PlanLimitReached) as refused:
        refusal = refused if isinstance(refused, Refused) else conflict(message_of(str(refused)))
        version = before["version"] if before else None
        return Comparison(version, [], [], _grade_of(before), None, [], tuple(refusal.issues), asked=entry_parts)
    return comparison_of(before, result, entry, entry_parts)


def comparison_of(
    before: SkuDetail | None, result: WriteOutcome, entry: Entry, entry_parts: tuple[AskedPart, ...]
) -> Comparison:
    """Compare the SKU before a write with the result of the write path, for an entry about `entry_parts`."""
    assert result.detail is not None, "an accepted row can be shown"
    after = result.detail()
    kept = {line["id"] for line in after["components"]}
    removed = tuple(line for line in (before["components"] if before else ()) if line["id"] not in kept)
    lines = (*after["components"], *removed)
    parts = [line["component_type"] for line in lines]
    materials = [line["polymer_or_grade"] or line["material_family"] or "" for line in lines]
    changes = _changes(_placed_as(before, after, removed), after, _proposed_paths(entry, after))
    graded = (_grade_of(before), _grade_of(after))
    version = before["version"] if before else None
    comparison = Comparison(version, changes, parts, *graded, result.warnings, removed=removed, asked=entry_parts)
    return replace(comparison, materials=materials)


def load_current(conn: Connection, sku_id: UUID | None, rulesets: Rulesets, today: date) -> SkuDetail | None:
    """Return the detail of a stored SKU; None where it is not stored."""
    row = queries.find_sku(conn, sku_id, today)
    if row is None:
        return None
    return detail_skus.sku_detail(row, detail_skus.rulesets_of(conn, rulesets, row), today=today)


def _grade_of(sku: SkuDetail | None) -> Graded | None:
    if sku is None:
        return None
    compliance = sku["compliance"]
    return Graded(
        sku["recyclability_grade"],
        sku["recyclability_score"],
        compliance["grade_trace"]["reason"],
        compliance["annex_v_flags"],
        compliance["grade_trace"]["provisional"],
    )


def _placed_as(before: SkuDetail | None, after: SkuDetail, removed: Sequence[Component]) -> Mapping[str, object]:
    """Return the record before a change with each part at its place after it, and the removed ones behind them.

    A part is compared with itself, by its id, wherever it stands in the list.
    """
    if before is None:
        return {}
    by_id = {line["id"]: line for line in before["components"]}
    return {**before, "components": [*(by_id.get(line["id"], {}) for line in after["components"]), *removed]}


def graph_changes(before: Sequence[Component], after: Sequence[Component]) -> list[Change]:
    """Return the fields that differ of the parts that both graphs have, by their places in the second one."""
    by_id = {line["id"]: line for line in before}
    kept = {place: line for place, line in enumerate(after) if line["id"] in by_id}
    return [
        Change(f"components[{place}].{change.field}", change.now, change.then)
        for place, line in kept.items()
        for change in _changes(cast(JsonMapping, by_id[line["id"]]), cast(JsonMapping, line), set())
        if change.field != "id"
    ]


def _changes(before: Mapping[str, object], after: Mapping[str, object], proposed_paths: set[str]) -> list[Change]:
    """Return every field that differs, and every proposed one, also where its value stays the same."""
    old, new = leaves_beside(before, after)
    fields = [*new, *(field for field in old if field not in new)]
    return [
        Change(field, old.get(field), new.get(field))
        for field in fields
        if not field.endswith("].id")  # which part it is, and no fact of it
        and (old.get(field) != new.get(field) or (field in proposed_paths and new.get(field) is not None))
    ]


def _proposed_paths(entry: Entry, after: SkuDetail) -> set[str]:
    """Return the paths that the entry itself names, in the record after the change."""
    places = {line["id"]: place for place, line in enumerate(after["components"])}
    if entry.kind == "sku_update":
        of_lines = [(change["id"], change) for change in entry.payload.get("component_changes") or ()]
        fields = {field for field, _ in leaves(entry.payload["changes"])} - {"sku_code"}  # it names the item
    else:
        of_lines = [(answer["component_id"], answer) for answer in entry.payload.get("components") or ()]
        fields = set()
    return fields | {
        f"components[{places[line_id]}].{field}"
        for line_id, line in of_lines
        for field, _ in leaves(line)
        if field != "id" and line_id in places  # of a gone part nothing is taken over
    }


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield each value that is no object and no array of objects, with its path, where it is compared."""
    match value:
        case Mapping():
            for name, member in value.items():
                if path or name not in _NOT_COMPARED:
                    yield from leaves(member, f"{path}.{name}" if path else name)
        case [Mapping(), *_]:
            for place, member in enumerate(value):
                yield from leaves(member, f"{path}[{place}]")
        case _:
            yield path, value


def leaves_beside(before: object, after: object) -> tuple[dict[str, object], dict[str, object]]:
    """Return the leaves of two values. An empty array is none where the other has members there, which say it all."""
    old, new = dict(leaves(before)), dict(leaves(after))
    return _without_emptied(old, new), _without_emptied(new, old)


def _without_emptied(values: Mapping[str, object], others: Mapping[str, object]) -> dict[str, object]:
    filled = {field.partition("[")[0] for field in others if "[" in field}
    return {field: value for field, value in values.items() if value != [] or field not in filled}


class Dispute(NamedTuple):
    """A part of an answer that contradicts the record: the part as it is, and each field that would become another."""

    line: Component
    changes: tuple[Change, ...]

    @property
    def key(self) -> str:
        """Return the same text for alike parts with the same contradiction, whichever item they are of."""
        part = {name: value for name, value in self.line.items() if name not in ("id", "position_in_sku")}
        told = orjson.dumps([part, [change._asdict() for change in self.changes]], option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(told).hexdigest()[:16]


class Judgement(NamedTuple):
    """What is to be decided on a supplier's answer: its disputes, and what law, weights or the record say against it.

    Without either it agrees with the record or fills empty fields.
    """

    entry: Entry
    disputes: list[Dispute]
    against: list[Issue]


_SOURCES: Final = ("source", "basis", "below")
"""Parts of a declaration that say who says it and how: another source is no contradiction."""


def judge(conn: Connection, actor: Actor, entries: Sequence[Entry], *, rulesets: Rulesets) -> list[Judgement]:
    """Judge suppliers' answers, in a dry run of one write; of several about one SKU the first alone."""
    first = {entry.sku_id: entry for entry in reversed(entries)}
    judgements = {entry.id: Judgement(entry, [], []) for entry in entries if first[entry.sku_id] is entry}
    records: dict[int, SkuPatch] = {}
    weighed: set[int] = set()
    for number, judgement in enumerate(judgements.values()):
        entry = judgement.entry
        try:
            records[number] = build_record(conn, entry)
        except Refused as refused:
            judgement.against.extend(refused.issues)
            continue
        before = (entry.sku_id and store.of_id(conn, entry.sku_id)) or []
        after = records[number]["components"] or ()
        parts = asked_parts(conn, entry, before)
        if any(part.differs for part in parts):
            judgement.against.append(Issue("invalid_format", OTHER_PARTS))
        if any(part.is_gone for part in parts):
            judgement.against.append(Issue("invalid_format", GONE_PARTS))
        judgement.disputes.extend(disputes(before, after, _other_articles(conn, entry)))
        if [line.get("weight_g") for line in before] != [line.get("weight_g") for line in after]:
            weighed.add(number)
    outcomes = write_records(conn, actor, records, rulesets=rulesets, dry_run=True)
    for number, judgement in enumerate(judgements.values()):
        if (outcome := outcomes.get(number)) is not None:
            of_weight = [warning for warning in outcome.warnings if warning.field == "weight_grams"]
            judgement.against.extend(outcome.errors or (of_weight if number in weighed else ()))
    return list(judgements.values())


def _other_articles(conn: Connection, entry: Entry) -> dict[str, Change]:
    """Return the article numbers that an answer has and that are others than those kept, by the id of the part."""
    said: Mapping[str, str] = entry.payload.get("articles") or {}
    kept = suppliers.sold_parts(conn, list(said), entry.filed_by_name or "") if said else ()
    return {
        each.component_id: Change("supplier_article", each.article, said[each.component_id])
        for each in kept
        if each.article != said[each.component_id]
    }


def disputes(
    lines: Sequence[Component], after: Sequence[Component], articles: Mapping[str, Change] = MappingProxyType({})
) -> list[Dispute]:
    """Return the parts with a recorded fact that would become another, in the order of the graph.

    `articles` are the supplier's article numbers that would.
    """
    by_id = {line["id"]: line for line in after}
    judged = [
        Dispute(
            line,
            (
                *_contradictions(cast(JsonMapping, line), cast(JsonMapping, by_id[line["id"]])),
                *([articles[line["id"]]] if line["id"] in articles else ()),
            ),
        )
        for line in lines
        if line["id"] in by_id
    ]
    return [dispute for dispute in judged if dispute.changes]


def _contradictions(before: JsonMapping, after: JsonMapping) -> Iterator[Change]:
    then = dict(leaves(after))
    for field, now in leaves(before):
        if field.rpartition(".")[2] not in _SOURCES and now not in (None, "unknown") and then.get(field) != now:
            yield Change(field, now, then.get(field))
