"""Writes JSON records: makes a patch of them, lets `write_patch` write it, and returns an outcome for each record.

POST, PUT and batch come here, inside a transaction that the caller opened and repeats where writers collide
(`warehouse.operate.sessions.Pool.run`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, Protocol, cast
from uuid import UUID

import orjson

from compliance.annex_v import every_open_fact
from pipelines.writing import json_fields, refuse
from pipelines.writing.patch import Patch, Prepared, from_records
from pipelines.writing.write import former_code, write_patch
from schemas.actors import Actor, Origin
from schemas.issues import Issue
from schemas.json_values import instant_text
from schemas.messages import Message
from schemas.normalise import quote
from schemas.refusals import NotThere, Refused, other_version, require
from schemas.skus.types import SkuDetail, SkuPatch, VolumeRow
from schemas.vocabularies import Outcome
from services.skus import detail
from warehouse.audit import ledger
from warehouse.catalogue import served_markets
from warehouse.operate.sessions import Connection
from warehouse.rules import Rulesets
from warehouse.skus import archive, portfolio, queries
from warehouse.skus.queries import StoredSku
from warehouse.skus.tables import Table


class Detail(Protocol):
    """Makes the detail of a written SKU, in a language of `schemas.messages.LANGUAGES`."""

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
    actor: Actor,
    records: Mapping[int, SkuPatch],
    *,
    rulesets: Rulesets,
    dry_run: bool,
    resource: str = "sku",
    volumes: Mapping[int, str] = MappingProxyType({}),
    if_versions: Mapping[int, int] = MappingProxyType({}),
    keep_archived: bool = False,
    renamed: Mapping[str, str] = MappingProxyType({}),
    origins: Mapping[int, Origin] = MappingProxyType({}),
) -> dict[int, WriteOutcome]:
    """Write records of `schemas.skus.inputs.parse_sku` in the caller's transaction; return an outcome for each.

    Records and outcomes are keyed by the number of their row in the caller's body. A record with the code of an earlier
    one is rejected. `resource` is the name of the written record in the audit, `volumes` the units that some records
    bring with them (`patch_of`), `if_versions` the versions that some are made for: 0 for one that must not exist yet.
    `keep_archived`, `renamed` and `origins` are as for `write_patch`. Raises `PlanLimitReached`.
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
        actor,
        patch,
        rules=rules,
        dry_run=dry_run,
        resource=resource,
        keep_archived=keep_archived,
        renamed=renamed,
        origins=origins,
    )
    for fault in (*faults, *written.errors):
        outcomes[fault.row].errors.append(fault.issue)
    for outcome in outcomes.values():
        outcome.version_before = outcome.version_before or written.version_before(outcome.sku_code)
    _fill(conn, outcomes, written, rulesets, now=actor.now, dry_run=dry_run)
    for warning in refuse.returned_from_archive(written):
        outcomes[warning.row].warnings.append(warning.issue)
    return outcomes


def _check_versions(conn: Connection, outcomes: Mapping[int, WriteOutcome], if_versions: Mapping[int, int]) -> None:
    """Lock the SKUs of the rows that are made for a version, and give a fault to each row that is for another one.

    An archived SKU exists: it has the version as which it rests. A new code that another writer stores meanwhile makes
    the whole write repeat.
    """
    wanted = {row: version for row, version in if_versions.items() if row in outcomes}
    codes = [outcomes[row].sku_code for row in wanted]
    stored = portfolio.lock_versions(conn, codes) if codes else {}
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
    return other_version(stored, create_only=not if_version)


def _fill(
    conn: Connection,
    outcomes: Mapping[int, WriteOutcome],
    written: Prepared,
    rulesets: Rulesets,
    *,
    now: datetime,
    dry_run: bool,
) -> None:
    """Fill grades, warnings and details into the outcomes of the accepted rows.

    An unchanged row keeps the grade of an older rule-set.
    """
    rules = written.rules
    sent = refuse.sent_volumes(written)
    for row in cast(list[_Merged], written.merged.dicts(written.merged.names)):
        outcome = outcomes[row["row"]]
        outcome.outcome, outcome.id = row["outcome"], row["id"]
        outcome.version = row["version"]
        outcome.recyclability_grade, outcome.recyclability_score = (
            row["recyclability_grade"],
            row["recyclability_score"],
        )
        sku = detail.record(row)
        outcome.warnings = refuse.warnings_of_record(sku, row["components_weight_g"], sent.get(row["row"]), rules)
        row["version"] = cast(int, outcome.stored_version(dry_run=dry_run))  # a dry run's new SKU has none
        if row["id"] is not None and row["outcome"] != "unchanged":
            row["created_at"], row["updated_at"] = row.get("created_at") or now, now
        graded = detail.rulesets_of(conn, rulesets, row)
        outcome.detail = partial(detail.sku_detail, row, graded, today=now.date(), sku=sku)


