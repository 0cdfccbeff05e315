"""Writing JSON records: they become a patch, `write_patch` writes it, and each record has its result.

POST, PUT and batch come here, inside a transaction that the caller opened and repeats where writers collide
(`warehouse.sessions.Pool.run`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final, Protocol, cast
from uuid import UUID

import orjson

from compliance import grading
from compliance.ruleset import RuleSet
from pipelines.writing import present
from pipelines.writing.patch import Patch, from_records
from pipelines.writing.write import Prepared, write_patch
from schemas.issues import Issue
from schemas.messages import Figure, Message
from schemas.sku import SkuDetail, SkuPatch
from schemas.vocabularies import Outcome
from warehouse.audit.origin import Origin
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Connection
from warehouse.skus.detail import StoredSku

_MISMATCH: Final = 0.05
"""Share by which the total weight and the sum of the components may differ without a warning (decisions §3)."""


class Detail(Protocol):
    """Makes the detail of a written SKU, in a language of `schemas.labels.LANGUAGES`."""

    def __call__(self, *, lang: str = ...) -> SkuDetail:
        """Return the detail."""


@dataclass(slots=True)
class RowResult:
    """What became of one record; `detail` makes SkuDetailResponse.data of an accepted one, in the language `lang`."""

    index: int
    sku_code: str
    outcome: Outcome
    id: str | None = None
    recyclability_grade: str | None = None
    recyclability_score: float | None = None
    errors: list[Issue] = field(default_factory=list)
    warnings: list[Issue] = field(default_factory=list)
    detail: Detail | None = None


class _Merged(StoredSku):
    """A row of `Prepared.merged`: the SKU as it would be stored, with the row of the patch and what became of it."""

    row: int
    outcome: Outcome


def write_records(
    conn: Connection,
    company_id: UUID,
    records: Mapping[int, SkuPatch],
    *,
    origin: Origin,
    now: datetime,
    rulesets: Rulesets,
    dry_run: bool,
    resource: str = "sku",
) -> dict[int, RowResult]:
    """Write validated records (`schemas.models.parse_sku`) in the caller's transaction; one result each.

    Records and results go by the number of their row in what the caller sent. A record whose code an earlier one has
    is rejected. `origin` is who causes the write, `resource` what the audit calls the thing written. Raises
    `plans.PlanLimitReached`.
    """
    rules = rulesets.active(conn)
    results = {row: RowResult(row, record["sku_code"], "rejected") for row, record in records.items()}
    first: dict[str, int] = {}
    for row, result in results.items():
        before = first.setdefault(result.sku_code, row)
        if before != row:
            sentence = Message("Row {before} has the same sku_code; send each code once.", before=before)
            result.errors.append(Issue("duplicate_sku_code", sentence, "sku_code"))
    patch, faults = from_records([(row, records[row]) for row, result in results.items() if not result.errors], rules)
    outcomes = write_patch(
        conn, company_id, patch, origin=origin, now=now, rules=rules, dry_run=dry_run, resource=resource
    )
    for fault in (*faults, *outcomes.errors):
        results[fault.row].errors.append(fault.issue)
    _fill(results, patch, outcomes, rules, now=now, graded_by=partial(rulesets.of, conn))
    return results


def _fill(
    results: Mapping[int, RowResult],
    patch: Patch,
    outcomes: Prepared,
    rules: RuleSet,
    *,
    now: datetime,
    graded_by: Callable[[str], RuleSet],
) -> None:
    """Outcomes, grades, warnings and details into the results of the accepted rows.

    `graded_by` gives the rule-set of a version: a row that stays as it was keeps the grade of an older one.
    """
    sent = dict(patch.values.rows(("row", "volumes"))) if "volumes" in patch.values else {}
    for row in cast(list[_Merged], outcomes.merged.dicts(outcomes.merged.names)):
        result = results[row["row"]]
        result.outcome, result.id = row["outcome"], row["id"]
        result.recyclability_grade, result.recyclability_score = row["recyclability_grade"], row["recyclability_score"]
        held, earlier = present.record(row), present.version_before(row)
        result.warnings = [
            *_weight_warning(row),
            *grading.warnings(held, rules),
            *market_warnings(held["markets"], sent.get(row["row"])),
        ]
        if row["id"] is not None and row["outcome"] != "unchanged":
            row["created_at"], row["updated_at"] = row["created_at"] or now.isoformat(), now.isoformat()
        result.detail = partial(
            present.sku_detail,
            row,
            held,
            rules=rules,
            graded_by=graded_by(row["ruleset_version"]),
            doc_status=row.get("doc_status") or "missing",
            before=None if earlier is None else graded_by(earlier),
            today=now.date(),
        )


def _weight_warning(row: StoredSku) -> list[Issue]:
    total, parts = row["weight_grams"], row["components_weight_g"]
    if total is None or parts is None or abs(total - parts) <= _MISMATCH * total:
        return []
    sentence = Message(
        "weight_grams is {total} g and the components weigh {parts} g together; they differ by more than 5 %.",
        total=Figure(f"{total:g}"),
        parts=Figure(f"{parts:g}"),
    )
    return [Issue("weight_mismatch", sentence, "weight_grams")]


def market_warnings(markets: Sequence[str] | None, volume_patch: str | None) -> list[Issue]:
    """A volume for a market that the SKU does not name (decisions §11): said, never refused."""
    if not markets or volume_patch is None:
        return []
    named = {key.split("/")[0] for key, units in orjson.loads(volume_patch).items() if units is not None}
    return [
        Issue("market_not_named", Message("The SKU's markets do not name {code}.", code=code), "markets")
        for code in sorted(named - set(markets))
    ]
