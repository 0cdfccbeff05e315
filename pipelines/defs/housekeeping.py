"""Defines the daily housekeeping: an op for each kind of removal, anonymisation or entry, which reports how much.

They produce no data, so they are ops and not assets. Each may be stopped at any piece and run again at any time; the
work itself is in `pipelines.housekeeping`.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import dagster as dg

from pipelines import housekeeping
from pipelines.engine.daily import daily_schedule
from pipelines.engine.interruption import interruptible
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import ObjectStore, Portfolios, Postgres, Retention, ServiceClock, Shutdown
from pipelines.engine.run_logs import RunLogs
from pipelines.engine.run_requests import ENDED
from pipelines.engine.tags import FOLLOWED
from pipelines.housekeeping import Proceed, heads
from warehouse import snapshots
from warehouse.clock import Clock
from warehouse.sessions import Pool
from warehouse.settings import Settings

FOLLOWED_KEPT_FOR: Final = timedelta(days=2)
"""How long Dagster keeps the record of a run that followed a write."""
_BATCH: Final = 100
_OUT: Final = dg.Out(dg.Nothing)


@dg.op(out=_OUT)
def orphan_objects(
    context: dg.OpExecutionContext, postgres: Postgres, object_store: ObjectStore, shutdown: Shutdown
) -> None:
    """Remove uploaded objects older than an hour that no record names: a crash between object and record left them."""
    with interruptible(context, shutdown.event) as proceed:
        swept = housekeeping.remove_orphans(postgres.pool, object_store.objects, proceed)
    context.add_output_metadata(
        {
            "companies": swept.companies,
            "objects_looked_at": swept.looked_at,
            "unfinished_uploads_removed": swept.unfinished,
            **{f"{folder}_objects_removed": number for folder, number in swept.removed.items()},
        }
    )


def _counting_op(counted: str) -> Callable[[Callable[[Pool, Clock, Proceed], int]], dg.OpDefinition]:
    """Make an op, named and described as the decorated function, that reports the count that the function returns.

    `counted` is the name of the count in the op's metadata.
    """

    def decorate(count: Callable[[Pool, Clock, Proceed], int]) -> dg.OpDefinition:
        def op(context: dg.OpExecutionContext, postgres: Postgres, clock: ServiceClock, shutdown: Shutdown) -> None:
            with interruptible(context, shutdown.event) as proceed:
                number = count(postgres.pool, clock.clock, proceed)
            context.add_output_metadata({counted: number})

        op.__name__, op.__doc__ = count.__name__, count.__doc__
        return dg.op(out=_OUT)(op)

    return decorate


@_counting_op("answers_removed")
def kept_answers(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Remove answers kept for repeated requests after their 24 hours."""
    return housekeeping.remove_old_answers(pool, clock, proceed)


