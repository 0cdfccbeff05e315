"""Defines the job that publishes one company: its snapshot and everything computed from it."""

from typing import Final

import dagster as dg

from pipelines.defs.figures.assets import figures, obligations, portfolio
from pipelines.defs.publication.assets import ledger, portfolio_overview, portfolio_snapshot

publish_portfolio: Final = dg.define_asset_job(
    "publish_portfolio",
    selection=dg.AssetSelection.assets(ledger, portfolio_snapshot, portfolio_overview, portfolio, figures, obligations),
    description="A company's portfolio as it is now, and all that is computed from it.",
)
