"""Checks snapshots, figures, verdicts on obligations and declarations by their contracts, and by a second sum."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final
from uuid import UUID

import dagster as dg
import polars as pl

from compliance.rollup.tonnes import TONNES_SCHEMA, Figures
from pipelines import figures
from pipelines.checks.factory import Check, Frames, Stored, contract_check, verdict
from pipelines.filings import FILING_SCHEMA, compute_filings
from pipelines.metadata.tables import frame_table
from schemas import contracts
from warehouse.companies.queries import Counted, counters
from warehouse.figures import snapshots, source
from warehouse.figures import stored as stored_files
from warehouse.figures.snapshots import Snapshot
from warehouse.figures.source import COMPONENTS, VOLUMES
from warehouse.figures.stored import StoredFigures

_SKU_COLUMNS: Final = ["sku_code", "material", "weight_grams", "recyclability_grade", "ruleset_version", "archived"]
_COMPONENT_COLUMNS: Final = ["sku_code", "position", "component_type", "material_family", "weight_g"]
_CODED: Final = {"material", "component_type", "material_family"}
VERDICTS: Final = contracts.made(
    figures.OBLIGATION_SCHEMA, key=["market", "year", "obligation", "material"], needed=["verdict"]
)
_FILED: Final = {"filing": pl.String(), **FILING_SCHEMA}


def current_snapshot(folder: Path, company_id: UUID) -> Snapshot:
    """Return the company's current snapshot. Raises `dagster.Failure` where there is none."""
    snapshot = snapshots.current(folder, company_id)
    if snapshot is None:
        raise dg.Failure("No snapshot of this company is published yet; publish one first.", allow_retries=False)
    return snapshot


def current_figures(folder: Path, company_id: UUID) -> StoredFigures:
    """Return the company's published figures. Raises `dagster.Failure` where there are none."""
    stored = stored_files.current(folder, company_id)
    if stored is None:
        raise dg.Failure("No figures of this company are published yet; publish it first.", allow_retries=False)
    return stored


def _tables(stored: Stored) -> Frames:
    """Return the columns of the current snapshot that figures and answers depend on, each table with its contract."""
    snapshot, frames = current_snapshot(stored.folder, stored.company), {}
    for table, schema, checked, key in (
        ("skus", source.SKUS, _SKU_COLUMNS, ["sku_code"]),
        ("components", COMPONENTS, _COMPONENT_COLUMNS, ["sku_code", "position"]),
        ("volumes", VOLUMES, [*VOLUMES], ["sku_code", "market", "year", "half"]),
    ):
        types, files = {name: schema[name] for name in checked}, snapshot.files(table)
        frame = pl.read_parquet(files, columns=checked) if files else pl.DataFrame(schema=types)
        frames[table] = (contracts.made(types, key=key, coded=_CODED & types.keys()), frame)
    return frames


def _compared(stored: Stored, passes: Callable[[Snapshot, Counted], bool]) -> dg.AssetCheckResult:
    """Hold the snapshot against the company's counters, which each write keeps, and show both."""
    snapshot = current_snapshot(stored.folder, stored.company)
    with stored.pool.company(stored.company) as conn:
        now = counters(conn)
    rows, held = snapshot.rows["skus"], snapshot.writes
    counted = {"rows": rows, "counter": now.skus, "writes": held, "last_write": now.figure_writes}
    return verdict(passes(snapshot, now), counted)


def _weights(stored: Stored) -> dg.AssetCheckResult:
    differing = figures.unlike_sums(current_snapshot(stored.folder, stored.company))
    return verdict(differing.is_empty(), {"differing": frame_table(differing)})


SNAPSHOT: Final = (
    contract_check(_tables),
    Check(
        "holds_every_sku",
        "As many SKUs as the company's counter, which each write keeps; newer writes excuse another number.",
        partial(_compared, passes=lambda made, now: made.writes != now.figure_writes or made.rows["skus"] == now.skus),
    ),
    Check(
        "holds_every_write",
        "The last write that changes figures; a write that came meanwhile is published within a minute.",
        partial(_compared, passes=lambda made, now: made.writes == now.figure_writes),
        warns=True,
    ),
    Check(
        "weights_add_up",
        "The weight of all components together that is stored with a SKU, and answered, is the sum of its components.",
        _weights,
        warns=True,
    ),
)


def _is_whole(stored: Stored) -> dg.AssetCheckResult:
    wrong = figures.count_faults(current_snapshot(stored.folder, stored.company))
    return verdict(not any(wrong), wrong._asdict())


PORTFOLIO: Final = Check(
    "portfolio_is_whole",
    "Each SKU once, no component or volume of an unknown SKU, no weight or number of units below 0.",
    _is_whole,
)


def _tonnes(stored: Stored) -> Frames:
    contract = contracts.made(TONNES_SCHEMA, key=figures.FIGURE, needed=["grams", "units", "skus"])
    return {"tonnes": (contract, stored.value.tonnes)}


def _add_up(stored: Stored) -> dg.AssetCheckResult:
    figures_of_company: Figures = stored.value
    with stored.pool.company(stored.company) as conn:
        by_code = {entry.code: entry for entry in figures.loaded_catalogue(conn).entries}
    differing = figures.differences(current_snapshot(stored.folder, stored.company), figures_of_company, by_code)
    periods = figures_of_company.tonnes.select(figures.PERIOD).n_unique()
    return verdict(differing.is_empty(), {"periods": periods, "differing": frame_table(differing)})


def _stand_once(stored: Stored) -> dg.AssetCheckResult:
    tonnes = stored.value.tonnes
    wrong = figures.impossible(tonnes)
    twice = tonnes.select(figures.FIGURE).is_duplicated().any()
    return verdict(wrong.is_empty() and not twice, {"figures": tonnes.height, "impossible": frame_table(wrong)})


FIGURES: Final = (
    contract_check(_tonnes),
    Check(
        "categories_add_up",
        "The tonnes of all categories, and those listed without one, are weight times units, summed a second way.",
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


def _verdicts(stored: Stored) -> Frames:
    return {"obligations": (VERDICTS, pl.read_parquet(current_figures(stored.folder, stored.company).obligations))}


OBLIGATIONS: Final = contract_check(_verdicts)


def _filed(stored: Stored) -> Frames:
    filings = compute_filings(current_figures(stored.folder, stored.company))
    rows = [{"filing": filing.filing.name, **row} for filing in filings for row in filing.tonnes]
    contract = contracts.made(_FILED, key=["filing", "category_code"], needed=["tonnes", "units", "skus"])
    return {"tonnes": (contract, pl.DataFrame(rows, _FILED))}


DECLARATIONS: Final = contract_check(_filed)
