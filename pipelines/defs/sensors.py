"""Watches the database for work that is left, of all subjects but imports (`pipelines.defs.imports.sensors`).

A sensor looks at the current state, never at its own earlier requests: so nothing is forgotten when a process is
killed, and nothing is requested twice. Each subject's module says what of it is due; a tick that finds nothing says so.
"""

from collections.abc import Mapping
from typing import Final

import dagster as dg

from pipelines.defs.catalogue import BY_SCHEDULE, OLDER_RULES, VERSION, read_rule_set, refresh_catalogue, rule_set
from pipelines.defs.exports import export_portfolio, queued_exports
from pipelines.defs.housekeeping import keep_house
from pipelines.defs.mail import mails_due, send_mails
from pipelines.defs.publication import lost_portfolios, publish_portfolio, written_portfolios
from pipelines.defs.regrading import asked_regrades, regrade_portfolios, regraded_skus
from pipelines.defs.webhooks import send_webhooks, webhooks_due
from pipelines.engine import daily, run_requests, tags
from pipelines.engine.checks import Stored
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import Mailing, Portfolios, Postgres, RuleSets, ServiceClock
from pipelines.engine.run_requests import WantedRun

OVERDUE_SECONDS: Final = 60
"""How often is looked for what no write announces: a query or two, and a small file or two for each company."""
_NONE_LEFT: Final = "0 regrades left"
_NOT_MAILED: Final = " Nothing is mailed: PCDS_SMTP_URL is not set."


@run_requests.sensor(
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
    mailing: Mailing,
) -> dg.SensorResult:
    """Request one run a company and job; a company whose run of the job has not ended is left alone."""
    postgres.pool.stamp()  # stamps committed writes whose writer ended before it could
    now, mailed = clock.now(), mailing.post is not None
    with postgres.pool.system() as conn:
        regrades = asked_regrades(conn)
        wanted = {
            publish_portfolio.name: written_portfolios(context.instance, conn, now),
            export_portfolio.name: queued_exports(conn, now),
            send_mails.name: mails_due(conn, now) if mailed else {},
            send_webhooks.name: webhooks_due(conn, now),
        }
    stored = Stored(postgres.pool, portfolios.folder, rule_sets.registry)
    requests = _regrade_requests(context.instance, stored, regrades) if regrades else []
    for job_name, of_job in wanted.items():
        requests += run_requests.requests_of_companies(context.instance, job_name, of_job)
    left = ", ".join(sorted({run.tags[tags.REGRADE] for run in regrades.values()}))
    left = f"{len(regrades)} regrades left by {left}" if regrades else _NONE_LEFT
    due = len(regrades) + sum(map(len, wanted.values()))
    idle = f"Nothing is to be started: {due} runs are due, and each is under way or waits for another try."
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=run_requests.partition_requests(context.instance, requests),
        asset_events=[] if left == (context.cursor or _NONE_LEFT) else [_older_rules(stored)],
        skip_reason=None if requests else (idle if due else "Nothing is due.") + ("" if mailed else _NOT_MAILED),
        cursor=left,
    )


@run_requests.sensor(
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
    with postgres.pool.system() as conn:
        version = rule_sets.registry.active(conn).version
        lost = lost_portfolios(conn, portfolios.folder, clock.now())
    requests = [
        *_rule_set_requests(instance, version),
        *daily.undone_work(instance, refresh_catalogue.name, BY_SCHEDULE, clock.now()),
        *daily.undone_work(instance, keep_house.name, run_config(), clock.now()),
        *run_requests.requests_of_companies(instance, publish_portfolio.name, lost),
    ]
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=run_requests.partition_requests(instance, requests),
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
    taken = run_requests.being_materialised(instance, regraded_skus.key.to_user_string(), regrades)
    left = {slug: run for slug, run in regrades.items() if slug not in taken}
    return run_requests.requests_of_companies(instance, regrade_portfolios.name, left)


def _rule_set_requests(instance: dg.DagsterInstance, version: str) -> list[dg.RunRequest]:
    """Return the run that tells Dagster the version of the rules, where its latest materialisation has another."""
    if _is_told(instance, version):
        return []
    latest = instance.get_latest_materialization_event(rule_set.key)
    before = "none" if latest is None else f"{latest.timestamp:.0f}"
    return run_requests.requests_of_job(instance, read_rule_set.name, f"{version}/{before}", run_config())


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
