"""Decides what becomes of an import whose run ends without having completed it.

| How the run ends | What becomes of its import |
|---|---|
| the process is stopping | it goes on: this run in another worker, or another run |
| a fault of the machine that passes (`warehouse.operate.surroundings`) | it waits and goes on, however often |
| other faults from outside; a killed process, which raises nothing here | the attempt counts; after five it fails |
| a person has terminated the run | it ends, as ended by the operator |
| a fault of ours: another run would meet it again | it fails once, and is not tried again |
"""

import threading
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import Final
from uuid import UUID

import psycopg
import structlog

from pipelines.imports import process, report
from pipelines.imports.report import Work
from warehouse.imports import claims
from warehouse.imports.claims import Claim
from warehouse.operate.clock import Clock
from warehouse.operate.sessions import Pool
from warehouse.operate.surroundings import is_passing

_GIVE_BACK_SECONDS: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Pauses between the attempts to give an import back: together longer than a disk is usually full."""
_FRAMES: Final = 12
"""Innermost frames of a fault of ours that are logged, under the correlation id that the caller quotes."""

log = structlog.get_logger(__name__)


def release(
    pool: Pool, clock: Clock, claim: Claim, sent: Work, error: BaseException, *, outside: type[Exception]
) -> None:
    """Decide what becomes of the import that an error has ended; `outside` marks what is no fault of ours."""
    from_outside = not isinstance(error, Exception) or any(isinstance(e, (outside, OSError)) for e in _causes(error))
    if from_outside:
        claims.hand_back(pool, claim)
    elif claims.held_by(pool, claim.import_id, claim.company_id, claim.token):  # neither ended nor given back
        fail_by_us(pool, clock, claim, sent, error)


def give_back(pool: Pool, claim: Claim, stopping: threading.Event) -> None:
    """Take back the attempt that a passing fault ended, which says nothing of the file.

    The database may lack the place for this too: it is tried for a while, after which the attempt counts.
    """
    for pause in (*_GIVE_BACK_SECONDS, None):
        try:
            claims.lay_down(pool, claim, keep=False)
        except psycopg.Error as error:
            log.warning("import.not_given_back", import_id=str(claim.import_id), error=type(error).__name__)
            if pause is None or not is_passing(error) or stopping.wait(pause):
                return
        else:
            return


def fail_by_us(pool: Pool, clock: Clock, claim: Claim, sent: Work, error: BaseException | None = None) -> None:
    """Fail the import by a fault of ours; without an `error` the asset's check says what is wrong."""
    fault = [*_causes(error)][-1:]
    # The exception's message is not logged: it may quote a cell of the caller's file. Dagster's own record has it.
    frames = [frame for cause in fault for frame in traceback.extract_tb(cause.__traceback__)[-_FRAMES:]]
    log.error(
        "import.failed_by_us",
        import_id=str(sent.id),
        company_id=str(sent.company_id),
        correlation_id=sent.correlation_id,
        error=type(fault[0]).__name__ if fault else "a check failed",
        run_id=str(claim.token),
        frames=[f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    )
    process.fail(pool, claim, sent, clock, process.our_fault_issue(sent.correlation_id, dry_run=sent.dry_run))


def end_by_operator(pool: Pool, clock: Clock, company_id: UUID, import_id: UUID, run_id: str) -> None:
    """Fail an import of the company as ended by the operator; nothing happens where it has ended or another run has it.

    Committed rows stay. A step that is interrupted ends its import so; the sensor of open imports ends those whose run
    was terminated before its step began, or together with its worker.
    """
    claim = claims.take(pool, clock, company_id, import_id, UUID(run_id))
    if claim is None:
        return
    sent = report.load(pool, company_id, import_id)
    with suppress(claims.ClaimLost):
        process.fail(pool, claim, sent, clock, process.ended_by_operator(dry_run=sent.dry_run))
        log.info("import.ended_by_operator", import_id=str(import_id), company_id=str(company_id), run_id=run_id)


def _causes(fault: BaseException | None) -> Iterator[BaseException]:
    """Yield the exception and the exceptions that it was raised from, the first cause last."""
    while fault is not None:
        yield fault
        fault = fault.__cause__
