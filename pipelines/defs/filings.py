"""Defines group declarations: a company's declarations for its markets and periods, the end of the graph.

Its partition is the company, as that of the figures that it is computed from: a market and period are no partition,
because each company has its own few of them.
"""

from typing import Final

import dagster as dg

from pipelines.checks.factory import checks_of, made
from pipelines.checks.figures import DECLARATIONS, current_figures
from pipelines.defs import asset
from pipelines.engine.resources import Portfolios, Postgres
from pipelines.engine.runs import company_of_run, company_partitions
from pipelines.filings import Filing, compute_filing, compute_filings
from pipelines.metadata import columns
from pipelines.metadata import figures as metadata
from schemas.refusals import Refused

GROUP: Final = "declarations"


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
    company_id, about = company_of_run(context, postgres)
    held = current_figures(portfolios, company_id)
    try:
        filings_computed = (
            [compute_filing(held, Filing.from_name(config.filing))] if config.filing else compute_filings(held)
        )
    except Refused as refused:
        raise dg.Failure(str(refused), allow_retries=False) from None
    computed = metadata.declarations(filings_computed, held.origin)
    return made(context, {**about, **computed, **columns.metadata("declarations")})


declarations_checks: Final = checks_of("declarations", DECLARATIONS)
what_would_be_filed: Final = dg.define_asset_job(
    "what_would_be_filed",
    selection=dg.AssetSelection.assets(declarations),
    description="A company's declarations by its figures of today: of one market and period, or of each there is.",
)
