"""Defines the daily housekeeping: an op for each kind of removal, anonymisation or entry, which reports how much.

They produce no data, so they are ops and not assets. Each may be stopped at any piece and run again at any time; the
work itself is in `pipelines.housekeeping`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import dagster as dg

from pipelines import housekeeping
from pipelines.engine.daily import daily_schedule
from pipelines.engine.interruption import interruptible
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import ObjectStore, Portfolios, Postgres, Retention, ServiceClock, Shutdown
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


@dataclass(frozen=True, slots=True)
class _House:
    """What the ops work on; `proceed` is called between two pieces of work, and raises where the process stops."""

    postgres: Postgres
    object_store: ObjectStore
    portfolios: Portfolios
    clock: ServiceClock
    retention: Retention
    instance: dg.DagsterInstance
    proceed: Proceed

    @property
    def pool(self) -> Pool:
        """Return the database's connections."""
        return self.postgres.pool


def _op(work: Callable[[_House], Mapping[str, object]]) -> dg.OpDefinition:
    """Make an op, named and described as the decorated function, which returns what it did, for the op's metadata."""

    def op(
        context: dg.OpExecutionContext,
        *,
        postgres: Postgres,
        object_store: ObjectStore,
        portfolios: Portfolios,
        clock: ServiceClock,
        retention: Retention,
        shutdown: Shutdown,
    ) -> None:
        with interruptible(context, shutdown.event) as proceed:
            house = _House(postgres, object_store, portfolios, clock, retention, context.instance, proceed)
            context.add_output_metadata(work(house))

    op.__name__, op.__doc__ = work.__name__, work.__doc__
    return dg.op(out=dg.Out(dg.Nothing))(op)


@_op
def orphan_objects(house: _House) -> Mapping[str, object]:
    """Remove uploaded objects older than an hour that no record names: a crash between object and record left them."""
    swept = housekeeping.remove_orphans(house.pool, house.object_store.objects, house.proceed)
    return {
        "companies": swept.companies,
        "objects_looked_at": swept.looked_at,
        "unfinished_uploads_removed": swept.unfinished,
        **{f"{folder}_objects_removed": number for folder, number in swept.removed.items()},
    }


@_op
def kept_answers(house: _House) -> Mapping[str, object]:
    """Remove answers kept for repeated requests after their 24 hours."""
    return {"answers_removed": housekeeping.remove_old_answers(house.pool, house.clock.clock, house.proceed)}


@_op
def expired_access(house: _House) -> Mapping[str, object]:
    """Remove ended tokens, codes and sessions, request counts of inactive callers, and unused applications."""
    return {"rows_removed": housekeeping.remove_expired_access(house.pool, house.clock.clock, house.proceed)}


@_op
def anonymised_addresses(house: _House) -> Mapping[str, object]:
    """Remove addresses and user agents from audit ledgers and imports after 12 calendar months; actions are kept."""
    return {"records_changed": housekeeping.forget_addresses(house.pool, house.clock.clock, house.proceed)}


@_op
def audit_heads(house: _House) -> Mapping[str, object]:
    """Ship the signed heads of all audit chains to the folder `PCDS_AUDIT_HEADS`, where the operator has set one."""
    settings = Settings.load(data_dir=house.portfolios.folder)
    if settings.audit_heads is None:
        return {"file": "none: PCDS_AUDIT_HEADS is not set"}
    return {"file": heads.ship(settings, house.pool, settings.audit_heads, house.clock.now()).name}


@_op
def expired_docs(house: _House) -> Mapping[str, object]:
    """Enter each declaration of conformity whose last day (UTC) has passed once in its company's audit ledger.

    They and their SKUs read as expired from that day on without this op.
    """
    return {"docs_entered": housekeeping.enter_expiries(house.pool, house.clock.clock, house.proceed)}


@_op
def expired_exports(house: _House) -> Mapping[str, object]:
    """Remove exports of portfolios, with their files, seven days after they ended."""
    objects, clock = house.object_store.objects, house.clock.clock
    return {"exports_removed": housekeeping.remove_expired_exports(house.pool, objects, clock, house.proceed)}


@_op
def old_snapshots(house: _House) -> Mapping[str, object]:
    """Remove snapshots that newer ones have replaced, and the remains of one whose writing was killed."""
    return {"snapshots_removed": snapshots.sweep(house.portfolios.folder)}


@_op
def old_runs(house: _House) -> Mapping[str, object]:
    """Remove Dagster's own runs with their events when they are older than the setting `PCDS_RUNS_KEPT_DAYS`.

    Runs that followed a write are removed after two days. An import's report and the file and line behind each record
    are rows of the service's own and stay. Days are those of Dagster's clock, which no setting of ours shifts.
    """
    now, removed, retention = dagster_now(), 0, house.retention
    expired = dg.RunsFilter(statuses=ENDED, created_before=now - retention.runs_kept_for)
    followed = dg.RunsFilter(statuses=ENDED, tags=FOLLOWED, created_before=now - FOLLOWED_KEPT_FOR)
    for chosen in (expired, followed):
        while runs := house.instance.get_runs(chosen, limit=_BATCH):
            for run in runs:
                house.proceed()
                house.instance.delete_run(run.run_id)
                removed += 1
    return {"runs_removed": removed, "kept_days": retention.runs_kept_days}


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
        old_runs,
    ):
        op()


daily_housekeeping: Final[dg.ScheduleDefinition] = daily_schedule(
    "daily_housekeeping",
    keep_house.name,
    "5 0 * * *",  # when the UTC day has changed on every machine
    run_config(),
)
