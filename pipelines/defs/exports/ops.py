"""Defines the op that writes a company's waiting exports; the work itself is in `pipelines.exports`."""

from uuid import UUID

import dagster as dg

from pipelines import exports
from pipelines.engine import tags
from pipelines.engine.interruption import interruptible
from pipelines.engine.partitions import company_of
from pipelines.engine.resources import ObjectStore, Portfolios, Postgres, ServiceClock, Shutdown
from pipelines.exports import Place
from pipelines.shown import preview


@dg.op(out=dg.Out(dg.Nothing))
def waiting_exports(
    context: dg.OpExecutionContext,
    *,
    postgres: Postgres,
    object_store: ObjectStore,
    clock: ServiceClock,
    portfolios: Portfolios,
    shutdown: Shutdown,
) -> None:
    """Write the files of the company's waiting exports; a run that finds none has nothing to do."""
    company_id = company_of(postgres.pool, context.partition_key)
    with postgres.pool.company(company_id) as conn:
        named = preview.company(conn, company_id)
    tags.name_company(context, company_id, named["company"])
    place = Place(postgres.pool, object_store.objects, clock.clock, portfolios.folder, company_id)
    with interruptible(context, shutdown.event) as proceed:
        outcomes = exports.export_waiting(place, UUID(context.run.run_id), proceed)
        context.add_output_metadata({**named, **{f"exports_{outcome}": count for outcome, count in outcomes.items()}})
