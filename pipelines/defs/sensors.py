"""Watches the database for work that is left, of all subjects: three sensors; a fourth watches folders for files.

A sensor looks at the current state, never at its own earlier requests: so nothing is forgotten when a process is
killed, and nothing is requested twice. `pipelines.due` says what is due; a tick that finds nothing says so.

The API requests a run as soon as it has accepted a file (`api.operate.launching`). `queued_imports` requests one for
imports without a run after some seconds, and for stalled ones (whose run ended without them). A claim lets only one run
have an import. While the machine lacks the place for it, an import waits: the more runs it has had, the longer until
the next. An import whose last run a person has terminated is ended instead (`pipelines.imports.endings`).
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from time import monotonic
from typing import Final
from uuid import UUID

import dagster as dg

from pipelines import due
from pipelines.checks.catalogue import OLDER_RULES
from pipelines.checks.factory import Stored
from pipelines.defs.catalogue import BY_SCHEDULE, VERSION, read_rule_set, refresh_catalogue, rule_set
from pipelines.defs.figures import publish_portfolio
from pipelines.defs.imports import import_file, import_folders
from pipelines.defs.operate import keep_house
from pipelines.defs.outgoing import export_portfolio, send_mails, send_webhooks
from pipelines.defs.rules import regrade_portfolios, regraded_skus
from pipelines.due import WantedRun
from pipelines.engine import tags
from pipelines.engine.instance import instance_of
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import Portfolios, Postgres, RuleSets, ServiceClock, ServiceSettings
from pipelines.imports import folders
from warehouse import supplier_mails
from warehouse.changes import webhooks
from warehouse.companies.queries import slug_of
from warehouse.imports.claims import open_imports
from warehouse.operate.clock import Clock
from warehouse.operate.settings import Settings

_POLL_SECONDS: Final = 4
"""Less than the five seconds of the daemon's loop, which would otherwise miss every second tick."""
_FALLBACK_SECONDS: Final = 9
"""Two rounds of that loop: what accepts an import launches its run itself, and this finds the ones that got none."""
OVERDUE_SECONDS: Final = 60
"""How often is looked for what no write announces: a query or two, and a small file or two for each company."""
WATCH_SECONDS: Final = 15
"""How often watched folders are looked at: a file waits for two looks at least."""
LOOK_SECONDS: Final = 10.0
"""How long a look waits for all folders together; one that has not answered by then is left to a later look."""
_NONE_LEFT: Final = "0 regrades left"
_NOT_MAILED: Final = " Nothing is mailed: PCDS_SMTP_URL is not set."
_sensor: Final = partial(dg.sensor, default_status=dg.DefaultSensorStatus.RUNNING)
"""A sensor that is on from the first start."""


@_sensor(
    job=import_file,
    minimum_interval_seconds=_FALLBACK_SECONDS,
    description="Requests a run for each import that waits or has stalled and that no unfinished run works on; "
    "ends those whose last run was terminated.",
)
def queued_imports(context: dg.SensorEvaluationContext, postgres: Postgres, clock: ServiceClock) -> dg.SensorResult:
    """Request one run per open import without a run; the run key counts the runs it has had."""
    instance = instance_of(context)
    with postgres.system() as conn:
        waiting = open_imports(conn, clock.now(), asked_for=due.ASKED_FOR)
    run_requests = (due.import_request(instance, postgres, clock, waits) for waits in waiting)
    requests = [request for request in run_requests if request is not None]
    idle = f"{len(waiting)} imports wait, and a run works on each, or it is to be tried again later."
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=due.partition_requests(instance, requests),
        skip_reason=None if requests else idle if waiting else "No import waits.",
    )


@_sensor(
    jobs=[publish_portfolio, regrade_portfolios, read_rule_set, export_portfolio, send_mails, send_webhooks],
    minimum_interval_seconds=_POLL_SECONDS,
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
    instance, now, mailed = instance_of(context), clock.now(), settings.smtp_url is not None
    with postgres.system() as conn:
        regrades = due.requested_regrades(conn)
        wanted = {
            publish_portfolio.name: due.written_portfolios(instance, conn, now),
            export_portfolio.name: due.queued_exports(conn, now),
            send_mails.name: due.messages(supplier_mails.companies_with_due_mails(conn, now) if mailed else ()),
            send_webhooks.name: due.messages(webhooks.companies(conn, now)),
        }
    stored = Stored(postgres, portfolios, rule_sets)
    requests = _regrade_requests(instance, stored, regrades) if regrades else []
    for job_name, of_job in wanted.items():
        requests += due.requests_of_companies(instance, job_name, of_job)
    left = ", ".join(sorted({run.tags[tags.REGRADE] for run in regrades.values()}))
    left = f"{len(regrades)} regrades left by {left}" if regrades else _NONE_LEFT
    runs = len(regrades) + sum(map(len, wanted.values()))
    idle = f"Nothing is to be started: {runs} runs are due, and each is under way or waits for another try."
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=due.partition_requests(instance, requests),
        asset_events=[] if left == (context.cursor or _NONE_LEFT) else [_older_rules(stored)],
        skip_reason=None if requests else (idle if runs else "Nothing is due.") + ("" if mailed else _NOT_MAILED),
        cursor=left,
    )


