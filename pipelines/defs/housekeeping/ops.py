"""What is removed, anonymised or entered once a day, an op each, which says how much it did.

They make no data, so they are ops and no assets. Each may be stopped at any piece and run again at any time; what they
do is `pipelines.housekeeping`.
"""

from datetime import datetime, timedelta
from typing import Final

import dagster as dg

from pipelines import housekeeping
from pipelines.engine.pieces import interruptible
from pipelines.engine.resources import Workshop
from pipelines.engine.tags import FOLLOWED
from warehouse import snapshots
from warehouse.clock import Clock

FOLLOWED_KEPT_FOR: Final = timedelta(days=2)
"""How long the record of a run is kept that followed a write."""
_ENDED: Final = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
_BATCH: Final = 100
_OUT: Final = dg.Out(dg.Nothing)


@dg.op(out=_OUT)
def orphan_objects(context: dg.OpExecutionContext, workshop: dg.ResourceParam[Workshop]) -> None:
    """Uploaded bytes that no record names, older than an hour: a crash between bytes and record left them."""
    with interruptible(context, workshop) as proceed:
        swept = housekeeping.remove_orphans(workshop.pool, workshop.objects, proceed)
    context.add_output_metadata({
        "companies": swept.companies, "objects_looked_at": swept.looked_at,
        "unfinished_uploads_removed": swept.unfinished,
        **{f"{folder}_objects_removed": number for folder, number in swept.removed.items()},
    })  # fmt: skip


@dg.op(out=_OUT)
def kept_answers(context: dg.OpExecutionContext, workshop: dg.ResourceParam[Workshop]) -> None:
    """Answers kept for requests that are sent again, removed after their 24 hours."""
    with interruptible(context, workshop) as proceed:
        removed = housekeeping.remove_old_answers(workshop.pool, workshop.clock, proceed)
    context.add_output_metadata({"answers_removed": removed})


@dg.op(out=_OUT)
def expired_access(context: dg.OpExecutionContext, workshop: dg.ResourceParam[Workshop]) -> None:
    """Tokens, codes and sessions that have ended, request counts of quiet callers, applications nobody connected."""
    with interruptible(context, workshop) as proceed:
        removed = housekeeping.remove_expired_access(workshop.pool, workshop.clock, proceed)
    context.add_output_metadata({"rows_removed": removed})


@dg.op(out=_OUT)
def anonymised_addresses(context: dg.OpExecutionContext, workshop: dg.ResourceParam[Workshop]) -> None:
    """Addresses and user agents in audit ledgers and imports, forgotten after 12 calendar months; actions are kept."""
    with interruptible(context, workshop) as proceed:
        changed = housekeeping.forget_addresses(workshop.pool, workshop.clock, proceed)
    context.add_output_metadata({"records_changed": changed})


@dg.op(out=_OUT)
def expired_docs(context: dg.OpExecutionContext, workshop: dg.ResourceParam[Workshop]) -> None:
    """Declarations of conformity whose last day (UTC) has passed, entered once in their company's audit ledger.

    They and their SKUs read as expired from that day on by themselves.
    """
    with interruptible(context, workshop) as proceed:
        entered = housekeeping.enter_expiries(workshop.pool, workshop.clock, proceed)
    context.add_output_metadata({"docs_entered": entered})


@dg.op(out=_OUT)
def old_snapshots(context: dg.OpExecutionContext, workshop: dg.ResourceParam[Workshop]) -> None:
    """Snapshots that newer ones have replaced, and what a kill left of one that was being written."""
    with interruptible(context, workshop):
        removed = snapshots.sweep(workshop.data_dir)
    context.add_output_metadata({"snapshots_removed": removed})


@dg.op(out=_OUT)
def old_outputs(context: dg.OpExecutionContext, workshop: dg.ResourceParam[Workshop]) -> None:
    """What assets handed on, as old as the runs that are removed; the newest of each asset and company stays."""
    kept_for = timedelta(days=workshop.runs_kept_days)
    with interruptible(context, workshop) as proceed:
        removed = housekeeping.remove_old_outputs(workshop.pool, workshop.objects, kept_for, proceed)
    context.add_output_metadata({"objects_removed": removed})


@dg.op(out=_OUT)
def old_runs(context: dg.OpExecutionContext, workshop: dg.ResourceParam[Workshop]) -> None:
    """Dagster's own runs with their events, removed when they are older than the setting `PCDS_RUNS_KEPT_DAYS`.

    Runs that followed a write go after two days. An import's report and the file and line behind each record are rows
    of the service's own and stay. Days are those of Dagster's clock, which no setting of ours shifts.
    """
    now, removed = dagster_now(), 0
    every = dg.RunsFilter(statuses=_ENDED, created_before=now - timedelta(days=workshop.runs_kept_days))
    followed = dg.RunsFilter(statuses=_ENDED, tags=FOLLOWED, created_before=now - FOLLOWED_KEPT_FOR)
    with interruptible(context, workshop) as proceed:
        for chosen in (every, followed):
            while runs := context.instance.get_runs(chosen, limit=_BATCH):
                for run in runs:
                    proceed()
                    context.instance.delete_run(run.run_id)
                    removed += 1
    context.add_output_metadata({"runs_removed": removed, "kept_days": workshop.runs_kept_days})


def dagster_now() -> datetime:
    """The machine's clock, by which Dagster stamps its runs."""
    return Clock().now()