def keep_former_code(
    conn: Connection, actor: Actor, sku_id: UUID, code: str, new_code: str, *, dry_run: bool = False
) -> None:
    """Keep the code of a SKU, which is locked, as a former one, before a write gives it another in this transaction.

    Raise `Refused` where another SKU has the new code or had it before, and where the SKU is archived.
    """
    if queries.code_of(conn, sku_id) is None:
        sentence = Message("The SKU is archived; bring it back first, then give it another sku_code.")
        raise Refused([Issue("sku_archived", sentence, "sku_code")])
    if queries.existing_codes(conn, [new_code]):
        sentence = Message("Another SKU has the sku_code {code}.", code=quote(new_code))
        raise Refused([Issue("sku_code_taken", sentence, "sku_code")], "sku_code_taken")
    is_its_own = new_code in queries.former_codes_of(conn, sku_id)
    if not is_its_own and (today := queries.codes_of_today(conn, [new_code])):
        raise Refused([former_code(new_code, today[new_code])], "sku_code_former")
    if not dry_run:
        queries.free_code(conn, sku_id, new_code)
        queries.keep_code(conn, actor.company_id, sku_id, code, actor.now)


def free_code(conn: Connection, actor: Actor, sku_id: UUID, code: str, *, dry_run: bool = False) -> Outcome:
    """Free a former code of a SKU, archived or not: a new SKU may have it. Unchanged where it is none of its own.

    Raise `NotThere`.
    """
    require(queries.names_of(conn, [sku_id]).get(str(sku_id)))
    before = queries.former_codes_of(conn, sku_id)
    if code not in before:
        return "unchanged"
    if not dry_run:
        queries.free_code(conn, sku_id, code)
        after = [former for former in before if former != code]
        entry = {"before": {"former_codes": before}, "after": {"former_codes": after}}
        ledger.enter(conn, actor, "sku.code_freed", sku_id, **entry)
    return "updated"


class VolumesWritten(NamedTuple):
    """The rows as written, in their order, the warnings, and the SKU's version before and after the write."""

    rows: list[VolumeRow]
    warnings: list[Issue]
    version_before: int | None
    version: int | None


def write_volumes(
    conn: Connection, actor: Actor, sku_code: str, rows: Sequence[VolumeRow], *, rulesets: Rulesets, dry_run: bool
) -> VolumesWritten:
    """Write rows of `schemas.skus.inputs.parse_volumes` of a stored SKU, in a session that has its company set.

    Raise `Refused` where any row is refused, or where the law forbids the SKU as it would be stored; nothing is written
    then.
    """
    written = _checked_rows(rows, served_markets(conn))
    patch = _patch_of_column(sku_code, "volumes", _as_patch(written))
    outcome = write_patch(conn, actor, patch, rules=rulesets.active(conn), dry_run=dry_run, resource="sku_volumes")
    if outcome.errors:
        raise Refused([issue for _, issue in outcome.errors])
    [markets], [version] = outcome.merged["markets"], outcome.merged["version"]
    warnings = _market_warnings(written, json_fields.array_values(markets) or [])
    return VolumesWritten(written, warnings, outcome.version_before(sku_code), version)


def write_resting_volumes(
    conn: Connection, actor: Actor, sku_id: UUID, rows: Sequence[VolumeRow], *, dry_run: bool
) -> VolumesWritten | None:
    """Write validated rows of an archived SKU, which stays archived; None where the company has none of the id.

    What was placed is recorded, never refused by law (decisions §13). Raise `Refused` where a row is refused.
    """
    rested = archive.lock_units(conn, sku_id)
    if rested is None:
        return None
    written = _checked_rows(rows, served_markets(conn))
    units = json_fields.merged_volumes(rested.volumes, _as_patch(written))
    changed = units != rested.volumes
    if changed and not dry_run:
        archive.write_units(conn, actor, {sku_id: units})
    warnings = _market_warnings(written, rested.markets or [])
    return VolumesWritten(written, warnings, rested.version, rested.version + changed)


