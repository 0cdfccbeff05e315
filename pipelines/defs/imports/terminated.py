"""Ends an import whose run a person has terminated, and records that the operator ended it.

A step that is interrupted ends its import itself (`claimed`). The sensor of open imports (`sensors`) ends those whose
run was terminated before its first step, between two steps, or together with its worker. An import whose run lost its
process, or left one that stopped, continues.
"""

from contextlib import suppress
from uuid import UUID

import dagster as dg
import structlog

from pipelines.engine import tags
from pipelines.imports import settle, work
from warehouse.clock import Clock
from warehouse.imports import claims
from warehouse.sessions import Pool

log = structlog.get_logger(__name__)


def is_terminated(run: dg.DagsterRun) -> bool:
    """Return whether a person has requested the run's end, or has marked a run that no worker had as canceled.

    Runs without an origin are of `pcds`, or of a release before 0024, which ended as canceled with their process.
    """
    marked = run.status == dg.DagsterRunStatus.CANCELED and run.job_code_origin is not None
    return tags.TERMINATED in run.tags or (marked and not tags.LEFT.keys() & run.tags.keys())


def end_import(pool: Pool, clock: Clock, company_id: UUID, import_id: UUID, run_id: str) -> None:
    """Fail an import of the company as ended by the operator; nothing happens where it has ended or another run has it.

    Committed rows stay.
    """
    claim = claims.take(pool, clock, company_id, import_id, UUID(run_id))
    if claim is None:
        return
    sent = work.load(pool, company_id, import_id)
    with suppress(claims.ClaimLost):
        settle.fail(pool, claim, sent, clock, settle.ended_by_operator(dry_run=sent.dry_run))
        log.info("import.ended_by_operator", import_id=str(import_id), company_id=str(company_id), run_id=run_id)
