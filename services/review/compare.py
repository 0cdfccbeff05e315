"""Compares a SKU with what an open entry would make of it, field by field, with the grade before and after.

The new values come from a dry run of the same write that accepting does, so that page and decision cannot differ;
nothing is stored. Paths are the contract's: `components[0].substances.pfas.status`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, NamedTuple, Self
from uuid import UUID

from pipelines.answers import memory
from pipelines.answers.parts import AskedPart
from pipelines.writing import plans, present
from pipelines.writing.records import WriteOutcome, write_records
from schemas.grading import AnnexVFlag
from schemas.issues import Issue
from schemas.json_values import JsonMapping, JsonObject
from schemas.messages import Message, from_json, stored_template
from schemas.sku import Component, SkuDetail
from services.review import proposed
from services.review.proposed import Conflict
from warehouse.audit.origin import Origin
from warehouse.review.entries import Entry
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Connection
from warehouse.skus import detail

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
_DRY_RUN_ORIGIN: Final = Origin("system", None, None, correlation_id="dry run")


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
    def of(cls, stored: JsonMapping) -> Self:  # JSON that was stored
        """Return the grade that `as_dict` gave; one from before it had a template keeps its reason in English."""
        values = dict(stored)
        template = values.pop("template", None)
        return cls(**values | ({"reason": from_json(template)} if template else {}))


class CurrentSku(NamedTuple):
    """A stored SKU: its version and its detail."""

    version: int
    detail: SkuDetail


@dataclass(frozen=True, slots=True)
class Comparison:
    """What accepting an entry would change.

    `version` is that of the compared SKU, None for a new one. `parts` are the component types of the graph after the
    change and then of the lines that it takes away (`removed`), in the order of the paths. `asked` are the parts that
    the entry is about, as they were asked about and as they are before the change. `refused` is why the entry cannot be
    accepted, with the `issues` that the write path found.
    """

    version: int | None
    changes: list[Change]
    parts: list[str]
    before: Graded | None
    after: Graded | None
    warnings: list[Issue]
    refused: str | None = None
    issues: tuple[Issue, ...] = ()
    removed: tuple[Component, ...] = ()
    asked: tuple[AskedPart, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return what is stored with a decided entry; `of` reads it back."""
        return {
            "changes": [change._asdict() for change in self.changes],
            "parts": self.parts,
            "asked": [part._asdict() for part in self.asked],
            **{name: graded and graded.as_dict() for name, graded in (("before", self.before), ("after", self.after))},
        }

    @classmethod
    def of(cls, stored: JsonMapping) -> Self:  # JSON that was stored
        """Return the comparison that `as_dict` gave, without version and warnings."""
        before, after = (stored[name] and Graded.of(stored[name]) for name in ("before", "after"))
        changes = [Change(**change) for change in stored["changes"]]
        asked = tuple(AskedPart(**part) for part in stored.get("asked") or ())
        return cls(None, changes, stored["parts"], before, after, [], asked=asked)


def compare(conn: Connection, company_id: UUID, entry: Entry, *, now: datetime, rulesets: Rulesets) -> Comparison:
    """Compare an open entry that writes a SKU, in the caller's transaction; nothing is written."""
    current = load_current(conn, entry.sku_id, rulesets, now.date())
    version, before = current or (None, None)
    asked = memory.asked_parts(conn, entry, before["components"] if before else ())
    try:
        record = proposed.build_record(conn, entry)
        result = write_records(
            conn, company_id, {0: record}, origin=_DRY_RUN_ORIGIN, now=now, rulesets=rulesets, dry_run=True
        )[0]
        if result.outcome == "rejected":
            raise conflict_of(result.errors)
    except (Conflict, plans.PlanLimitReached) as conflict:
        issues = getattr(conflict, "issues", ())
        return Comparison(version, [], [], _grade_of(before), None, [], str(conflict), issues, asked=asked)
    return comparison_of(current, result, entry, asked)


def comparison_of(
    current: CurrentSku | None, result: WriteOutcome, entry: Entry, asked: tuple[AskedPart, ...]
) -> Comparison:
    """Compare the SKU before a write with the result of the write path; `asked` are the parts that were asked about."""
    assert result.detail is not None, "an accepted row can be shown"
    version, before = current or (None, None)
    after = result.detail()
    kept = {line["id"] for line in after["components"]}
    removed = tuple(line for line in (before["components"] if before else ()) if line["id"] not in kept)
    parts = [line["component_type"] for line in (*after["components"], *removed)]
    changes = _changes(_placed_as(before, after, removed), after, _proposed_paths(entry, after))
    graded = (_grade_of(before), _grade_of(after))
    return Comparison(version, changes, parts, *graded, result.warnings, removed=removed, asked=asked)


def conflict_of(issues: Sequence[Issue]) -> Conflict:
    """Return what the write path refused as a conflict of the decision."""
    sentences = dict.fromkeys(issue.message for issue in issues)
    return Conflict(" ".join((REFUSED, *sentences)), issues)


def load_current(conn: Connection, sku_id: UUID | None, rulesets: Rulesets, today: date) -> CurrentSku | None:
    """Return the stored version and detail of a SKU; None where it is not stored."""
    row = detail.of(conn, sku_id, today)
    if row is None:
        return None
    rules, graded_by = rulesets.active(conn), rulesets.of(conn, row["ruleset_version"])
    shown = present.sku_detail(
        row, present.record(row), rules=rules, graded_by=graded_by, doc_status="missing", today=today
    )
    return CurrentSku(row["version"], shown)


def _grade_of(shown: SkuDetail | None) -> Graded | None:
    if shown is None:
        return None
    compliance = shown["compliance"]
    return Graded(
        shown["recyclability_grade"],
        shown["recyclability_score"],
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


def _changes(before: Mapping[str, object], after: Mapping[str, object], proposed_paths: set[str]) -> list[Change]:
    """Return every field that differs, and every proposed one, also where its value stays the same."""
    old, new = dict(leaves(before)), dict(leaves(after))
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
        f"components[{places[named]}].{field}" for named, line in of_lines for field, _ in leaves(line) if field != "id"
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
