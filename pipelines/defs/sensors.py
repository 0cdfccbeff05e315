"""Watches the database for work that is left, of all subjects: the three sensors.

A sensor looks at the current state, never at its own earlier requests: so nothing is forgotten when a process is
killed, and nothing is requested twice. Each subject's module says what of it is due; a tick that finds nothing says so.

The API requests a run as soon as it has accepted a file (`api.operate.launching`). `queued_imports` requests one for
imports
without a run after some seconds, and for stalled ones (whose run ended without them). A claim lets only one run have an
import. While the machine lacks the place for it, an import waits: the more runs it has had, the longer until the next.
An import whose last run a person has terminated is ended instead (`pipelines.defs.imports.claims`).
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

import dagster as dg

from pipelines.defs.catalogue import BY_SCHEDULE, OLDER_RULES, VERSION, read_rule_set, refresh_catalogue, rule_set
from pipelines.defs.figures import lost_portfolios, publish_portfolio, written_portfolios
from pipelines.defs.imports import claims as claims_imports
from pipelines.defs.imports.assets import import_file
from pipelines.defs.operate import keep_house
from pipelines.defs.outgoing import (
    export_portfolio,
    mails_due,
    queued_exports,
    send_mails,
    send_webhooks,
    webhooks_due,
)
from pipelines.defs.rules import asked_regrades, regrade_portfolios, regraded_skus
from pipelines.engine import schedules, tags
from pipelines.engine.checks import Stored
from pipelines.engine.jobs import import_config, run_config
from pipelines.engine.resources import Portfolios, Postgres, RuleSets, ServiceClock, ServiceSettings
from pipelines.engine.schedules import WantedRun
from warehouse.imports import claims
from warehouse.imports.claims import SMALL_ROWS, OpenImport, open_imports
from warehouse.operate import launches
from warehouse.operate.clock import Clock
from warehouse.operate.sessions import Pool

_ASKED_FOR: Final = timedelta(seconds=4)
"""How long after a file was accepted the request of its run is left to the API."""
_LOST_AFTER: Final = timedelta(seconds=20)
"""A run recorded for this long, but neither launched nor queued, was lost by the webserver; monitoring ends it."""
_LONGEST_PAUSE_SECONDS: Final = 60
"""The most that an import waits between two runs: a disk may be full for hours, and is then free again."""
OVERDUE_SECONDS: Final = 60
"""How often is looked for what no write announces: a query or two, and a small file or two for each company."""
_NONE_LEFT: Final = "0 regrades left"
_NOT_MAILED: Final = " Nothing is mailed: PCDS_SMTP_URL is not set."


@schedules.sensor(
    job=import_file,
    description="Requests a run for each import that waits or has stalled and that no unfinished run works on; "
    "ends those whose last run was terminated.",
)
def queued_imports(context: dg.SensorEvaluationContext, postgres: Postgres, clock: ServiceClock) -> dg.SensorResult:
    """Request one run per open import without a run; the run key counts the runs it has had."""
    with postgres.system() as conn:
        waiting = open_imports(conn, clock.now(), asked_for=_ASKED_FOR)
    requested = [
        request for found in waiting if (request := _requested(context.instance, postgres, clock, found)) is not None
    ]
    idle = f"{len(waiting)} imports wait, and a run works on each, or it is to be tried again later."
    return dg.SensorResult(
        run_requests=requested,
        dynamic_partitions_requests=schedules.partition_requests(context.instance, requested),
        skip_reason=None if requested else idle if waiting else "No import waits.",
    )


@schedules.sensor(
    jobs=[publish_portfolio, regrade_portfolios, read_rule_set, export_portfolio, send_mails, send_webhooks],
    description="Requests what companies are due: publications of what was written, regrades that were asked for, "
    "exports that lost their run, mails and webhooks.",
)
def due_companies(
    context: dg.SensorEvaluationContext,
    *,
    postgres: Postgres,
    clock: ServiceClock,
    rule_sets: RuleSets,
    portfolios: Portfolios,
    settings: ServiceSettings,
) -> dg.SensorResult:
    """Request one run a company and job; a company whose run of the job has not ended is left alone."""
    postgres.stamp()  # stamps committed writes whose writer ended before it could
    now, mailed = clock.now(), settings.smtp_url is not None
    with postgres.system() as conn:
        regrades = asked_regrades(conn)
        wanted = {
            publish_portfolio.name: written_portfolios(context.instance, conn, now),
            export_portfolio.name: queued_exports(conn, now),
            send_mails.name: mails_due(conn, now) if mailed else {},
            send_webhooks.name: webhooks_due(conn, now),
        }
    stored = Stored(postgres, portfolios, rule_sets)
    requests = _regrade_requests(context.instance, stored, regrades) if regrades else []
    for job_name, of_job in wanted.items():
        requests += schedules.requests_of_companies(context.instance, job_name, of_job)
    left = ", ".join(sorted({run.tags[tags.REGRADE] for run in regrades.values()}))
    left = f"{len(regrades)} regrades left by {left}" if regrades else _NONE_LEFT
    due = len(regrades) + sum(map(len, wanted.values()))
    idle = f"Nothing is to be started: {due} runs are due, and each is under way or waits for another try."
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=schedules.partition_requests(context.instance, requests),
        asset_events=[] if left == (context.cursor or _NONE_LEFT) else [_older_rules(stored)],
        skip_reason=None if requests else (idle if due else "Nothing is due.") + ("" if mailed else _NOT_MAILED),
        cursor=left,
    )


@schedules.sensor(
    jobs=[publish_portfolio, read_rule_set, refresh_catalogue, keep_house],
    minimum_interval_seconds=OVERDUE_SECONDS,
    description="Requests what ought to be there and is not: a company's files that are lost, the version of the rules "
    "that Dagster has not heard of, a day's work that never succeeded or failed the last time.",
)
def overdue_work(
    context: dg.SensorEvaluationContext,
    *,
    postgres: Postgres,
    clock: ServiceClock,
    rule_sets: RuleSets,
    portfolios: Portfolios,
) -> dg.SensorResult:
    """Request what is missing. A day that passed while the daemon was away is the scheduler's: it runs the last one."""
    instance = context.instance
    with postgres.system() as conn:
        version = rule_sets.active(conn).version
        lost = lost_portfolios(conn, portfolios, clock.now())
    requests = [
        *_rule_set_requests(instance, version),
        *schedules.undone_work(instance, refresh_catalogue.name, BY_SCHEDULE, clock.now()),
        *schedules.undone_work(instance, keep_house.name, run_config(), clock.now()),
        *schedules.requests_of_companies(instance, publish_portfolio.name, lost),
    ]
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=schedules.partition_requests(instance, requests),
        skip_reason=None if requests else f"Nothing is overdue; {version} grades, as Dagster knows.",
    )


