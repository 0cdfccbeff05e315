"""Defines the job that regrades one company."""

from typing import Final

import dagster as dg

from pipelines.defs.regrading.assets import regraded_skus
from pipelines.engine.tags import REGRADE

regrade_portfolios: Final = dg.define_asset_job(
    "regrade_portfolios",
    selection=dg.AssetSelection.assets(regraded_skus),
    tags={REGRADE: "asked"},
    description="What a company holds, graded by the rule-set of the day, going on where it stopped.",
)
