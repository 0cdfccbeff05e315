"""What is removed, anonymised or entered once a day, an op each, which says how much it did.

They make no data, so they are ops and no assets. Each may be stopped at any piece and run again at any time; what they
do is `pipelines.housekeeping`.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import dagster as dg

from pipelines import housekeeping
from pipelines.engine.pieces import interruptible
from pipelines.engine.resources import ObjectStore, Portfolios, Postgres, Retention, ServiceClock, Shutdown
from pipelines.engine.run_logs import RunLogs
from pipelines.engine.tags import FOLLOWED
from pipelines.housekeeping import Proceed
from warehouse import snapshots
from warehouse.clock import Clock
from warehouse.sessions import Pool

FOLLOWED_KEPT_FOR: Final = timedelta(days=2)
"""How long the record of a run is kept that followed a write."""
_ENDED: Final = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
_BATCH: Final = 100
_OUT: Final = dg.Out(dg.Nothing)


@dg.op(out=_OUT)
def orphan_objects(
    context: dg.OpExecutionContext, postgres: Postgres, object_store: ObjectStore, shutdown: Shutdown
) -> None:
    """Uploaded bytes that no record names, older than an hour: a crash between bytes and record left them."""
    with interruptible(context, shutdown.begun) as proceed:
        swept = housekeeping.remove_orphans(postgres.pool, object_store.objects, proceed)
    context.add_output_metadata(
        {
            "companies": swept.companies,
            "objects_looked_at": swept.looked_at,
            "unfinished_uploads_removed": swept.unfinished,
            **{f"{folder}_objects_removed": number for folder, number in swept.removed.items()},
        }
    )


def _counting(counted: str) -> Callable[[Callable[[Pool, Clock, Proceed], int]], dg.OpDefinition]:
    """An op over the database's rows by the service's day, as a function is named and described that returns a count.

    `counted` is the name of the count.
    """

    def made(function: Callable[[Pool, Clock, Proceed], int]) -> dg.OpDefinition:
        def op(context: dg.OpExecutionContext, postgres: Postgres, clock: ServiceClock, shutdown: Shutdown) -> None:
            with interruptible(context, shutdown.begun) as proceed:
                number = function(postgres.pool, clock.clock, proceed)
            context.add_output_metadata({counted: number})

        op.__name__, op.__doc__ = function.__name__, function.__doc__
        return dg.op(out=_OUT)(op)

    return made


@_counting("answers_removed")
def kept_answers(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Answers kept for requests that are sent again, removed after their 24 hours."""
    return housekeeping.remove_old_answers(pool, clock, proceed)


@_counting("rows_removed")
def expired_access(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Tokens, codes and sessions that have ended, request counts of quiet callers, applications nobody connected."""
    return housekeeping.remove_expired_access(pool, clock, proceed)


@_counting("records_changed")
def anonymised_addresses(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Addresses and user agents in audit ledgers and imports, forgotten after 12 calendar months; actions are kept."""
    return housekeeping.forget_addresses(pool, clock, proceed)


@_counting("docs_entered")
def expired_docs(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Declarations of conformity whose last day (UTC) has passed, entered once in their company's audit ledger.

    They and their SKUs read as expired from that day on by themselves.
    """
    return housekeeping.enter_expiries(pool, clock, proceed)


@dg.op(out=_OUT)
def old_snapshots(context: dg.OpExecutionContext, portfolios: Portfolios, shutdown: Shutdown) -> None:
    """Snapshots that newer ones have replaced, and what a kill left of one that was being written."""
    with interruptible(context, shutdown.begun):
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
    """What assets handed on, as old as the runs that are removed; the newest of each asset and company stays."""
    with interruptible(context, shutdown.begun) as proceed:
        removed = housekeeping.remove_old_outputs(postgres.pool, object_store.objects, retention.runs_kept_for, proceed)
    context.add_output_metadata({"objects_removed": removed})


@dg.op(out=_OUT)
def old_runs(context: dg.OpExecutionContext, shutdown: Shutdown, retention: Retention) -> None:
    """Dagster's own runs with their events, removed when they are older than the setting `PCDS_RUNS_KEPT_DAYS`.

    Runs that followed a write go after two days. An import's report and the file and line behind each record are rows
    of the service's own and stay. Days are those of Dagster's clock, which no setting of ours shifts.
    """
    now, removed = dagster_now(), 0
    every = dg.RunsFilter(statuses=_ENDED, created_before=now - retention.runs_kept_for)
    followed = dg.RunsFilter(statuses=_ENDED, tags=FOLLOWED, created_before=now - FOLLOWED_KEPT_FOR)
    with interruptible(context, shutdown.begun) as proceed:
        for chosen in (every, followed):
            while runs := context.instance.get_runs(chosen, limit=_BATCH):
                for run in runs:
                    proceed()
                    context.instance.delete_run(run.run_id)
                    context.instance.compute_log_manager.delete_logs(prefix=[run.run_id])
                    removed += 1
    context.add_output_metadata({"runs_removed": removed, "kept_days": retention.runs_kept_days})


@dg.op(out=_OUT)
def old_logs(context: dg.OpExecutionContext, shutdown: Shutdown, retention: Retention) -> None:
    """What sensors, schedules and backfills logged, and runs whose record somebody has deleted, as old as runs get.

    A run's own log goes with the run.
    """
    logs, removed = context.instance.compute_log_manager, 0
    with interruptible(context, shutdown.begun):
        if isinstance(logs, RunLogs):
            removed = logs.delete_older(retention.runs_kept_for)
    context.add_output_metadata({"logs_removed": removed})


def dagster_now() -> datetime:
    """The machine's clock, by which Dagster stamps its runs."""
    return Clock().now()
