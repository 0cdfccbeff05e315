"""What becomes of an import whose run a person has terminated: it ends with its run, and says who ended it.

A step that is interrupted says so itself (`holding`). What is terminated before its first step, between two steps, or
together with its worker, the sensor of open imports ends (`sensors`). A run that loses its process or leaves one that
stops is another matter: its import goes on.
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
    """Whether a person has asked for the run's end, or has marked it as canceled although nobody had it.

    Runs without an origin are of `pcds`, or of a release before 0024, which ended as canceled with their process.
    """
    marked = run.status == dg.DagsterRunStatus.CANCELED and run.job_code_origin is not None
    return tags.TERMINATED in run.tags or (marked and not tags.LEFT.keys() & run.tags.keys())


def end_import(pool: Pool, clock: Clock, company_id: UUID, import_id: UUID, run_id: str) -> None:
    """Fail an import of the company as ended by the operator; nothing happens where it has ended or another run has it.

    What was committed stays.
    """
    claim = claims.take(pool, clock, company_id, import_id, UUID(run_id))
    if claim is None:
        return
    sent = work.load(pool, company_id, import_id)
    with suppress(claims.ClaimLost):
        settle.fail(pool, claim, sent, clock, settle.ended_by_operator())
        log.info("import.ended_by_operator", import_id=str(import_id), company_id=str(company_id), run_id=run_id)
