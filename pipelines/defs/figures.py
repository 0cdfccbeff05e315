"""Defines group rollups: from a company's snapshot to tonnes by scheme category, compared with thresholds.

docs/figures.md explains what a figure means and how it is counted. Figures and obligations are one step: both become
current together, at its end, and what fails a check never does. So nothing is handed on through storage.
"""

import time
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

import dagster as dg
import polars as pl

from compliance.rollup.tonnes import TONNES_SCHEMA, Figures
from pipelines import figures
from pipelines.defs import about, asset
from pipelines.defs.catalogue import jurisdiction_catalogue
from pipelines.defs.rules import regraded_skus
from pipelines.engine import checks, preview, schedules, tags
from pipelines.engine import preview as preview_engine
from pipelines.engine.checks import Check, Frames, Stored, Verdict
from pipelines.engine.resources import Portfolios, Postgres, RuleSets, ServiceClock, Shutdown
from pipelines.engine.schedules import WantedRun
from pipelines.engine.steps import interruptible
from pipelines.engine.tags import company_of, company_of_run, company_partitions
from pipelines.figures import are_behind, are_damaged, blocks
from schemas import contracts
from warehouse.companies.queries import Counted, counters
from warehouse.figures import snapshots, source
from warehouse.figures import stored as stored_files
from warehouse.figures.overview import imports, overview
from warehouse.figures.reader import Now
from warehouse.figures.snapshots import Published, Snapshot, Stale
from warehouse.figures.source import COMPONENTS, VOLUMES
from warehouse.figures.stored import Basis, StoredFigures
from warehouse.operate.clock import Clock
from warehouse.operate.sessions import Connection

PUBLICATION_GROUP: Final = "publication"
WRITE_QUIET_TIME: Final = timedelta(seconds=8)
"""How long a write waits for further writes: a publication beside the next import would slow that import."""
WAIT_WHILE_IMPORTING: Final = timedelta(seconds=20)
"""The longest that writes wait while files are imported: more writes come, and imports need the machine."""
WAIT_WHILE_MIGRATING: Final = timedelta(seconds=60)
"""The same for a company that sends file after file: its portfolio would be read anew beside each next file."""
LARGE_PORTFOLIO_SKUS: Final = 5_000
"""From how many SKUs on a publication keeps a worker busy for more than a second."""
_IMPORTS: Final = "import_file"
NEXT_FILE_WITHIN: Final = timedelta(seconds=4)
"""How soon after an import another one counts as following it: its file is being uploaded meanwhile."""
_CHECKED: Final = (
    (
        "skus",
        source.SKUS,
        ["sku_code", "material", "weight_grams", "recyclability_grade", "ruleset_version", "archived"],
        ["sku_code"],
    ),
    ("components", COMPONENTS, ["sku_code", "position", "material_family", "weight_g"], ["sku_code", "position"]),
    ("volumes", VOLUMES, [*VOLUMES], ["sku_code", "market", "year", "half"]),
)
"""Of each table of a snapshot: its types, the columns that its contract has, and its key."""


@dg.multi_observable_source_asset(  # type: ignore[untyped-decorator]  # Dagster names no type for it
    specs=[
        dg.AssetSpec(
            "ledger",
            partitions_def=company_partitions,
            description="A company's audit ledger: single writes, supplier answers and accepted reviews beside its "
            "imports. Its data version is the number of the last entry.",
            **about("ledger", "intake", "received", "postgres"),
        )
    ]
)
def ledger(context: dg.AssetExecutionContext, postgres: Postgres) -> dg.ObserveResult:
    """Look at a company's last entry before the snapshot is made from it, so that Dagster knows which one it holds."""
    with postgres.company(company_of(postgres, context.partition_key)) as conn:
        return dg.ObserveResult(asset_key="ledger", data_version=dg.DataVersion(str(counters(conn).links)))


