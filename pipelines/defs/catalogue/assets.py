"""Defines group reference: the assets that no company owns, the jurisdiction catalogue and the rule-sets."""

from datetime import timedelta
from typing import Final

import dagster as dg

from compliance.tables import TableError
from pipelines import catalogue, regrading
from pipelines.catalogue import Changes
from pipelines.defs import OWNERS
from pipelines.defs.catalogue.checks import OLDER_RULES, older_rules_verdict
from pipelines.engine import checks
from pipelines.engine.resources import Portfolios, Postgres, RuleSets, ServiceClock
from pipelines.shown import columns, preview
from warehouse.audit.origin import Origin
from warehouse.catalogue import queries
from warehouse.companies.queries import every_company

GROUP: Final = "reference"
VERSION: Final = "version"
"""The metadata key of `rule_set` for its version."""
CHANGES: Final = "changes"
"""The metadata key for everything that a load of the catalogue changed; `pcds catalogue refresh` reads it."""
DAILY: Final = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=26), warn_window=timedelta(hours=25))
"""For assets that a schedule makes once a day. Assets that follow writes have no policy: they never age."""


class CatalogueSource(dg.Config):
    """The source of the catalogue: an operator's CSV, or the release's file where none is named.

    `file` is a name in the folder `catalogue` of the data directory, where `pcds catalogue refresh` has put it; no
    other file is read (decision 0032). `operator` is the account of a command's caller. A run `by_schedule` leaves an
    operator's file in place, and loads the release's only where its content differs.
    """

    file: str | None = None
    operator: str | None = None
    by_schedule: bool = False


catalogue_file: Final = dg.AssetSpec(
    "catalogue_file",
    group_name=GROUP,
    owners=OWNERS,
    kinds={"csv"},
    tags={"pcds/stage": "received"},
    description="The catalogue as a file that people keep: one row per jurisdiction, source and date of each fact.",
)
"""Read by the asset below, so that an analyst can materialise that one alone."""


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"postgres"},
    tags={"pcds/stage": "received"},
    metadata=columns.metadata("rule_set"),
    check_specs=[OLDER_RULES],
)
def rule_set(
    context: dg.AssetExecutionContext, postgres: Postgres, clock: ServiceClock, rule_sets: RuleSets
) -> checks.CheckedResult:
    """The version of the rules that grades SKUs, added and activated by `pcds ruleset`; a source in each row.

    Its name is the data version, so that SKUs graded by another version show as out of date. Where a release brings a
    newer version, this requests a regrade of every company that lacks it; an activation has already requested its own.
    """
    with postgres.pool.system() as conn:
        rules = rule_sets.registry.active(conn)
    company_ids = every_company(postgres.pool)
    requested = regrading.request_lacking(postgres.pool, company_ids, rules.version, clock.now())
    if requested:
        context.log.info("Asked for the regrade of %s companies by %s.", requested, rules.version)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(rules.version),
        metadata={
            VERSION: rules.version,
            "rules": len(rules.rules),
            "companies": len(company_ids),
            "regrades_asked": requested,
            **columns.metadata("rule_set"),
        },
        check_results=[
            dg.AssetCheckResult(**older_rules_verdict(len(regrading.open_regrades(postgres.pool)), rules.version)),
        ],
    )


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"postgres"},
    tags={"pcds/stage": "stored"},
    deps=[catalogue_file],
    metadata=columns.metadata("jurisdiction_catalogue"),
    freshness_policy=DAILY,
    dagster_type=dg.PythonObjectDagsterType(Changes),
    check_specs=checks.CATALOGUE_SPECS,
)
def jurisdiction_catalogue(
    context: dg.AssetExecutionContext,
    config: CatalogueSource,
    postgres: Postgres,
    clock: ServiceClock,
    portfolios: Portfolios,
) -> checks.CheckedResult:
    """The jurisdictions that the service knows, as served: EPR system, register, law, depth 1 to 3 and its date."""
    try:
        file = catalogue.read(catalogue.stored_file(portfolios.folder, config.file) if config.file else None)
    except TableError as faults:
        raise dg.Failure(str(faults), allow_retries=False) from None
    verdict = checks.contract({"jurisdictions": (checks.CATALOGUE, file.frame())})
    if not verdict.passed:
        sentence = "The catalogue breaks its contract; the cells that do are in the run's metadata."
        raise dg.Failure(sentence, metadata=verdict.metadata, allow_retries=False)
    now = clock.now()
    with postgres.pool.system() as conn:
        if config.by_schedule and not catalogue.is_needed(conn, file):
            changes = catalogue.unchanged_load(conn, now)
        else:
            changes = catalogue.load(conn, file, _origin(context, config), now)
        stored = queries.stored(conn)
    codes = {name: getattr(changes, name) for name in ("added", "changed", "removed", "demoted")}
    return dg.MaterializeResult(
        value=changes,
        data_version=dg.DataVersion(changes.source_hash),  # what is made from it stays up to date while it is the same
        metadata={
            "rows": len(stored),
            "dagster/row_count": len(stored),
            "source_hash": changes.source_hash,
            **{name: len(listed) for name, listed in codes.items()},
            "unchanged": changes.unchanged,
            "codes": preview.table(("change", "codes"), [(name, ", ".join(listed)) for name, listed in codes.items()]),
            CHANGES: dg.MetadataValue.json(changes.as_dict()),
            **columns.metadata("jurisdiction_catalogue"),
        },
        check_results=[verdict, *checks.catalogue(stored)],
    )


def _origin(context: dg.AssetExecutionContext, config: CatalogueSource) -> Origin:
    if config.operator is None:
        return Origin("system", None, "catalogue", context.run.run_id)
    return Origin("operator", config.operator, "operator", context.run.run_id)
