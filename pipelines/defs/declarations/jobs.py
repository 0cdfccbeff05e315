"""Defines the job that computes a company's declaration for a market and a period."""

from typing import Final

import dagster as dg

from pipelines.defs.declarations.assets import declarations

what_would_be_filed: Final = dg.define_asset_job(
    "what_would_be_filed",
    selection=dg.AssetSelection.assets(declarations),
    description="A company's declaration for a market and a period, by its figures of today.",
)