@asset(
    PUBLICATION_GROUP,
    "published",
    "postgres",
    "parquet",
    partitions_def=company_partitions,
    deps=["ledger", "graded_skus", regraded_skus],
)
def portfolio_snapshot(
    context: dg.AssetExecutionContext,
    *,
    postgres: Postgres,
    clock: ServiceClock,
    rule_sets: RuleSets,
    portfolios: Portfolios,
    shutdown: Shutdown,
) -> dg.MaterializeResult[None]:
    """All SKUs, components (weights in g) and volumes (units placed on the market) of a company at one instant."""
    started = time.perf_counter()
    company_id, named = company_of_run(context, postgres)
    with interruptible(context, shutdown) as proceed:
        snapshot = snapshots.publish(postgres, company_id, portfolios, clock.now(), rule_sets, proceed=proceed)
    spent = round(time.perf_counter() - started, 3)
    with postgres.company(company_id) as conn:
        made = preview_engine.snapshot_metadata(conn, snapshot, imports(snapshot))
    return dg.MaterializeResult(metadata={**named, **made, "seconds": spent, **checks.metadata("portfolio_snapshot")})


@asset(
    PUBLICATION_GROUP,
    "reported",
    "duckdb",
    partitions_def=company_partitions,
    deps=[portfolio_snapshot, jurisdiction_catalogue],
)
def portfolio_overview(
    context: dg.AssetExecutionContext, postgres: Postgres, clock: ServiceClock, portfolios: Portfolios
) -> dg.MaterializeResult[None]:
    """The company's SKUs by recyclability grade, DoC status, format flag, level and market, as assistants read them."""
    company_id, named = company_of_run(context, postgres)
    snapshot = current_snapshot(portfolios, company_id)
    with postgres.company(company_id) as conn:
        now = Now.read(conn, clock)
    return dg.MaterializeResult(
        metadata={**named, **preview_engine.overview_metadata(snapshot, overview(snapshot, now))}
    )


def current_snapshot(folder: Path, company_id: UUID) -> Snapshot:
    """Return the company's current snapshot. Raises `dagster.Failure` where there is none."""
    found = snapshots.current(folder, company_id)
    if found is None:
        raise dg.Failure("No snapshot of this company is published yet; publish one first.", allow_retries=False)
    return found


def _tables(stored: Stored) -> Frames:
    """Return the columns of the current snapshot that figures and answers depend on."""
    snapshot, frames = current_snapshot(stored.folder, stored.company), {}
    for table, schema, checked, key in _CHECKED:
        types, files = {name: schema[name] for name in checked}, snapshot.files(table)
        frame = pl.read_parquet(files, columns=checked) if files else pl.DataFrame(schema=types)
        frames[table] = (contracts.made(types, key=key), frame)
    return frames


def _counted(stored: Stored) -> tuple[Snapshot, Counted, dict[str, int]]:
    """Return the snapshot, the counters, which each write keeps, and what checks of both show."""
    snapshot = current_snapshot(stored.folder, stored.company)
    with stored.pool.company(stored.company) as conn:
        now = counters(conn)
    counted = {
        "rows": snapshot.rows["skus"],
        "counter": now.skus,
        "number": snapshot.number,
        "last_number": now.links,
    }
    return snapshot, now, counted


def _holds_every_sku(stored: Stored) -> Verdict:
    snapshot, now, shown = _counted(stored)
    return Verdict(snapshot.number != now.links or snapshot.rows["skus"] == now.skus, shown)


def _holds_every_write(stored: Stored) -> Verdict:
    snapshot, now, shown = _counted(stored)
    return Verdict(snapshot.number == now.links, shown)


portfolio_snapshot_checks: Final = checks.checks_of(
    "portfolio_snapshot",
    checks.contract_check(_tables),
    Check(
        "holds_every_sku",
        "As many SKUs as the company's counter, which each write keeps; newer writes excuse another number.",
        _holds_every_sku,
    ),
    Check(
        "holds_every_write",
        "The last link of the audit chain; a write that came meanwhile is published within a minute.",
        _holds_every_write,
        warns=True,
    ),
)
publish_portfolio: Final = dg.define_asset_job(
    "publish_portfolio",
    selection=dg.AssetSelection.assets(
        "ledger", portfolio_snapshot, portfolio_overview, "portfolio", "figures", "obligations"
    ),
    description="A company's portfolio as it is now, and all that is computed from it.",
)


def written_portfolios(instance: dg.DagsterInstance, conn: Connection, now: datetime) -> dict[str, WantedRun]:
    """Return the publications of companies that have written since their snapshot, or whose snapshot a new day changes.

    One run per company and last write; the next waits until that run has ended.
    """
    stale = snapshots.stale(conn, now.date())
    importing = bool(stale) and _are_importing(instance)
    return {
        each.slug: _wanted_run(each, _state(each, now.date()), large=each.skus >= LARGE_PORTFOLIO_SKUS)
        for each in stale
        if each.since is None or each.since <= now - _wait(each, importing=importing)
    }


