"""The job that computes a company's figures from the snapshot that is there."""

from typing import Final

import dagster as dg

from pipelines.defs.figures.assets import GROUP

roll_up: Final = dg.define_asset_job(
    "roll_up",
    selection=dg.AssetSelection.groups(GROUP),
    description="A company's tonnes and verdicts from its current snapshot; a new snapshot brings them by itself.",
)
