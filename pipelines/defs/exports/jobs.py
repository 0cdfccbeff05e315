"""Defines the job that writes one company's waiting exports."""

import dagster as dg

from pipelines.defs.exports.ops import waiting_exports
from pipelines.engine.partitions import company_partitions


@dg.job(partitions_def=company_partitions, description="A company's exports that were asked for, each as a file.")
def export_portfolio() -> None:
    """One op: each export is claimed, written and ended by itself."""
    waiting_exports()