def lost_portfolios(conn: Connection, folder: Path, now: datetime) -> dict[str, WantedRun]:
    """Return the publications of companies whose files are not in this data directory, or not whole.

    A run was broken off or terminated, a file was lost, or a backup was restored.
    """
    return {
        each.slug: _wanted_run(each, f"{each.position}/lost-{now:%Y%m%dT%H%M}")
        for each in snapshots.published(conn)
        if snapshots.is_astray(each, folder) or are_behind(folder, each.company_id) or are_damaged(folder, each)
    }


def _wait(found: Stale, *, importing: bool) -> timedelta:
    """Return how old the oldest write of a company must be; `importing`: files of any company are imported now."""
    if not (importing or found.importing):
        return WRITE_QUIET_TIME
    return WAIT_WHILE_MIGRATING if found.importing or found.imported else WAIT_WHILE_IMPORTING


def _are_importing(instance: dg.DagsterInstance) -> bool:
    """Return whether an import of any company is under way or has just ended."""
    just_ended = dg.RunsFilter(job_name=_IMPORTS, updated_after=Clock().now() - NEXT_FILE_WITHIN)
    under_way = dg.RunsFilter(job_name=_IMPORTS, statuses=schedules.UNDER_WAY)
    return any(instance.get_run_records(wanted, limit=1) for wanted in (just_ended, under_way))


def _wanted_run(found: Stale | Published, state: str, *, large: bool = False) -> WantedRun:
    size = tags.LARGE_PUBLICATION if large else {}
    return WantedRun(state, {tags.COMPANY: str(found.company_id), "dagster/priority": "-1", **tags.FOLLOWED, **size})


def _state(found: Stale, today: date) -> str:
    """Identify the write to publish by position and time; after a backup is restored, positions occur again."""
    since = f"{today:%Y%m%d}" if found.since is None else f"{found.since:%Y%m%dT%H%M%S.%f}"
    return f"{found.position}/{since}"


GROUP: Final = "rollups"
OBLIGATIONS: Final = dg.AssetKey("obligations")
_VERDICTS: Final = contracts.made(
    figures.OBLIGATION_SCHEMA, key=["market", "year", "obligation", "material"], needed=["verdict"]
)


@asset(GROUP, "published", "parquet", partitions_def=company_partitions, deps=[portfolio_snapshot])
def portfolio(
    context: dg.AssetExecutionContext, postgres: Postgres, portfolios: Portfolios
) -> dg.MaterializeResult[None]:
    """The company's current snapshot as figures are computed from it: SKUs, parts with grams, units per market."""
    company_id, named = company_of_run(context, postgres)
    snapshot = preview.of_snapshot(current_snapshot(portfolios, company_id))
    return dg.MaterializeResult(metadata={**named, **snapshot, **checks.metadata("portfolio")})


def _is_whole(stored: Stored) -> Verdict:
    wrong = figures.count_faults(current_snapshot(stored.folder, stored.company))
    return Verdict(not any(wrong), wrong._asdict())


portfolio_checks: Final = checks.checks_of(
    "portfolio",
    Check(
        "portfolio_is_whole",
        "Each SKU once, no component or volume of an unknown SKU, no weight or number of units below 0.",
        _is_whole,
    ),
)


def _tonnes(stored: Stored) -> Frames:
    contract = contracts.made(TONNES_SCHEMA, key=figures.FIGURE, needed=["grams", "units", "skus"])
    return {"tonnes": (contract, stored.value.tonnes)}


def _add_up(stored: Stored) -> Verdict:
    found: Figures = stored.value
    with stored.pool.company(stored.company) as conn:
        by_code = {entry.code: entry for entry in figures.loaded_catalogue(conn).entries}
    differing = figures.differences(current_snapshot(stored.folder, stored.company), found, by_code)
    periods = found.tonnes.select(figures.PERIOD).n_unique()
    return Verdict(differing.is_empty(), {"periods": periods, "differing": preview.frame_table(differing)})


def _stand_once(stored: Stored) -> Verdict:
    tonnes = stored.value.tonnes
    wrong = figures.impossible(tonnes)
    twice = tonnes.select(figures.FIGURE).is_duplicated().any()
    return Verdict(wrong.is_empty() and not twice, {"figures": tonnes.height, "impossible": preview.frame_table(wrong)})


