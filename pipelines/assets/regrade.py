"""Group grading: what is held, graded by the rule-set of the day; a step for each company.

A company's step may be stopped, killed or run again at any time and by any process: where its regrade is, a row of the
database says (`pipelines.steps.regrade`). So nothing but the order goes from step to step.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID

import dagster as dg

from pipelines.assets import columns, preview
from pipelines.assets.grading import GROUP
from pipelines.assets.housekeeping import interruptible
from pipelines.assets.intake import OWNERS
from pipelines.resources import Workshop
from pipelines.steps import regrade
from pipelines.steps.housekeeping.companies import every_company
from pipelines.steps.regrade import Totals

_MADE_FROM: Final = ("graded_skus", "rule_set")
_BY_GRADE: Final = ("sku_code", "grade before", "grade after")


class Portfolios(dg.Config):
    """Which portfolios: one company's or all; `only_open` takes none but those whose regrade is asked for already."""

    company_id: str | None = None
    only_open: bool = False


@dg.op(ins={name: dg.In(dg.Nothing) for name in _MADE_FROM}, out=dg.DynamicOut(dg.Nothing))
def open_regrades(
    context: dg.OpExecutionContext, config: Portfolios, workshop: dg.ResourceParam[Workshop]
) -> Iterator[dg.DynamicOutput[None]]:
    """The companies whose SKUs are to be regraded; it waits until no write by an older rule-set is under way."""
    chosen = _chosen(config, workshop)
    for company_id in [] if config.only_open else chosen:
        with workshop.pool.company(company_id) as conn:
            regrade.request(conn, company_id, workshop.rulesets.active(conn).version, workshop.clock.now())
    with interruptible(context, workshop) as proceed:
        regrade.wait_for_older_writers(workshop.pool, proceed)
    for company_id in regrade.open_regrades(workshop.pool):
        if company_id in chosen:
            yield dg.DynamicOutput(None, mapping_key=company_id.hex)


@dg.op(ins={"asked": dg.In(dg.Nothing)}, out=dg.Out(dg.Nothing))
def regraded_company(context: dg.OpExecutionContext, workshop: dg.ResourceParam[Workshop]) -> None:
    """One company's SKUs, block by block."""
    desk = regrade.Desk(workshop.pool, workshop.clock, workshop.rulesets, workshop.chunk_rows, context.run_id)
    with interruptible(context, workshop) as proceed:
        regrade.go_on(desk, UUID(context.get_mapping_key()), proceed)


@dg.op(ins={"done": dg.In(dg.Nothing)}, out=dg.Out(dagster_type=dg.PythonObjectDagsterType(Totals)))
def regrade_report(context: dg.OpExecutionContext, config: Portfolios, workshop: dg.ResourceParam[Workshop]) -> Totals:
    """What the regrade by the rule-set of the day has done, runs that were broken off included."""
    with workshop.pool.system() as conn:
        version = workshop.rulesets.active(conn).version
    totals = regrade.total(workshop.pool, _chosen(config, workshop), version)
    done = totals.regraded
    context.add_output_metadata({
        "companies": totals.companies, "skus": done.skus, "skus_changed": done.changed, "ruleset_version": version,
        "matrix": preview.table(("grade before → after", "SKUs"), sorted(done.matrix.items())),
        "first_changes": preview.table(_BY_GRADE, done.examples, most=regrade.EXAMPLES, total=done.changed),
        **columns.metadata("regraded_skus"),
    })  # fmt: skip
    return totals


@dg.config_mapping(config_schema=Portfolios.to_fields_dict())
def _for_both_ends(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The steps at both ends take the same companies."""
    return {name: {"config": dict(given)} for name in ("open_regrades", "regrade_report")}


@dg.graph_asset(
    group_name=GROUP, owners=OWNERS, kinds={"postgres"}, tags={"pcds/stage": "stored"}, config=_for_both_ends,
    metadata=columns.metadata("regraded_skus"),
    ins={name: dg.AssetIn(dagster_type=dg.Nothing) for name in _MADE_FROM},
)  # fmt: skip
def regraded_skus(graded_skus: None, rule_set: None) -> Totals:
    """All held SKUs by the rule-set of the day: a matrix of grades before and after, and the first fifty changes.

    Only SKUs whose grade or trace changed are written, each as a new version with an entry in its company's ledger.
    """
    asked = open_regrades(graded_skus=graded_skus, rule_set=rule_set)
    report: Totals = regrade_report(asked.map(regraded_company).collect())
    return report


def _chosen(config: Portfolios, workshop: Workshop) -> list[UUID]:
    every = every_company(workshop.pool)
    if config.company_id is None:
        return every
    if UUID(config.company_id) not in every:
        sentence = f"There is no company {config.company_id}; `pcds company list` shows those there are."
        raise dg.Failure(sentence, allow_retries=False)
    return [UUID(config.company_id)]
