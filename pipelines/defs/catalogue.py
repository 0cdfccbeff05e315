"""Defines group reference: the assets that no company owns, with their checks, jobs and the daily refresh."""

from datetime import timedelta
from typing import Final

import dagster as dg

from compliance.tables import TableError
from pipelines import catalogue
from pipelines.checks import catalogue as checks
from pipelines.checks.factory import checks_of, refuse_broken
from pipelines.defs import asset, daily_schedule, spec
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import Portfolios, Postgres, RuleSets, ServiceClock
from pipelines.metadata import columns
from pipelines.metadata.columns import CATALOGUE
from pipelines.metadata.tables import table
from schemas.actors import Origin
from warehouse import catalogue as catalogue_warehouse
from warehouse import rules as rules_warehouse
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


catalogue_file: Final = spec(
    "catalogue_file",
    GROUP,
    "received",
    "csv",
    description="The catalogue as a file that people keep: one row per jurisdiction, source and date of each fact.",
)
"""Read by the asset below, so that an analyst can materialise that one alone."""


@asset(GROUP, "received", "postgres")
def rule_set(
    context: dg.AssetExecutionContext, postgres: Postgres, clock: ServiceClock, rule_sets: RuleSets
) -> dg.MaterializeResult[None]:
    """The version of the rules that grades SKUs, added and activated by `pcds ruleset`; a source in each row.

    Its name is the data version, so that SKUs graded by another version show as out of date. Where a release brings a
    newer version, this requests a regrade of every company that lacks it; an activation has already requested its own.
    """
    with postgres.system() as conn:
        rules = rule_sets.active(conn)
    company_ids = every_company(postgres)
    requested = rules_warehouse.request_lacking(postgres, company_ids, rules.version, clock.now())
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
    )


@asset(
    GROUP,
    "stored",
    "postgres",
    deps=[catalogue_file],
    freshness_policy=DAILY,
)
def jurisdiction_catalogue(
    context: dg.AssetExecutionContext,
    config: CatalogueSource,
    postgres: Postgres,
    clock: ServiceClock,
    portfolios: Portfolios,
) -> dg.MaterializeResult[None]:
    """The jurisdictions that the service knows, as served: EPR system, register, law, depth 1 to 3 and its date."""
    try:
        file = catalogue.read(catalogue.stored_file(portfolios, config.file) if config.file else None)
    except TableError as faults:
        raise dg.Failure(str(faults), allow_retries=False) from None
    refuse_broken("The catalogue breaks its contract.", {"jurisdictions": (CATALOGUE, file.frame())})
    now, by, run_id = clock.now(), config.operator, context.run.run_id
    origin = Origin("operator", by, "operator", run_id) if by else Origin("system", None, "catalogue", run_id)
    with postgres.system() as conn:
        if config.by_schedule and not catalogue.is_needed(conn, file):
            changes = catalogue.unchanged_load(conn, now)
        else:
            changes = catalogue.load(conn, file, origin, now)
        stored = catalogue_warehouse.stored(conn)
    codes = {name: getattr(changes, name) for name in ("added", "changed", "removed", "demoted")}
    return dg.MaterializeResult(
        data_version=dg.DataVersion(changes.source_hash),  # what is made from it stays up to date while it is the same
        metadata={
            "rows": len(stored),
            "dagster/row_count": len(stored),
            "source_hash": changes.source_hash,
            **{name: len(listed) for name, listed in codes.items()},
            "unchanged": changes.unchanged,
            "codes": table(("change", "codes"), [(name, ", ".join(listed)) for name, listed in codes.items()]),
            CHANGES: dg.MetadataValue.json(changes.as_dict()),
            **columns.metadata("jurisdiction_catalogue"),
        },
    )


rule_set_checks: Final = checks_of("rule_set", *checks.RULE_SET, by_company=False)
catalogue_checks: Final = checks_of("jurisdiction_catalogue", *checks.STORED_CATALOGUE, by_company=False)


refresh_catalogue: Final = dg.define_asset_job(
    "refresh_catalogue",
    selection=dg.AssetSelection.assets(jurisdiction_catalogue),
    description="The jurisdiction catalogue, from the release's pinned file or an operator's own.",
)
read_rule_set: Final = dg.define_asset_job(
    "read_rule_set",
    selection=dg.AssetSelection.assets(rule_set),
    description="Which version of the rules grades now, and how many companies are held by older ones.",
)
BY_SCHEDULE: Final = run_config(jurisdiction_catalogue={"by_schedule": True})
daily_catalogue: Final[dg.ScheduleDefinition] = daily_schedule(
    "daily_catalogue", refresh_catalogue.name, "10 0 * * *", BY_SCHEDULE
)
