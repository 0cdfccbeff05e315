"""The jobs: which assets one run materialises, and in one process or by steps on several machines."""

from collections.abc import Mapping
from typing import Final

import dagster as dg

from pipelines import executor
from pipelines.assets import housekeeping, rollups
from pipelines.assets.grading import graded_skus, import_report
from pipelines.assets.intake import parsed_table, typed_rows, uploaded_file
from pipelines.assets.publication import portfolio_snapshot
from pipelines.assets.reference import jurisdiction_catalogue
from pipelines.assets.regrade import regraded_skus
from pipelines.faults import fail_import_once
from warehouse.settings import Settings

import_file: Final = dg.define_asset_job(
    "import_file",
    selection=dg.AssetSelection.assets(uploaded_file, parsed_table, typed_rows, graded_skus, import_report),
    hooks={fail_import_once},
    description="One uploaded file, from its bytes to graded SKUs and the caller's report.",
)

refresh_catalogue: Final = dg.define_asset_job(
    "refresh_catalogue",
    selection=dg.AssetSelection.assets(jurisdiction_catalogue),
    description="The jurisdiction catalogue, from the release's pinned file or an operator's own.",
)

publish_portfolio: Final = dg.define_asset_job(
    "publish_portfolio",
    selection=dg.AssetSelection.assets(portfolio_snapshot).downstream(),
    description="A company's portfolio as it is now, and all that is computed from it.",
)

roll_up: Final = dg.define_asset_job(
    "roll_up",
    selection=dg.AssetSelection.groups(rollups.GROUP),
    description="A company's tonnes and verdicts from its current snapshot; a new snapshot brings them by itself.",
)

regrade_portfolios: Final = dg.define_asset_job(
    "regrade_portfolios",
    selection=dg.AssetSelection.assets(regraded_skus),
    executor_def=executor.chosen(Settings.load().executor),  # nothing but their order goes from step to step
    description="What is held, graded by the rule-set of the day; a step for each company, going on where it stopped.",
)

keep_house: Final = dg.define_asset_job(
    "keep_house",
    selection=dg.AssetSelection.groups(housekeeping.GROUP),
    description="Everything of the group housekeeping, one after the other.",
)


def run_config(asset: str, config: Mapping[str, object]) -> dict[str, object]:
    """The configuration of a run whose first asset takes `config`, with the service's log in place of Dagster's."""
    return {"ops": {asset: {"config": config}}, "loggers": {"console": {}}}
