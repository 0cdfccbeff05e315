"""Defines the job that imports one uploaded file, up to the caller's report."""

from typing import Final

import dagster as dg

from pipelines.defs.imports.assets import imported_file

import_file: Final = dg.define_asset_job(
    "import_file",
    selection=dg.AssetSelection.assets(imported_file),
    description="One uploaded file, from its bytes to graded SKUs and the caller's report.",
)
