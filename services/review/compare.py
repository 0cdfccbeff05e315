"""What an open entry would change: now and then, field by field, with the grade before and after.

The "then" is a dry run of the very write that accepting does, so that page and decision cannot differ; nothing is
stored. Paths are the contract's: `components[0].substances.pfas.status`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, NamedTuple, Self
from uuid import UUID

from pipelines.writing import plans, present
from pipelines.writing.records import WriteOutcome, write_records
from schemas.grading import AnnexVFlag
from schemas.issues import Issue
from schemas.messages import Message, beside, from_json
from schemas.sku import SkuDetail
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
        "compliance",
        "created_at",
        "updated_at",
        "doc_status",
        "recyclability_grade",
        "recyclability_score",
        "packaging_format_key",
    }
)
"""Derived, or shown by themselves."""
REFUSED: Final = Message("The record that this would leave is refused.")
_NOBODY: Final = Origin("system", None, None, correlation_id="dry run")


class Change(NamedTuple):
    """One field: its path, the held value and the one that would be held."""

    field: str
    now: object
    then: object


class Graded(NamedTuple):
    """A grade with its score, why it is what it is, the format flags beside it, and whether it is provisional."""

    grade: str | None
    score: float | None
    reason: str | None
    flags: list[AnnexVFlag]
    provisional: bool = False

    def as_dict(self) -> dict[str, Any]:
        """What is kept of it: the reason's template and parameters beside its English."""
        return self._asdict() | {"template": beside(self.reason or "")}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Self:
        """The grade that `as_dict` gave; one from before it had a template keeps its reason in English."""
        given = dict(kept)
        template = given.pop("template", None)
        return cls(**given | ({"reason": from_json(template)} if template else {}))


class Held(NamedTuple):
    """A stored SKU: its version and its detail."""

    version: int
    detail: SkuDetail


@dataclass(frozen=True, slots=True)
class Comparison:
    """What accepting an entry would do.

    `version` is the SKU's that this follows from, null for a SKU that is not held; `parts` are the component types of
    the graph as it would be; `refused` is why it cannot be accepted, with the `issues` that the write path found.
    """

    version: int | None
    changes: list[Change]
    parts: list[str]
    before: Graded | None
    after: Graded | None
    warnings: list[Issue]
    refused: str | None = None
    issues: tuple[Issue, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """What a decided entry keeps of it: `of` reads it back."""
        return {
            "changes": [change._asdict() for change in self.changes],
            "parts": self.parts,
            **{name: graded and graded.as_dict() for name, graded in (("before", self.before), ("after", self.after))},
        }

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Self:  # JSON that was stored
        """Return the comparison that `as_dict` gave, without version and warnings."""
        before, after = (kept[name] and Graded.of(kept[name]) for name in ("before", "after"))
        return cls(None, [Change(**change) for change in kept["changes"]], kept["parts"], before, after, [])


def compare(conn: Connection, company_id: UUID, entry: Entry, *, now: datetime, rulesets: Rulesets) -> Comparison:
    """The comparison of an open entry that writes a SKU, in the caller's transaction; nothing is written."""
    held = held_of(conn, entry.sku_id, rulesets, now.date())
    version, before = held or (None, None)
    try:
        record = proposed.record(conn, entry)
        result = write_records(conn, company_id, {0: record}, origin=_NOBODY, now=now, rulesets=rulesets, dry_run=True)[
            0
        ]
        if result.outcome == "rejected":
            raise refused_by(result.errors)
    except (Conflict, plans.PlanLimitReached) as conflict:
        issues = getattr(conflict, "issues", ())
        return Comparison(version, [], [], _graded(before), None, [], str(conflict), issues)
    return between(held, result, entry)


def between(held: Held | None, result: WriteOutcome, entry: Entry) -> Comparison:
    """The comparison of what `held_of` gave with what the write path made of it."""
    assert result.detail is not None, "an accepted row can be shown"
    version, before = held or (None, None)
    after = result.detail()
    parts = [line["component_type"] for line in after["components"]]
    changes = _changes(before or {}, after, _said(entry, after))
    return Comparison(version, changes, parts, _graded(before), _graded(after), result.warnings)


def refused_by(issues: Sequence[Issue]) -> Conflict:
    """What the write path refuses, as a conflict of the decision."""
    sentences = dict.fromkeys(issue.message for issue in issues)
    return Conflict(" ".join((REFUSED, *sentences)), issues)


def held_of(conn: Connection, sku_id: UUID | None, rulesets: Rulesets, today: date) -> Held | None:
    """The version and the detail of the SKU as it is held; None for one that is not."""
    row = detail.of(conn, sku_id, today)
    if row is None:
        return None
    rules, graded_by = rulesets.active(conn), rulesets.of(conn, row["ruleset_version"])
    shown = present.sku_detail(
        row, present.record(row), rules=rules, graded_by=graded_by, doc_status="missing", today=today
    )
    return Held(row["version"], shown)


def _graded(shown: SkuDetail | None) -> Graded | None:
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


def _changes(before: Mapping[str, object], after: Mapping[str, object], said: set[str]) -> list[Change]:
    """Every field that differs, and every one that was said, though it is held so already."""
    old, new = dict(leaves(before)), dict(leaves(after))
    fields = [*new, *(field for field in old if field not in new)]
    return [
        Change(field, old.get(field), new.get(field))
        for field in fields
        if old.get(field) != new.get(field) or (field in said and new.get(field) is not None)
    ]


def _said(entry: Entry, after: SkuDetail) -> set[str]:
    """The paths that the entry itself names, in the record as it would be."""
    if entry.kind == "sku_update":
        return {field for field, _ in leaves(entry.payload["changes"])} - {"sku_code"}  # it names the item
    places = {line["id"]: place for place, line in enumerate(after["components"])}
    return {
        f"components[{places[answer['component_id']]}].{field}"
        for answer in entry.payload.get("components") or ()
        for field, _ in leaves(answer)
    }


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Each value that is no object and no array of objects, with its path; what is not compared left out."""
    match value:
        case Mapping():
            for name, held in value.items():
                if path or name not in _NOT_COMPARED:
                    yield from leaves(held, f"{path}.{name}" if path else name)
        case [Mapping(), *_]:
            for place, held in enumerate(value):
                yield from leaves(held, f"{path}[{place}]")
        case _:
            yield path, value
