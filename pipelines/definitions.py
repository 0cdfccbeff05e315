"""The code location: every asset, job, schedule, sensor and resource, put together and nothing else."""

import dagster as dg

from pipelines.assets.grading import graded_skus, import_report
from pipelines.assets.housekeeping import (
    anonymised_addresses,
    expired_access,
    expired_docs,
    kept_answers,
    old_runs,
    old_snapshots,
    orphan_objects,
)
from pipelines.assets.intake import parsed_table, typed_rows, uploaded_file
from pipelines.assets.publication import portfolio_overview, portfolio_snapshot
from pipelines.assets.reference import catalogue_file, jurisdiction_catalogue, rule_set
from pipelines.assets.regrade import regraded_skus
from pipelines.assets.rollups import figures, obligations, portfolio
from pipelines.jobs import (
    import_file,
    keep_house,
    publish_portfolio,
    refresh_catalogue,
    regrade_portfolios,
    roll_up,
)
from pipelines.resources import run_memory, service_log, workshop_resource
from pipelines.schedules import SCHEDULES
from pipelines.sensors import queued_imports
from pipelines.together import publish_together

defs = dg.Definitions(
    assets=[
        uploaded_file,
        parsed_table,
        typed_rows,
        graded_skus,
        import_report,
        catalogue_file,
        jurisdiction_catalogue,
        portfolio_snapshot,
        portfolio_overview,
        portfolio,
        figures,
        obligations,
        rule_set,
        regraded_skus,
        orphan_objects,
        kept_answers,
        expired_access,
        anonymised_addresses,
        expired_docs,
        old_runs,
        old_snapshots,
    ],
    jobs=[import_file, refresh_catalogue, publish_portfolio, publish_together, roll_up, regrade_portfolios, keep_house],
    schedules=SCHEDULES,
    sensors=[queued_imports],
    resources={"workshop": workshop_resource, "io_manager": run_memory},
    loggers={"console": service_log},
    executor=dg.in_process_executor,  # frames go from asset to asset in memory: one process under every launcher
)
