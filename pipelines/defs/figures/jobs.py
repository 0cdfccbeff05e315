"""Defines the job that computes a company's figures from its current snapshot."""

from typing import Final

import dagster as dg

from pipelines.defs.figures.assets import GROUP

roll_up: Final = dg.define_asset_job(
    "roll_up",
    selection=dg.AssetSelection.groups(GROUP),
    description="A company's tonnes and verdicts from its current snapshot; a new snapshot brings them by itself.",
)