@_counting_op("rows_removed")
def expired_access(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Remove ended tokens, codes and sessions, request counts of inactive callers, and unused applications."""
    return housekeeping.remove_expired_access(pool, clock, proceed)


@_counting_op("records_changed")
def anonymised_addresses(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Remove addresses and user agents from audit ledgers and imports after 12 calendar months; actions are kept."""
    return housekeeping.forget_addresses(pool, clock, proceed)


@dg.op(out=_OUT)
def audit_heads(
    context: dg.OpExecutionContext, postgres: Postgres, portfolios: Portfolios, clock: ServiceClock, shutdown: Shutdown
) -> None:
    """Ship the signed heads of all audit chains to the folder `PCDS_AUDIT_HEADS`, where the operator has set one."""
    settings = Settings.load(data_dir=portfolios.folder)
    if settings.audit_heads is None:
        context.add_output_metadata({"file": "none: PCDS_AUDIT_HEADS is not set"})
        return
    with interruptible(context, shutdown.event):
        file = heads.ship(settings, postgres.pool, settings.audit_heads, clock.clock.now())
    context.add_output_metadata({"file": file.name})


@_counting_op("docs_entered")
def expired_docs(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Enter each declaration of conformity whose last day (UTC) has passed once in its company's audit ledger.

    They and their SKUs read as expired from that day on without this op.
    """
    return housekeeping.enter_expiries(pool, clock, proceed)


@dg.op(out=_OUT)
def expired_exports(
    context: dg.OpExecutionContext,
    postgres: Postgres,
    object_store: ObjectStore,
    clock: ServiceClock,
    shutdown: Shutdown,
) -> None:
    """Remove exports of portfolios, with their files, seven days after they ended."""
    with interruptible(context, shutdown.event) as proceed:
        removed = housekeeping.remove_expired_exports(postgres.pool, object_store.objects, clock.clock, proceed)
    context.add_output_metadata({"exports_removed": removed})


@dg.op(out=_OUT)
def old_snapshots(context: dg.OpExecutionContext, portfolios: Portfolios, shutdown: Shutdown) -> None:
    """Remove snapshots that newer ones have replaced, and the remains of one whose writing was killed."""
    with interruptible(context, shutdown.event):
        removed = snapshots.sweep(portfolios.folder)
    context.add_output_metadata({"snapshots_removed": removed})


@dg.op(out=_OUT)
def old_outputs(
    context: dg.OpExecutionContext,
    postgres: Postgres,
    object_store: ObjectStore,
    shutdown: Shutdown,
    retention: Retention,
) -> None:
    """Remove stored outputs as old as the runs that are removed; the newest of each asset and company stays."""
    with interruptible(context, shutdown.event) as proceed:
        removed = housekeeping.remove_old_outputs(postgres.pool, object_store.objects, retention.runs_kept_for, proceed)
    context.add_output_metadata({"objects_removed": removed})


@dg.op(out=_OUT)
def old_runs(context: dg.OpExecutionContext, shutdown: Shutdown, retention: Retention) -> None:
    """Remove Dagster's own runs with their events when they are older than the setting `PCDS_RUNS_KEPT_DAYS`.

    Runs that followed a write are removed after two days. An import's report and the file and line behind each record
    are rows of the service's own and stay. Days are those of Dagster's clock, which no setting of ours shifts.
    """
    now, removed = dagster_now(), 0
    expired = dg.RunsFilter(statuses=ENDED, created_before=now - retention.runs_kept_for)
    followed = dg.RunsFilter(statuses=ENDED, tags=FOLLOWED, created_before=now - FOLLOWED_KEPT_FOR)
    with interruptible(context, shutdown.event) as proceed:
        for chosen in (expired, followed):
            while runs := context.instance.get_runs(chosen, limit=_BATCH):
                for run in runs:
                    proceed()
                    context.instance.delete_run(run.run_id)
                    context.instance.compute_log_manager.delete_logs(prefix=[run.run_id])
                    removed += 1
    context.add_output_metadata({"runs_removed": removed, "kept_days": retention.runs_kept_days})


@dg.op(out=_OUT)
def old_logs(context: dg.OpExecutionContext, shutdown: Shutdown, retention: Retention) -> None:
    """Remove logs of sensors, schedules, backfills and deleted runs that are as old as the runs that are removed.

    A run's own log is removed with the run.
    """
    logs, removed = context.instance.compute_log_manager, 0
    with interruptible(context, shutdown.event):
        if isinstance(logs, RunLogs):
            removed = logs.delete_older(retention.runs_kept_for)
    context.add_output_metadata({"logs_removed": removed})


def dagster_now() -> datetime:
    """Return the time of the machine's clock, with which Dagster stamps its runs."""
    return Clock().now()


@dg.job(description="Once a day: what is old or orphaned goes; declarations that have expired are entered.")
def keep_house() -> None:
    """The ops are independent of each other: where one fails, the others still run."""
    for op in (
        orphan_objects,
        kept_answers,
        expired_access,
        anonymised_addresses,
        audit_heads,
        expired_docs,
        expired_exports,
        old_snapshots,
        old_outputs,
        old_runs,
        old_logs,
    ):
        op()


daily_housekeeping: Final[dg.ScheduleDefinition] = daily_schedule(
    "daily_housekeeping",
    keep_house.name,
    "5 0 * * *",  # when the UTC day has changed on every machine
    run_config(),
)
