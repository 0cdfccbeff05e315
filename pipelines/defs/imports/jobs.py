"""Defines the job that processes one uploaded file up to the caller's report."""

from typing import Final

import dagster as dg

from pipelines.defs.imports.assets import parsed_table, typed_rows, uploaded_file
from pipelines.defs.imports.grading import graded_skus, import_report

import_file: Final = dg.define_asset_job(
    "import_file",
    selection=dg.AssetSelection.assets(uploaded_file, parsed_table, typed_rows, graded_skus, import_report),
    description="One uploaded file, from its bytes to graded SKUs and the caller's report.",
)
