"""Group housekeeping: what is removed, anonymised or entered once a day, each with the counts of what it did.

No asset here holds data: what it materialises is that the house is kept. Each may be stopped at any piece and run
again at any time; what they do is `pipelines.steps.housekeeping`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

import dagster as dg
from dagster._time import get_current_datetime  # the clock that stamps Dagster's runs, which no setting of ours shifts

from pipelines import checks
from pipelines.assets.intake import OWNERS
from pipelines.resources import Workshop
from pipelines.steps import housekeeping
from pipelines.steps.housekeeping import Proceed
from pipelines.tags import FOLLOWED
from warehouse import snapshots

GROUP: Final = "housekeeping"
DAILY: Final = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=26), warn_window=timedelta(hours=25))
"""Of what a schedule makes once a day. What follows writes has none: however old, it is as fresh as the last write."""

_ENDED: Final = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
_BATCH: Final = 100
FOLLOWED_KEPT_FOR: Final = timedelta(days=2)
"""How long the record of a run is kept that followed a write."""


class Stopping(Exception):  # noqa: N818  (no fault of the program: another run goes on)
    """The process shall end."""


@contextmanager
def interruptible(context: dg.AssetExecutionContext | dg.OpExecutionContext, workshop: Workshop) -> Iterator[Proceed]:
    """Yields the question that is asked before each piece of work; a run whose process is stopping ends as canceled."""

    def proceed() -> None:
        if workshop.stopping.is_set():
            raise Stopping

    try:
        proceed()
        yield proceed
    except Stopping:
        sentence = "The process is stopping; what was done stays, and the next worker does the rest."
        context.instance.report_run_canceling(context.run, sentence)
        raise dg.Failure(sentence, allow_retries=False) from None


def _result(**counts: int) -> checks.CheckedResult:
    return dg.MaterializeResult(metadata=counts)


@dg.asset(group_name=GROUP, owners=OWNERS, kinds={"files"}, freshness_policy=DAILY)
def orphan_objects(context: dg.AssetExecutionContext, workshop: dg.ResourceParam[Workshop]) -> checks.CheckedResult:
    """Uploaded bytes that no record names, older than an hour: a crash between bytes and record left them."""
    with interruptible(context, workshop) as proceed:
        swept = housekeeping.remove_orphans(workshop.pool, workshop.objects, proceed)
    return _result(
        companies=swept.companies, objects_looked_at=swept.looked_at, unfinished_uploads_removed=swept.unfinished,
        **{f"{folder}_objects_removed": number for folder, number in swept.removed.items()},
    )  # fmt: skip


@dg.asset(group_name=GROUP, owners=OWNERS, kinds={"postgres"}, freshness_policy=DAILY)
def kept_answers(context: dg.AssetExecutionContext, workshop: dg.ResourceParam[Workshop]) -> checks.CheckedResult:
    """Answers kept for requests that are sent again, removed after their 24 hours."""
    with interruptible(context, workshop) as proceed:
        return _result(answers_removed=housekeeping.remove_old_answers(workshop.pool, workshop.clock, proceed))


@dg.asset(group_name=GROUP, owners=OWNERS, kinds={"postgres"}, freshness_policy=DAILY)
def expired_access(context: dg.AssetExecutionContext, workshop: dg.ResourceParam[Workshop]) -> checks.CheckedResult:
    """Tokens, codes and sessions that have ended, request counts of quiet callers, applications nobody connected."""
    with interruptible(context, workshop) as proceed:
        return _result(rows_removed=housekeeping.remove_expired_access(workshop.pool, workshop.clock, proceed))


@dg.asset(group_name=GROUP, owners=OWNERS, kinds={"postgres"}, freshness_policy=DAILY)
def anonymised_addresses(
    context: dg.AssetExecutionContext, workshop: dg.ResourceParam[Workshop]
) -> checks.CheckedResult:
    """Addresses and user agents in audit ledgers and imports, forgotten after 12 calendar months; actions are kept."""
    with interruptible(context, workshop) as proceed:
        return _result(records_changed=housekeeping.forget_addresses(workshop.pool, workshop.clock, proceed))


@dg.asset(group_name=GROUP, owners=OWNERS, kinds={"files"}, freshness_policy=DAILY)
def old_snapshots(workshop: dg.ResourceParam[Workshop]) -> checks.CheckedResult:
    """Snapshots that newer ones have replaced, and what a kill left of one that was being written."""
    return _result(snapshots_removed=snapshots.sweep(workshop.data_dir))


@dg.asset(group_name=GROUP, owners=OWNERS, kinds={"postgres"}, freshness_policy=DAILY)
def expired_docs(context: dg.AssetExecutionContext, workshop: dg.ResourceParam[Workshop]) -> checks.CheckedResult:
    """Declarations of conformity whose last day (UTC) has passed, entered once in their company's audit ledger.

    They and their SKUs read as expired from that day on by themselves.
    """
    with interruptible(context, workshop) as proceed:
        return _result(docs_entered=housekeeping.enter_expiries(workshop.pool, workshop.clock, proceed))


@dg.asset(group_name=GROUP, owners=OWNERS, kinds={"postgres"}, freshness_policy=DAILY)
def old_runs(context: dg.AssetExecutionContext, workshop: dg.ResourceParam[Workshop]) -> checks.CheckedResult:
    """Dagster's own runs with their events, removed when they are older than the setting `PCDS_RUNS_KEPT_DAYS`.

    Runs that followed a write go after two days. An import's report and the file and line behind each record are rows
    of the service's own and stay.
    """
    now, removed = get_current_datetime(), 0
    every = dg.RunsFilter(statuses=_ENDED, created_before=now - timedelta(days=workshop.runs_kept_days))
    followed = dg.RunsFilter(statuses=_ENDED, tags=FOLLOWED, created_before=now - FOLLOWED_KEPT_FOR)
    with interruptible(context, workshop) as proceed:
        for chosen in (every, followed):
            while runs := context.instance.get_runs(chosen, limit=_BATCH):
                for run in runs:
                    proceed()
                    context.instance.delete_run(run.run_id)
                    removed += 1
    return _result(runs_removed=removed, kept_days=workshop.runs_kept_days)
