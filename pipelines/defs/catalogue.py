"""Defines group reference: the assets that no company owns, with their checks, jobs and the daily refresh."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Final, TypeAlias

import dagster as dg
import polars as pl

from compliance.catalogue import EU_MEMBER_STATES, MONEY, is_iso_3166
from compliance.tables import TableError
from pipelines import catalogue
from pipelines.defs import about, asset, daily_schedule
from pipelines.engine import checks, preview
from pipelines.engine.checks import Check, Frames, Stored, Verdict
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import Portfolios, Postgres, RuleSets, ServiceClock
from schemas import contracts
from schemas.actors import Origin
from warehouse import catalogue as catalogue_warehouse
from warehouse import rules as rules_warehouse
from warehouse.companies.queries import every_company

GROUP: Final = "reference"
VERSION: Final = "version"
"""The metadata key of `rule_set` for its version."""
CHANGES: Final = "changes"
"""The metadata key for everything that a load of the catalogue changed; `pcds catalogue refresh` reads it."""
_Rows: TypeAlias = Mapping[str, Mapping[str, object]]
"""The rows of the catalogue, by code."""
_RULE: Final = ("rule_id", "stream", "parameter", "effect", "source_url", "basis", "confidence")
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
    description="The catalogue as a file that people keep: one row per jurisdiction, source and date of each fact.",
    **about("catalogue_file", GROUP, "received", "csv"),
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
            **checks.metadata("rule_set"),
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
    checks.refuse_broken("The catalogue breaks its contract.", {"jurisdictions": (checks.CATALOGUE, file.frame())})
    now = clock.now()
    with postgres.system() as conn:
        if config.by_schedule and not catalogue.is_needed(conn, file):
            changes = catalogue.unchanged_load(conn, now)
        else:
            changes = catalogue.load(conn, file, _origin(context, config), now)
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
            "codes": preview.table(("change", "codes"), [(name, ", ".join(listed)) for name, listed in codes.items()]),
            CHANGES: dg.MetadataValue.json(changes.as_dict()),
            **checks.metadata("jurisdiction_catalogue"),
        },
    )


def _origin(context: dg.AssetExecutionContext, config: CatalogueSource) -> Origin:
    if config.operator is None:
        return Origin("system", None, "catalogue", context.run.run_id)
    return Origin("operator", config.operator, "operator", context.run.run_id)


def _rules(stored: Stored) -> Frames:
    with stored.pool.system() as conn:
        rules = stored.registry.active(conn).rules.values()
    columns = {name: pl.String() for name in _RULE} | {"removed": pl.Float64()}
    rows = [tuple(getattr(rule, name) for name in columns) for rule in rules]
    return {
        "rules": (contracts.made(columns, key=["rule_id"], needed=_RULE), pl.DataFrame(rows, columns, orient="row"))
    }


def older_rules(stored: Stored) -> Verdict:
    """Return how many companies are to be regraded by the active version."""
    with stored.pool.system() as conn:
        version = stored.registry.active(conn).version
    companies = len(rules_warehouse.open_regrades(stored.pool))
    return Verdict(companies == 0, {"companies_held_by_older_rules": companies, "version": version})


OLDER_RULES: Final = Check(
    "no_company_held_by_older_rules",
    "Every company is graded by this version; a warning says how many are still to be regraded.",
    older_rules,
    warns=True,
)
rule_set_checks: Final = checks.checks_of("rule_set", checks.contract_check(_rules), OLDER_RULES, by_company=False)


def _served(stored: Stored) -> _Rows:
    with stored.pool.system() as conn:
        return catalogue_warehouse.stored(conn)


def _codes(name: str, description: str, wrong: Callable[[_Rows], Iterable[str]]) -> Check:
    """Return a check of the stored catalogue, whatever file it came from; `wrong` returns the codes that fail it."""

    def look(stored: Stored) -> Verdict:
        rows = _served(stored)
        codes = sorted(wrong(rows))
        return Verdict(not codes, {"rows": len(rows), "wrong_codes": ", ".join(codes) or "none"})

    return Check(name, description, look)


def _missing_states(rows: _Rows) -> Iterable[str]:
    states = [code for code, row in rows.items() if row["region"] == "eu" and row["in_catalogue"] and len(code) == 2]
    return [] if len(states) == EU_MEMBER_STATES and "GB" in rows else states


catalogue_checks: Final = checks.checks_of(
    "jurisdiction_catalogue",
    checks.contract_check(lambda stored: {"jurisdictions": (checks.CATALOGUE, catalogue.frame_of(_served(stored)))}),
    _codes(
        "codes_valid",
        "Every code is an ISO 3166 country or subdivision.",
        lambda rows: [code for code in rows if not is_iso_3166(code)],
    ),
    _codes(
        "eu_and_gb_present",
        "All 27 Member States of the Union and the United Kingdom are served.",
        _missing_states,
    ),
    _codes(
        "sources_present",
        "Every row names where it comes from.",
        lambda rows: [code for code, row in rows.items() if not (row["source_url"] or row["source_note"])],
    ),
    _codes(
        "no_amount_of_money",
        "No cell holds a fee or any other amount of money.",
        lambda rows: [code for code, row in rows.items() if MONEY.search(" | ".join(map(str, row.values())))],
    ),
    by_company=False,
)
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
