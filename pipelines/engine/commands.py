"""Runs the jobs that commands start (`pipelines.engine.run`); `dagster.Failure` says why one is refused.

The running service executes them, or this process (`pipelines.engine.execution`): a run for each company, one for the
catalogue.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from uuid import UUID

import dagster as dg

from compliance.tables import TableError
from pipelines import catalogue
from pipelines.catalogue import Changes
from pipelines.defs.catalogue import CHANGES
from pipelines.engine import execution, preview, tags
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import Resources
from pipelines.engine.tags import partition_of
from pipelines.figures import CompanyFigures, are_behind, as_dict, up_to_date_snapshot
from warehouse import rules
from warehouse.companies.queries import every_company
from warehouse.figures import stored as stored_figures
from warehouse.figures.snapshots import Snapshot, current
from warehouse.operate.sessions import Pool
from warehouse.rules import Totals


def run(
    job: str,
    resources: Resources,
    instance: dg.DagsterInstance,
    company_id: UUID,
    *,
    config: Mapping[str, Mapping[str, object]] | None = None,
    run_tags: Mapping[str, str] | None = None,
    raise_on_error: bool = True,
) -> dg.DagsterRun:
    """Run a job for the company's partition; `config` is by asset. Errors in the run are raised."""
    pool = resources.postgres
    with pool.company(company_id) as conn:
        of_company = tags.of_company(company_id, preview.company(conn, company_id)["company"])
    return execution.run(
        job,
        resources,
        instance,
        run_config=run_config(**(config or {})),
        partition=partition_of(instance, pool, company_id),
        tags=tags.PCDS | of_company | {**(run_tags or {})},
        raise_on_error=raise_on_error,
    )


def publish_company(
    resources: Resources, instance: dg.DagsterInstance, company_id: UUID, *, raise_on_error: bool = True
) -> Snapshot | None:
    """Publish the company and return its new snapshot.

    Errors are raised; without `raise_on_error`, None means that there is no new snapshot and the run has the reason.
    """
    before = current(resources.portfolios, company_id)
    run("publish_portfolio", resources, instance, company_id, raise_on_error=raise_on_error)
    after = current(resources.portfolios, company_id)
    return None if after == before else after


def publish_all(resources: Resources, instance: dg.DagsterInstance, company_ids: Sequence[UUID]) -> Iterator[Snapshot]:
    """Publish the companies, a run each, and yield their new snapshots.

    Raises `dagster.Failure`, after all others, where a company's was not published.
    """
    unpublished = list[str]()
    for company_id in company_ids:
        snapshot = publish_company(resources, instance, company_id, raise_on_error=len(company_ids) == 1)
        if snapshot is None or are_behind(resources.portfolios, company_id):
            unpublished.append(str(company_id))
        else:
            yield snapshot
    if unpublished:
        raise dg.Failure(f"Not published: {', '.join(unpublished)}. Their runs in Dagster have each reason.")


def roll_up(resources: Resources, instance: dg.DagsterInstance, company_id: UUID) -> CompanyFigures:
    """Return the company's current figures; a snapshot older than the last write is published anew first."""
    if up_to_date_snapshot(resources.postgres, resources.portfolios, company_id) is None:
        publish_company(resources, instance, company_id)
    else:
        run("roll_up", resources, instance, company_id)
    stored = stored_figures.current(resources.portfolios, company_id)
    assert stored is not None
    return as_dict(stored)


def chosen_companies(pool: Pool, company_id: UUID | None) -> list[UUID]:
    """Return the requested company, or all; raises `dagster.Failure` where there is no such company."""
    all_companies = every_company(pool)
    if company_id is None:
        return all_companies
    if company_id not in all_companies:
        raise dg.Failure(f"There is no company {company_id}; `pcds company list` shows those there are.")
    return [company_id]


def regrade_portfolios(
    resources: Resources, instance: dg.DagsterInstance, chosen: Sequence[UUID], *, only_open: bool = False
) -> Totals:
    """Regrade these companies by the active rule-set, and return the totals, earlier runs of the regrade included.

    All are requested first, so that the service does the rest when the command is killed.
    """
    pool = resources.postgres
    with pool.system() as conn:
        version = resources.rule_sets.active(conn).version
    if not only_open:
        for company_id in chosen:
            with pool.company(company_id) as conn:
                rules.request(conn, company_id, version, resources.clock.now())
    for company_id in rules.open_regrades(pool):
        if company_id in chosen:
            run(
                "regrade_portfolios",
                resources,
                instance,
                company_id,
                config={"regraded_skus": {"only_open": True}},
                run_tags={tags.REGRADE: version},
            )
    return rules.total(pool, chosen, version)


def refresh_catalogue(
    resources: Resources, instance: dg.DagsterInstance, file: Path | None, *, operator: str | None = None
) -> Changes:
    """Load an operator's file, or the release's; raises `dagster.Failure` with the file's faults."""
    try:
        name = None if file is None else catalogue.copy_for_runs(resources.portfolios, file)
    except TableError as fault:
        raise dg.Failure(str(fault)) from None
    options = {"file": name, "operator": operator}
    source = {name: value for name, value in options.items() if value is not None}
    ended = execution.run(
        "refresh_catalogue",
        resources,
        instance,
        run_config=run_config(jurisdiction_catalogue=source),
        tags=tags.PCDS if operator is None else {tags.USER: operator},
    )
    [materialization] = instance.all_logs(ended.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    materialised = materialization.asset_materialization
    assert materialised is not None
    changes = materialised.metadata[CHANGES].value
    assert isinstance(changes, dict)
    return Changes(**changes)


def is_load_needed(pool: Pool) -> bool:
    """Return whether the release brings another catalogue than is stored."""
    with pool.system() as conn:
        return catalogue.is_needed(conn, catalogue.read(None))
