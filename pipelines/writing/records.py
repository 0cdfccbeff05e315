"""Writes JSON records: makes a patch of them, lets `write_patch` write it, and returns an outcome for each record.

POST, PUT and batch come here, inside a transaction that the caller opened and repeats where writers collide
(`warehouse.sessions.Pool.run`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Protocol, cast
from uuid import UUID

from compliance.ruleset import RuleSet
from pipelines.writing import present, warn
from pipelines.writing.patch import from_records
from pipelines.writing.prepared import Prepared
from pipelines.writing.write import write_patch
from schemas.issues import Issue
from schemas.messages import Message
from schemas.sku import SkuDetail, SkuPatch
from schemas.vocabularies import Outcome
from warehouse.audit.origin import Origin
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Connection
from warehouse.skus import archive, by_code
from warehouse.skus.detail import StoredSku


class Detail(Protocol):
    """Makes the detail of a written SKU, in a language of `schemas.labels.LANGUAGES`."""

    def __call__(self, *, lang: str = ...) -> SkuDetail:
        """Return the detail."""


@dataclass(slots=True)
class WriteOutcome:
    """The outcome of one record; `detail` makes SkuDetailResponse.data of an accepted one, in the language `lang`.

    `version_before` is the stored version that the write met, None for a new SKU; `version` the one after it.
    """

    index: int
    sku_code: str
    outcome: Outcome
    id: str | None = None
    recyclability_grade: str | None = None
    recyclability_score: float | None = None
    errors: list[Issue] = field(default_factory=list)
    warnings: list[Issue] = field(default_factory=list)
    detail: Detail | None = None
    version_before: int | None = None
    version: int | None = None

    def stored_version(self, *, dry_run: bool) -> int | None:
        """Return the version that is stored after the write, or after a dry run of it; None where the SKU is not."""
        return self.version_before if dry_run or self.outcome == "rejected" else self.version


class _Merged(StoredSku):
    """A row of `Prepared.merged`: the SKU as it would be stored, with the row of the patch and its outcome."""

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
    volumes: Mapping[int, str] = MappingProxyType({}),
    if_versions: Mapping[int, int] = MappingProxyType({}),
    keep_archived: bool = False,
) -> dict[int, WriteOutcome]:
    """Write validated records (`schemas.models.parse_sku`) in the caller's transaction; return an outcome for each.

    Records and outcomes are keyed by the number of their row in the caller's body. A record with the code of an earlier
    one is rejected. `origin` is who causes the write, `resource` the name of the written record in the audit, `volumes`
    the units that some records bring with them (`volume_rows.patch_of`), `if_versions` the versions that some are made
    for: 0 for one that must not exist yet. `keep_archived` is as for `write_patch`. Raises `plans.PlanLimitReached`.
    """
    rules = rulesets.active(conn)
    outcomes = {row: WriteOutcome(row, record["sku_code"], "rejected") for row, record in records.items()}
    _check_versions(conn, outcomes, if_versions)
    first: dict[str, int] = {}
    for row, outcome in outcomes.items():
        first_row = first.setdefault(outcome.sku_code, row)
        if first_row != row:
            sentence = Message("Row {before} has the same sku_code; send each code once.", before=first_row)
            outcome.errors.append(Issue("duplicate_sku_code", sentence, "sku_code"))
    patch, faults = from_records(
        [(row, records[row]) for row, outcome in outcomes.items() if not outcome.errors], rules
    )
    patch = patch.with_volumes(volumes)
    written = write_patch(
        conn,
        company_id,
        patch,
        origin=origin,
        now=now,
        rules=rules,
        dry_run=dry_run,
        resource=resource,
        keep_archived=keep_archived,
    )
    for fault in (*faults, *written.errors):
        outcomes[fault.row].errors.append(fault.issue)
    for outcome in outcomes.values():
        outcome.version_before = outcome.version_before or written.version_before(outcome.sku_code)
    _fill(outcomes, written, rules, now=now, dry_run=dry_run, graded_by=partial(rulesets.of, conn))
    for warning in warn.returned_from_archive(written):
        outcomes[warning.row].warnings.append(warning.issue)
    return outcomes


def _check_versions(conn: Connection, outcomes: Mapping[int, WriteOutcome], if_versions: Mapping[int, int]) -> None:
    """Lock the SKUs of the rows that are made for a version, and give a fault to each row that is for another one.

    An archived SKU exists: it has the version as which it rests. A new code that another writer stores meanwhile makes
    the whole write repeat.
    """
    wanted = {row: version for row, version in if_versions.items() if row in outcomes}
    codes = [outcomes[row].sku_code for row in wanted]
    stored = by_code.lock_versions(conn, codes) if codes else {}
    if missing := [code for code in codes if code not in stored]:
        stored |= archive.lock_versions(conn, missing)
    for row, if_version in wanted.items():
        outcome = outcomes[row]
        outcome.version_before = stored.get(outcome.sku_code)
        if (outcome.version_before or 0) != if_version:
            fault = Issue("version_conflict", _conflict(outcome.version_before, if_version), "if_version")
            outcome.errors.append(fault)


def _conflict(stored: int | None, if_version: int) -> Message:
    if stored is None:
        return Message("The SKU does not exist, so that it has no version {version}.", version=if_version)
    if not if_version:
        return Message("The SKU exists and has version {version}; nothing was created.", version=stored)
    return Message(
        "The SKU has version {version} by now; read it, and send the change again for that version.", version=stored
    )


def _fill(
    outcomes: Mapping[int, WriteOutcome],
    written: Prepared,
    rules: RuleSet,
    *,
    now: datetime,
    dry_run: bool,
    graded_by: Callable[[str], RuleSet],
) -> None:
    """Fill grades, warnings and details into the outcomes of the accepted rows.

    `graded_by` returns the rule-set of a version: an unchanged row keeps the grade of an older rule-set.
    """
    sent = warn.sent_volumes(written)
    for row in cast(list[_Merged], written.merged.dicts(written.merged.names)):
        outcome = outcomes[row["row"]]
        outcome.outcome, outcome.id = row["outcome"], row["id"]
        outcome.version = row["version"]
        outcome.recyclability_grade, outcome.recyclability_score = (
            row["recyclability_grade"],
            row["recyclability_score"],
        )
        sku, earlier = present.record(row), present.version_before(row)
        outcome.warnings = warn.warnings_of_record(sku, row["components_weight_g"], sent.get(row["row"]), rules)
        row["version"] = cast(int, outcome.stored_version(dry_run=dry_run))  # a dry run's new SKU has none
        if row["id"] is not None and row["outcome"] != "unchanged":
            row["created_at"], row["updated_at"] = row["created_at"] or now.isoformat(), now.isoformat()
        outcome.detail = partial(
            present.sku_detail,
            row,
            sku,
            rules=rules,
            graded_by=graded_by(row["ruleset_version"]),
            doc_status=row.get("doc_status") or "missing",
            before=None if earlier is None else graded_by(earlier),
            today=now.date(),
        )
