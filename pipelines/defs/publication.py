"""Defines group publication: a company's snapshot, the overview of its portfolio, the ledger of writes, their checks.

Figures are computed from the same snapshot (`pipelines.defs.figures`). Which companies are to be published is a
question about the current state: so none is forgotten when a process is killed, and none is requested twice.
"""

import time
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

import dagster as dg
import polars as pl

from pipelines.defs import about, asset
from pipelines.defs.catalogue import jurisdiction_catalogue
from pipelines.defs.regrading import regraded_skus
from pipelines.engine import checks, run_requests, tags
from pipelines.engine.checks import Check, Frames, Stored, Verdict
from pipelines.engine.leaving import interruptible
from pipelines.engine.partitions import company_of, company_of_run, company_partitions
from pipelines.engine.resources import Portfolios, Postgres, RuleSets, ServiceClock, Shutdown
from pipelines.engine.run_requests import WantedRun
from pipelines.figures.keep import are_behind, are_damaged
from pipelines.shown import columns
from pipelines.shown import portfolio as shown
from schemas import contracts
from warehouse import snapshots
from warehouse.analytics import Now, imports, overview
from warehouse.clock import Clock
from warehouse.companies.queries import Counted, counters
from warehouse.sessions import Connection
from warehouse.snapshots import Snapshot, follow
from warehouse.snapshots.columns import COMPONENTS, VOLUMES
from warehouse.snapshots.follow import Published, Stale

GROUP: Final = "publication"
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
        snapshots.SKUS,
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
    GROUP,
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
        made = shown.snapshot_metadata(conn, snapshot, imports(snapshot))
    return dg.MaterializeResult(metadata={**named, **made, "seconds": spent, **columns.metadata("portfolio_snapshot")})


@asset(
    GROUP, "reported", "duckdb", partitions_def=company_partitions, deps=[portfolio_snapshot, jurisdiction_catalogue]
)
def portfolio_overview(
    context: dg.AssetExecutionContext, postgres: Postgres, clock: ServiceClock, portfolios: Portfolios
) -> dg.MaterializeResult[None]:
    """The company's SKUs by recyclability grade, DoC status, format flag, level and market, as assistants read them."""
    company_id, named = company_of_run(context, postgres)
    snapshot = current_snapshot(portfolios, company_id)
    with postgres.company(company_id) as conn:
        now = Now.read(conn, clock)
    return dg.MaterializeResult(metadata={**named, **shown.overview_metadata(snapshot, overview(snapshot, now))})


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
    stale = follow.stale(conn, now.date())
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
        for each in follow.published(conn)
        if follow.is_astray(each, folder) or are_behind(folder, each.company_id) or are_damaged(folder, each)
    }


def _wait(found: Stale, *, importing: bool) -> timedelta:
    """Return how old the oldest write of a company must be; `importing`: files of any company are imported now."""
    if not (importing or found.importing):
        return WRITE_QUIET_TIME
    return WAIT_WHILE_MIGRATING if found.importing or found.imported else WAIT_WHILE_IMPORTING


def _are_importing(instance: dg.DagsterInstance) -> bool:
    """Return whether an import of any company is under way or has just ended."""
    just_ended = dg.RunsFilter(job_name=_IMPORTS, updated_after=Clock().now() - NEXT_FILE_WITHIN)
    under_way = dg.RunsFilter(job_name=_IMPORTS, statuses=run_requests.UNDER_WAY)
    return any(instance.get_run_records(wanted, limit=1) for wanted in (just_ended, under_way))


def _wanted_run(found: Stale | Published, state: str, *, large: bool = False) -> WantedRun:
    size = tags.LARGE_PUBLICATION if large else {}
    return WantedRun(state, {tags.COMPANY: str(found.company_id), "dagster/priority": "-1", **tags.FOLLOWED, **size})


def _state(found: Stale, today: date) -> str:
    """Identify the write to publish by position and time; after a backup is restored, positions occur again."""
    since = f"{today:%Y%m%d}" if found.since is None else f"{found.since:%Y%m%dT%H%M%S.%f}"
    return f"{found.position}/{since}"
