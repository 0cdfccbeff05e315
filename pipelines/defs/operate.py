"""Defines the daily housekeeping: an op for each kind of removal, anonymisation or entry, which reports how much.

They produce no data, so they are ops and not assets. Each may be stopped at any piece and run again at any time; the
work itself is in `pipelines.operate`.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

import dagster as dg

from pipelines import exports, filings, operate, suppliers
from pipelines.defs import daily_schedule, op
from pipelines.due import ENDED
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import Resources
from pipelines.engine.tags import FOLLOWED
from pipelines.operate import Proceed
from warehouse.figures import snapshots
from warehouse.operate.clock import Clock
from warehouse.operate.settings import Settings

FOLLOWED_KEPT_FOR: Final = timedelta(days=2)
"""How long Dagster keeps the record of a run that followed a write."""
_BATCH: Final = 100


@op("postgres", "object_store")
def orphan_objects(_: dg.OpExecutionContext, house: Resources, proceed: Proceed) -> Mapping[str, object]:
    """Remove uploaded objects older than an hour that no record names: a crash between object and record left them."""
    swept = operate.remove_orphans(house.postgres, house.object_store, proceed)
    return {
        "companies": swept.companies,
        "objects_looked_at": swept.looked_at,
        "unfinished_uploads_removed": swept.unfinished,
        **{f"{folder}_objects_removed": number for folder, number in swept.removed.items()},
    }


@op("postgres", "portfolios", "clock")
def audit_heads(_: dg.OpExecutionContext, house: Resources, _proceed: Proceed) -> Mapping[str, object]:
    """Ship the signed heads of all audit chains to the folder `PCDS_AUDIT_HEADS`, where the operator has set one."""
    settings = Settings.load(data_dir=house.portfolios)
    if settings.audit_heads is None:
        return {"file": "none: PCDS_AUDIT_HEADS is not set"}
    return {"file": operate.ship(settings, house.postgres, settings.audit_heads, house.clock.now()).name}


@op("portfolios")
def old_snapshots(_: dg.OpExecutionContext, house: Resources, _proceed: Proceed) -> Mapping[str, object]:
    """Remove snapshots that newer ones have replaced, and the remains of one whose writing was killed."""
    return {"snapshots_removed": snapshots.sweep(house.portfolios)}


@op("retention")
def old_runs(context: dg.OpExecutionContext, house: Resources, proceed: Proceed) -> Mapping[str, object]:
    """Remove Dagster's own runs with their events when they are older than the setting `PCDS_RUNS_KEPT_DAYS`.

    Runs that followed a write are removed after two days. An import's report and the file and line behind each record
    are rows of the service's own and stay. Days are those of Dagster's clock, which no setting of ours shifts.
    """
    now, removed, kept_days = dagster_now(), 0, house.retention.runs_kept_days
    expired = dg.RunsFilter(statuses=ENDED, created_before=now - timedelta(days=kept_days))
    followed = dg.RunsFilter(statuses=ENDED, tags=FOLLOWED, created_before=now - FOLLOWED_KEPT_FOR)
    for chosen in (expired, followed):
        while runs := context.instance.get_runs(chosen, limit=_BATCH):
            for run in runs:
                proceed()
                context.instance.delete_run(run.run_id)
                removed += 1
    return {"runs_removed": removed, "kept_days": kept_days}


def dagster_now() -> datetime:
    """Return the time of the machine's clock, with which Dagster stamps its runs."""
    return Clock().now()


def _counting(name: str, counted: str, work: Callable[..., int], *resources: str) -> dg.OpDefinition:
    """Return the op that passes these resources to a function of `pipelines.operate`, and shows what it has counted."""

    def function(_: dg.OpExecutionContext, house: Resources, proceed: Proceed) -> Mapping[str, object]:
        return {counted: work(*(getattr(house, resource) for resource in resources), proceed)}

    function.__name__, function.__doc__ = name, work.__doc__
    return op(*resources)(function)


_OPS: Final = (
    orphan_objects,
    _counting("kept_answers", "answers_removed", operate.remove_old_answers, "postgres", "clock"),
    _counting("expired_access", "rows_removed", operate.remove_expired_access, "postgres", "clock"),
    _counting("anonymised_addresses", "records_changed", operate.forget_addresses, "postgres", "clock"),
    audit_heads,
    _counting("expired_docs", "docs_entered", operate.enter_expiries, "postgres", "clock"),
    _counting("due_mails_planned", "mails_stored", filings.plan_mails, "postgres", "settings", "clock"),
    _counting("enquiries_asked_again", "enquiries_made", suppliers.ask_again, "postgres", "settings", "clock"),
    _counting("expired_exports", "exports_removed", exports.remove_expired, "postgres", "object_store", "clock"),
    old_snapshots,
    old_runs,
)


@dg.job(
    description="Once a day: what is old or orphaned goes; declarations that have expired are entered, "
    "and who wants it is mailed what comes up."
)
def keep_house() -> None:
    """The ops are independent of each other: where one fails, the others still run."""
    for removal in _OPS:
        removal()


daily_housekeeping: Final[dg.ScheduleDefinition] = daily_schedule(
    "daily_housekeeping",
    keep_house.name,
    "5 0 * * *",  # when the UTC day has changed on every machine
    run_config(),
)
