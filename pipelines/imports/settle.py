"""Ends an import: completes it with its last chunk, or fails it as a whole with the reason that callers read."""

from datetime import datetime

from pipelines.imports.work import Work
from pipelines.writing.plans import PlanLimitReached
from schemas.issues import Issue
from schemas.messages import Message, templates
from warehouse.audit import ledger
from warehouse.clock import Clock
from warehouse.imports import claims
from warehouse.imports.claims import MAX_ATTEMPTS, Claim
from warehouse.sessions import Connection, Pool


def complete(conn: Connection, claim: Claim, work: Work, now: datetime) -> None:
    """End the import in the transaction of its last chunk. Raises `ClaimLost`."""
    _end(conn, claim, work, now, status="completed", failure=None)


def fail(pool: Pool, claim: Claim, work: Work, clock: Clock, failure: Issue) -> None:
    """End the import without its remaining rows. Raises `ClaimLost`."""
    with pool.company(claim.company_id) as conn:
        _end(conn, claim, work, clock.now(), status="failed", failure=failure)


def gave_up_issue() -> Issue:
    """Return the reason for an import whose runs lost their process too often: the file may need too much memory."""
    return Issue(
        "unreadable_file",
        Message(
            "The file was accepted, but {attempts} times the process that worked on it was lost before it had got "
            "further. Send it again in smaller parts, or quote the import's id to support.",
            attempts=MAX_ATTEMPTS,
        ),
    )


def our_fault_issue(correlation_id: str, *, dry_run: bool) -> Issue:
    """Return the reason for an import that met a fault of the service; another attempt would meet it again."""
    if dry_run:
        sentence = Message(
            "A fault of the service ended this dry run; nothing is wrong with the file, and nothing was written. Quote "
            "{id} to support, and send the file again when the fault is mended.",
            id=correlation_id,
        )
        return Issue("internal_error", sentence)
    return Issue(
        "internal_error",
        Message(
            "A fault of the service ended this import; nothing is wrong with the file. What counts shows is stored, "
            "the rest is not. Quote {id} to support, and send the file again when the fault is mended.",
            id=correlation_id,
        ),
    )


def ended_by_operator(*, dry_run: bool) -> Issue:
    """Return the reason for an import whose run a person of the operator's staff has terminated."""
    if dry_run:
        sentence = Message(
            "The operator of the service ended this dry run; nothing is wrong with the file, and nothing was written. "
            "Send the file again when the operator says that it may be sent."
        )
        return Issue("ended_by_operator", sentence)
    return Issue(
        "ended_by_operator",
        Message(
            "The operator of the service ended this import; nothing is wrong with the file. What counts shows is "
            "stored, the rest is not. Send the file again when the operator says that it may be sent."
        ),
    )


def plan_limit_issue(reached: PlanLimitReached) -> Issue:
    """Return the reason for an import whose room in the plan other writes took after it was accepted."""
    return Issue(
        "plan_limit_reached",
        Message("{reached} The rows before this one are stored; raise the plan and send again.", reached=reached),
    )


def _end(conn: Connection, claim: Claim, work: Work, now: datetime, *, status: str, failure: Issue | None) -> None:
    reason = None if failure is None else failure.as_dict() | {"correlationId": work.correlation_id}
    counts = claims.end(conn, claim, status, failure=reason, at=now, templates=templates(reason))
    ledger.enter(
        conn,
        work.company_id,
        f"import.{status}",
        work.id,
        origin=work.origin,
        now=now,
        before={"status": "processing"},
        after={"status": status, "counts": counts} | ({"failure": reason} if reason else {}),
    )