def write_flag_fact(
    conn: Connection, actor: Actor, sku_id: UUID, fact: str, answer: bool | None, *, rulesets: Rulesets
) -> None:
    """Store the actor's answer to a fact on which format bans depend, with name and instant; None takes one back.

    An answer that is stored already keeps who gave it. Raise `NotThere` where no SKU of the company has the id, and
    `Refused` for a fact on which no ban of the active rules depends.
    """
    code, rules = queries.code_of(conn, sku_id), rulesets.active(conn)
    if code is None:
        raise NotThere
    if answer is not None and fact not in every_open_fact(rules):
        sentence = Message("No format ban depends on {fact}.", fact=quote(fact))
        raise Refused([Issue("not_in_vocabulary", sentence, "fact")])
    entry = {"fact": fact, "answer": answer, "by": actor.origin.actor_name, "at": instant_text(actor.now)}
    patch = _patch_of_column(code, "flag_facts", orjson.dumps({fact: None if answer is None else entry}).decode())
    if faults := write_patch(conn, actor, patch, rules=rules).errors:
        raise Refused([issue for _, issue in faults])


def _patch_of_column(sku_code: str, column: str, text: str) -> Patch:
    values = Table({"row": [0], "sku_code": [sku_code], column: [text]})
    return Patch(values, Table({"sku_code": [True], column: [True]}))


def patch_of(rows: Sequence[VolumeRow], served: frozenset[str]) -> str:
    """Return validated rows as a patch's text of the column `volumes`; raise `Refused` where any is refused."""
    return _as_patch(_checked_rows(rows, served))


def _as_patch(rows: Sequence[VolumeRow]) -> str:
    units = {json_fields.volume_key(row["market"], row["year"], row["half"]): row["units_placed"] for row in rows}
    return orjson.dumps(units, option=orjson.OPT_SORT_KEYS).decode()


def _checked_rows(rows: Sequence[VolumeRow], served: frozenset[str]) -> list[VolumeRow]:
    """Return the rows with the markets that they count for; raise `Refused` with a fault for every refused row."""
    checked: list[VolumeRow] = []
    issues: list[Issue] = []
    first: dict[str, tuple[int, str]] = {}
    for index, row in enumerate(rows):
        market = json_fields.served_market(row["market"], served)
        if market is None:
            sentence = json_fields.not_served(quote(row["market"]))
            issues.append(Issue("unknown_market", sentence, "market", index))
            continue
        if row["half"] and market != "GB":
            issues.append(Issue("out_of_range", json_fields.no_halves(market), "half", index))
        place = (index, row["market"])
        before = first.setdefault(json_fields.volume_key(market, row["year"], row["half"]), place)
        if before != place:
            sentence = _meeting(before, place, market)
            issues += [Issue("duplicate_row", sentence, None, at) for at in (before[0], index)]
        checked.append({**row, "market": market})
    if issues:
        raise Refused(sorted(issues, key=lambda issue: issue.row or 0))
    return checked


def _meeting(before: tuple[int, str], later: tuple[int, str], market: str) -> Message:
    """Return what two rows (place, code) of one market, year and half are told; codes where one is not the market's."""
    if {before[1], later[1]} == {market}:
        return Message(
            "Row {before} is of the same market, year and half as row {row}; send one of them.",
            before=before[0],
            row=later[0],
        )
    return Message(
        "Row {before} ({before_code}) and row {row} ({code}) are of the same market, year and half: a part of a country"
        " that the catalogue does not serve counts as the country. Send one row for {market}.",
        before=before[0],
        before_code=before[1],
        row=later[0],
        code=later[1],
        market=market,
    )


def _market_warnings(rows: Sequence[VolumeRow], markets: Sequence[str]) -> list[Issue]:
    """Return a warning for each row of a market that the SKU does not name, if it names any (decisions §11)."""
    return [
        Issue("market_not_named", Message("The SKU's markets do not name {code}.", code=row["market"]), "market", index)
        for index, row in enumerate(rows)
        if markets and row["units_placed"] is not None and row["market"] not in markets
    ]
