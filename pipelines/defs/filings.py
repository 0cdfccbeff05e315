"""Defines group declarations: a company's declarations for its markets and periods, the end of the graph.

Its partition is the company, as that of the figures that it is computed from: a market and period are no partition,
because each company has its own few of them.
"""

from typing import Final

import dagster as dg
import polars as pl

from pipelines.defs import asset
from pipelines.defs.figures import current_figures
from pipelines.engine import checks
from pipelines.engine import preview as shown
from pipelines.engine.checks import Frames, Stored
from pipelines.engine.resources import Portfolios, Postgres
from pipelines.engine.tags import company_of_run, company_partitions
from pipelines.filings import FILING_SCHEMA, Filing, compute_filing, compute_filings
from schemas import contracts
from schemas.refusals import Refused

GROUP: Final = "declarations"
_COLUMNS: Final = {"filing": pl.String(), **FILING_SCHEMA}


class Asked(dg.Config):
    """The market and period that a run computes, such as DE-2025 or GB-2025-H1; each there is where none is named."""

    filing: str | None = None


@asset(GROUP, "reported", "polars", partitions_def=company_partitions, deps=["figures", "obligations"])
def declarations(
    context: dg.AssetExecutionContext, config: Asked, postgres: Postgres, portfolios: Portfolios
) -> dg.MaterializeResult[None]:
    """A company's declarations: tonnes by scheme category, uncounted SKUs, undecided scopes, and the duties.

    Computed from the company's published figures. Nothing is filed by it, and nothing that was filed is changed.
    """
    company_id, named = company_of_run(context, postgres)
    held = current_figures(portfolios, company_id)
    try:
        found = [compute_filing(held, Filing.of(config.filing))] if config.filing else compute_filings(held)
    except Refused as refused:
        raise dg.Failure(str(refused), allow_retries=False) from None
    computed = shown.declarations_metadata(found, held.origin)
    return dg.MaterializeResult(metadata={**named, **computed, **checks.metadata("declarations")})


def _filed(stored: Stored) -> Frames:
    found = compute_filings(current_figures(stored.folder, stored.company))
    rows = [{"filing": each.filing.name, **row} for each in found for row in each.tonnes]
    contract = contracts.made(_COLUMNS, key=["filing", "category_code"], needed=["tonnes", "units", "skus"])
    return {"tonnes": (contract, pl.DataFrame(rows, _COLUMNS))}


declarations_checks: Final = checks.checks_of("declarations", checks.contract_check(_filed))
what_would_be_filed: Final = dg.define_asset_job(
    "what_would_be_filed",
    selection=dg.AssetSelection.assets(declarations),
    description="A company's declarations by its figures of today: of one market and period, or of each there is.",
)
