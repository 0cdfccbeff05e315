"""The jobs: which assets one run materialises, each in one process."""

from typing import Final

import dagster as dg

from pipelines.assets.grading import graded_skus, import_report
from pipelines.assets.intake import parsed_table, typed_rows, uploaded_file
from pipelines.assets.reference import catalogue_file, jurisdiction_catalogue

# The frames of an import go from asset to asset in memory, so that its run is one process under every launcher.
import_file: Final = dg.define_asset_job(
    "import_file",
    selection=dg.AssetSelection.assets(uploaded_file, parsed_table, typed_rows, graded_skus, import_report),
    executor_def=dg.in_process_executor,
    description="One uploaded file, from its bytes to graded SKUs and the caller's report.",
)

refresh_catalogue: Final = dg.define_asset_job(
    "refresh_catalogue",
    selection=dg.AssetSelection.assets(catalogue_file, jurisdiction_catalogue),
    executor_def=dg.in_process_executor,
    description="The jurisdiction catalogue, from the release's pinned file or an operator's own.",
)


def run_config(asset: str, config: dict[str, str]) -> dict[str, object]:
    """The configuration of a run whose first asset takes `config`, with the service's log in place of Dagster's."""
    return {"ops": {asset: {"config": config}}, "loggers": {"console": {}}}