@_sensor(
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
    instance = instance_of(context)
    with postgres.system() as conn:
        version = rule_sets.active(conn).version
        lost = due.lost_portfolios(conn, portfolios, clock.now())
    requests = [
        *(_rule_set_requests(instance, version) or ()),
        *due.undone_work(instance, refresh_catalogue.name, BY_SCHEDULE, clock.now()),
        *due.undone_work(instance, keep_house.name, run_config(), clock.now()),
        *due.requests_of_companies(instance, publish_portfolio.name, lost),
    ]
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=due.partition_requests(instance, requests),
        skip_reason=None if requests else f"Nothing is overdue; {version} grades, as Dagster knows.",
    )


@_sensor(
    job=import_folders,
    minimum_interval_seconds=WATCH_SECONDS,
    description="Takes files out of the folders that the operator gave to companies, once they have come to rest, and "
    "requests the runs that import them and put them away.",
)
def watched_folders(
    context: dg.SensorEvaluationContext, postgres: Postgres, settings: ServiceSettings
) -> dg.SensorResult:
    """Request one run a company with taken files. The cursor has the files that wait: a file rests over two looks."""
    instance, now = instance_of(context), Clock().now()
    waiting, companies, faults = dict[str, str](), set[UUID](), list[str]()
    seen, watched = json.loads(context.cursor or "{}"), folders.load(settings.data_dir)
    until = monotonic() + LOOK_SECONDS
    looks = [folders.Aside(folder, partial(_looked, folder, settings, seen, now.timestamp())) for folder in watched]
    for folder, aside in zip(watched, looks, strict=True):
        try:
            for left, files in aside.answers(max(until - monotonic(), 0)):
                waiting |= left
                if folders.has_work(postgres, folder, files):
                    companies.add(folder.company_id)
        except (folders.FolderError, OSError) as fault:
            faults.append(str(fault))
            context.log.warning(str(fault))
    with postgres.system() as conn:
        slugs = slug_of(conn, sorted(companies)) if companies else {}
    wanted = due.messages(supplier_mails.Due(company_id, slug, now.isoformat()) for company_id, slug in slugs.items())
    requests = due.requests_of_companies(instance, import_folders.name, wanted)
    idle = f"No file is to be taken or put away; {len(waiting)} are left to come to rest."
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=due.partition_requests(instance, requests),
        skip_reason=None if requests else " ".join([*faults, idle]),
        cursor=json.dumps(waiting),
    )


def _looked(
    folder: folders.Folder, settings: Settings, seen: Mapping[str, str], now: float
) -> Iterator[tuple[dict[str, str], list[folders.Taken]]]:
    place = folders.place_of(folder, settings)
    yield folders.take(place, seen, now), folders.under_way(place)


def _regrade_requests(
    instance: dg.DagsterInstance, stored: Stored, regrades: Mapping[str, WantedRun]
) -> list[dg.RunRequest]:
    """Return the runs of regrades, without companies that a backfill or a person regrades now.

    Dagster hears of the version first: what is graded before it knows would show as graded by an older one.
    """
    with stored.pool.system() as conn:
        version = stored.registry.active(conn).version
    if (untold := _rule_set_requests(instance, version)) is not None:
        return untold
    taken = due.being_materialised(instance, regraded_skus.key.to_user_string(), regrades)
    left = {slug: run for slug, run in regrades.items() if slug not in taken}
    return due.requests_of_companies(instance, regrade_portfolios.name, left)


def _rule_set_requests(instance: dg.DagsterInstance, version: str) -> list[dg.RunRequest] | None:
    """Return the run that tells Dagster the version of the rules; None where its latest materialisation has it."""
    latest = instance.get_latest_materialization_event(rule_set.key)
    reported = None if latest is None else latest.asset_materialization
    told = None if reported is None else reported.metadata.get(VERSION)  # one that a person reports by hand has none
    if told is not None and told.value == version:
        return None
    before = "none" if latest is None else f"{latest.timestamp:.0f}"
    return due.requests_of_job(instance, read_rule_set.name, f"{version}/{before}", run_config())


def _older_rules(stored: Stored) -> dg.AssetCheckEvaluation:
    """Return the verdict on how many companies are held by older rules, which changed without a run of the asset."""
    verdict, warning = OLDER_RULES.look(stored), dg.AssetCheckSeverity.WARN
    return dg.AssetCheckEvaluation(rule_set.key, OLDER_RULES.name, verdict.passed, verdict.metadata, severity=warning)
