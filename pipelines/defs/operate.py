"""Defines the daily housekeeping: an op for each kind of removal, anonymisation or entry, which reports how much.

They produce no data, so they are ops and not assets. Each may be stopped at any piece and run again at any time; the
work itself is in `pipelines.operate`.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import dagster as dg

from pipelines import operate
from pipelines.defs import daily_schedule, op
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import Resources
from pipelines.engine.schedules import ENDED
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


@op("postgres", "clock")
def kept_answers(_: dg.OpExecutionContext, house: Resources, proceed: Proceed) -> Mapping[str, object]:
    """Remove answers kept for repeated requests after their 24 hours."""
    return {"answers_removed": operate.remove_old_answers(house.postgres, house.clock, proceed)}


@op("postgres", "clock")
def expired_access(_: dg.OpExecutionContext, house: Resources, proceed: Proceed) -> Mapping[str, object]:
    """Remove ended tokens, codes and sessions, request counts of inactive callers, and unused applications."""
    return {"rows_removed": operate.remove_expired_access(house.postgres, house.clock, proceed)}


@op("postgres", "clock")
def anonymised_addresses(_: dg.OpExecutionContext, house: Resources, proceed: Proceed) -> Mapping[str, object]:
    """Remove addresses and user agents from audit ledgers and imports after 12 calendar months; actions are kept."""
    return {"records_changed": operate.forget_addresses(house.postgres, house.clock, proceed)}


@op("postgres", "portfolios", "clock")
def audit_heads(_: dg.OpExecutionContext, house: Resources, _proceed: Proceed) -> Mapping[str, object]:
    """Ship the signed heads of all audit chains to the folder `PCDS_AUDIT_HEADS`, where the operator has set one."""
    settings = Settings.load(data_dir=house.portfolios)
    if settings.audit_heads is None:
        return {"file": "none: PCDS_AUDIT_HEADS is not set"}
    return {"file": operate.ship(settings, house.postgres, settings.audit_heads, house.clock.now()).name}


@op("postgres", "clock")
def expired_docs(_: dg.OpExecutionContext, house: Resources, proceed: Proceed) -> Mapping[str, object]:
    """Enter each declaration of conformity whose last day (UTC) has passed once in its company's audit ledger.

    They and their SKUs read as expired from that day on without this op.
    """
    return {"docs_entered": operate.enter_expiries(house.postgres, house.clock, proceed)}


@op("postgres", "object_store", "clock")
def expired_exports(_: dg.OpExecutionContext, house: Resources, proceed: Proceed) -> Mapping[str, object]:
    """Remove exports of portfolios, with their files, seven days after they ended."""
    objects, clock = house.object_store, house.clock
    return {"exports_removed": operate.remove_expired_exports(house.postgres, objects, clock, proceed)}


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


@dg.job(description="Once a day: what is old or orphaned goes; declarations that have expired are entered.")
def keep_house() -> None:
    """The ops are independent of each other: where one fails, the others still run."""
    for removal in (
        orphan_objects,
        kept_answers,
        expired_access,
        anonymised_addresses,
        audit_heads,
        expired_docs,
        expired_exports,
        old_snapshots,
        old_runs,
    ):
        removal()


daily_housekeeping: Final[dg.ScheduleDefinition] = daily_schedule(
    "daily_housekeeping",
    keep_house.name,
    "5 0 * * *",  # when the UTC day has changed on every machine
    run_config(),
)
