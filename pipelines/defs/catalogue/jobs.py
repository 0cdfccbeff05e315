"""Defines the jobs that load the catalogue and read the active version of the rules."""

from typing import Final

import dagster as dg

from pipelines.defs.catalogue.assets import jurisdiction_catalogue, rule_set

refresh_catalogue: Final = dg.define_asset_job(
    "refresh_catalogue",
    selection=dg.AssetSelection.assets(jurisdiction_catalogue),
    description="The jurisdiction catalogue, from the release's pinned file or an operator's own.",
)

read_rule_set: Final = dg.define_asset_job(
    "read_rule_set",
    selection=dg.AssetSelection.assets(rule_set),
    description="Which version of the rules grades now, and how many companies are held by older ones.",
)