_FIGURES_CHECKS: Final = (
    checks.contract_check(_tonnes),
    Check(
        "categories_add_up",
        "The tonnes of all categories are weight times units, summed a second way; less where a SKU is uncounted, "
        "never more.",
        _add_up,
    ),
    Check(
        "figures_stand_once",
        "One figure per market, year, half and category; none below 0, single-use tonnes within it, and so what is in "
        "scope and what is undecided together.",
        _stand_once,
    ),
)
"""Evaluated by the step that computes the figures, before they are published."""


@dg.multi_asset(
    specs=[
        dg.AssetSpec(
            "figures",
            deps=[portfolio, jurisdiction_catalogue],
            description="Tonnes of packaging placed on each market in a year or half, by scheme category: grams times "
            "units / 10^6. What cannot be counted (no weight, no material, no category) is listed separately in units "
            "and SKUs, never as zero.",
            skippable=True,
            **about("figures", GROUP, "computed", "polars"),
        ),
        dg.AssetSpec(
            "obligations",
            deps=["figures"],
            description="Tonnes of each calendar year against the thresholds of its market: above, near (within 20 %), "
            "below, undecidable. No fee and no legal advice: each verdict names its rule, its source and how sure the "
            "source is. With it all of the company's figures are published together.",
            skippable=True,
            **about("obligations", GROUP, "published", "polars", "parquet"),
        ),
    ],
    check_specs=checks.specs_of("figures", *_FIGURES_CHECKS),
    partitions_def=company_partitions,
    can_subset=True,
)
def company_figures(
    context: dg.AssetExecutionContext,
    postgres: Postgres,
    rule_sets: RuleSets,
    portfolios: Portfolios,
    shutdown: Shutdown,
) -> Iterator[checks.Made]:
    """Compute a company's figures and its obligations by them, and publish both where no check of the figures fails.

    Chosen alone, the figures or their checks are computed and shown, and nothing is published.
    """
    started = time.perf_counter()
    company_id, named = company_of_run(context, postgres)
    snapshot = current_snapshot(portfolios, company_id)
    with postgres.company(company_id) as conn:
        catalogue, rules = figures.loaded_catalogue(conn), rule_sets.active(conn)
    with interruptible(context, shutdown) as proceed:
        found = figures.compute_figures(blocks(snapshot), catalogue.entries, rules, proceed)
    origin = Basis(snapshot.path, snapshot.as_of, snapshot.number, rules.version, catalogue.source_hash)
    spent = {"seconds": round(time.perf_counter() - started, 3)}
    stored = Stored(postgres, portfolios, rule_sets, company_id, found)
    verdicts = [*checks.results_of("figures", _FIGURES_CHECKS, stored)]
    metadata = {**named, **preview_engine.figures_metadata(found, origin), **spent, **checks.metadata("figures")}
    computed = dg.MaterializeResult[None](asset_key="figures", metadata=metadata, check_results=verdicts)
    yield from checks.chosen(context, computed)
    if OBLIGATIONS not in context.selected_asset_keys:
        return
    if not all(verdict.passed for verdict in verdicts):
        raise dg.Failure("The figures fail a check, so they are not published.", allow_retries=False)
    judged = figures.compute_obligations(found)
    checks.refuse_broken("The verdicts break their contract.", {"obligations": (_VERDICTS, judged)})
    published = figures.publish_figures(portfolios, company_id, origin, found, judged)
    shown_of = {**named, **preview_engine.published_metadata(published, judged), **checks.metadata("obligations")}
    yield dg.MaterializeResult(asset_key=OBLIGATIONS, metadata=shown_of)


def current_figures(folder: Path, company_id: UUID) -> StoredFigures:
    """Return the company's published figures. Raises `dagster.Failure` where there are none."""
    found = stored_files.current(folder, company_id)
    if found is None:
        raise dg.Failure("No figures of this company are published yet; publish it first.", allow_retries=False)
    return found


def _verdicts(stored: Stored) -> Frames:
    held = current_figures(stored.folder, stored.company)
    return {"obligations": (_VERDICTS, pl.read_parquet(held.obligations))}


obligations_checks: Final = checks.checks_of("obligations", checks.contract_check(_verdicts))
roll_up: Final = dg.define_asset_job(
    "roll_up",
    selection=dg.AssetSelection.groups(GROUP),
    description="A company's tonnes and verdicts from its current snapshot; a new snapshot brings them by itself.",
)
