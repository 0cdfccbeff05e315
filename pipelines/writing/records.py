"""Writing JSON records: they become a patch, `write_patch` writes it, and each record has its result.

POST, PUT and batch come here, inside a transaction that the caller opened and repeats where writers collide
(`warehouse.sessions.Pool.run`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

import orjson
import psycopg

from compliance import grading
from compliance.ruleset import RuleSet
from pipelines.writing import present
from pipelines.writing.patch import Patch, from_records
from pipelines.writing.write import Prepared, write_patch
from schemas.issues import Issue
from schemas.messages import Figure, Message
from warehouse.audit.origin import Origin
from warehouse.rulesets.registry import Rulesets

_MISMATCH: Final = 0.05
"""Share by which the total weight and the sum of the components may differ without a warning (decisions §3)."""


@dataclass(slots=True)
class RowResult:
    """What became of one record; `detail` makes SkuDetailResponse.data of an accepted one, in the language `lang`."""

    index: int
    sku_code: str
    outcome: str
    id: str | None = None
    recyclability_grade: str | None = None
    recyclability_score: float | None = None
    errors: list[Issue] = field(default_factory=list)
    warnings: list[Issue] = field(default_factory=list)
    detail: Callable[..., dict[str, Any]] | None = None


def write_records(
    conn: psycopg.Connection[Any],
    company_id: UUID,
    records: Mapping[int, Mapping[str, Any]],
    *,
    origin: Origin | Mapping[int, Origin],
    now: datetime,
    rulesets: Rulesets,
    dry_run: bool,
    resource: str = "sku",
) -> dict[int, RowResult]:
    """Write validated records (`schemas.models.parse_sku`) in the caller's transaction; one result each.

    Records and results go by the number of their row in what the caller sent. A record whose code an earlier one has
    is rejected. `origin` is who causes the write, or by row who causes each. `resource` is what the audit calls the
    thing written. Raises `plans.PlanLimitReached`.
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
    for row in outcomes.merged.dicts(outcomes.merged.names):
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


def _weight_warning(row: Mapping[str, Any]) -> list[Issue]:
    total, parts = row["weight_grams"], row["components_weight_g"]
    if total is None or parts is None or abs(total - parts) <= _MISMATCH * total:
        return []
    sentence = Message(
        "weight_grams is {total} g and the components weigh {parts} g together; they differ by more than 5 %.",
        total=Figure(f"{total:g}"),
        parts=Figure(f"{parts:g}"),
    )
    return [Issue("weight_mismatch", sentence, "weight_grams")]


def market_warnings(markets: list[str] | None, volume_patch: str | None) -> list[Issue]:
    """A volume for a market that the SKU does not name (decisions §11): said, never refused."""
    if not markets or volume_patch is None:
        return []
    named = {key.split("/")[0] for key, units in orjson.loads(volume_patch).items() if units is not None}
    return [
        Issue("market_not_named", Message("The SKU's markets do not name {code}.", code=code), "markets")
        for code in sorted(named - set(markets))
    ]