def _regrade_requests(
    instance: dg.DagsterInstance, stored: Stored, regrades: Mapping[str, WantedRun]
) -> list[dg.RunRequest]:
    """Return the runs of regrades, without companies that a backfill or a person regrades now.

    Dagster hears of the version first: what is graded before it knows would show as graded by an older one.
    """
    with stored.pool.system() as conn:
        version = stored.registry.active(conn).version
    if not _is_told(instance, version):
        return _rule_set_requests(instance, version)
    taken = schedules.being_materialised(instance, regraded_skus.key.to_user_string(), regrades)
    left = {slug: run for slug, run in regrades.items() if slug not in taken}
    return schedules.requests_of_companies(instance, regrade_portfolios.name, left)


def _rule_set_requests(instance: dg.DagsterInstance, version: str) -> list[dg.RunRequest]:
    """Return the run that tells Dagster the version of the rules, where its latest materialisation has another."""
    if _is_told(instance, version):
        return []
    latest = instance.get_latest_materialization_event(rule_set.key)
    before = "none" if latest is None else f"{latest.timestamp:.0f}"
    return schedules.requests_of_job(instance, read_rule_set.name, f"{version}/{before}", run_config())


def _is_told(instance: dg.DagsterInstance, version: str) -> bool:
    latest = instance.get_latest_materialization_event(rule_set.key)
    reported = None if latest is None else latest.asset_materialization
    return reported is not None and reported.metadata[VERSION].value == version


def _older_rules(stored: Stored) -> dg.AssetCheckEvaluation:
    """Return the verdict on how many companies are held by older rules, which changed without a run of the asset."""
    passed, metadata = OLDER_RULES.look(stored)
    return dg.AssetCheckEvaluation(
        asset_key=rule_set.key,
        check_name=OLDER_RULES.name,
        passed=passed,
        severity=dg.AssetCheckSeverity.WARN,
        metadata=metadata,
    )


def _is_worked_on(record: dg.RunRecord) -> bool:
    if record.dagster_run.status == dg.DagsterRunStatus.NOT_STARTED:
        return Clock().now() - record.create_timestamp < _LOST_AFTER
    return record.dagster_run.status in schedules.UNDER_WAY


def _is_hung(instance: dg.DagsterInstance, pool: Pool, clock: Clock, found: OpenImport, run: dg.DagsterRun) -> bool:
    """Return whether the run's worker lives and has stopped sending heartbeats; the run is then ended.

    A process that is stopped keeps its lock, by which run monitoring takes it for a working one. What it goes on to
    write when it wakes up is refused, for want of the claim.
    """
    with pool.system() as conn:
        if launches.state(conn, run.run_id) != "running":
            return False
    if not claims.take_away(pool, clock, found.company_id, found.id, UUID(run.run_id)):
        return False
    with pool.system() as conn:
        launches.give_up(conn, run.run_id)
    instance.report_run_failed(run, "Its worker sends no heartbeats any more; another run continues the import.")
    return True


def _waits(records: Sequence[dg.RunRecord]) -> bool:
    """Return whether the newest run ended too shortly before for another one: the second one comes at once."""
    if len(records) < 2:
        return False
    pause = min(2 ** (len(records) - 1), _LONGEST_PAUSE_SECONDS)
    return timedelta(0) <= Clock().now() - records[0].update_timestamp < timedelta(seconds=pause)


def _requested(instance: dg.DagsterInstance, pool: Pool, clock: Clock, found: OpenImport) -> dg.RunRequest | None:
    records = instance.get_run_records(dg.RunsFilter(job_name=import_file.name, tags={tags.IMPORT: str(found.id)}))
    for record in records:
        if _is_worked_on(record) and not _is_hung(instance, pool, clock, found, record.dagster_run):
            return None
    if records and claims_imports.is_terminated(last := records[0].dagster_run):  # the newest comes first
        claims_imports.end_import(pool, clock, found.company_id, found.id, last.run_id)
        return None
    if _waits(records):
        return None
    return dg.RunRequest(
        run_key=f"{found.id}/{len(records)}",
        partition_key=found.slug,
        run_config=import_config(found.id),
        tags={
            **tags.of_import(found.id, found.company_id, found.filename),
            **(tags.LARGE if found.rows_total > SMALL_ROWS else {}),
        },
    )
