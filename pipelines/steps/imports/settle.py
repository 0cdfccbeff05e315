"""The ends of an import: completed with its last chunk, or failed as a whole with the reason that callers read."""

from datetime import datetime
from typing import Any, Final

import psycopg
from psycopg.types.json import Json

from pipelines.steps import ledger
from pipelines.steps.imports.claim import MAX_ATTEMPTS, Claim, prove
from pipelines.steps.imports.work import Work
from pipelines.steps.plans import PlanLimitReached
from schemas.issues import Issue
from warehouse.clock import Clock
from warehouse.sessions import Pool

_END: Final = """
UPDATE imports SET status = %s, failure = %s, finished_at = %s, claim = NULL
WHERE id = %s AND claim = %s
RETURNING created, updated, unchanged, rejected
"""


def complete(conn: psycopg.Connection[Any], claim: Claim, work: Work, now: datetime) -> None:
    """End the import in the transaction of its last chunk. Raises `ClaimLost`."""
    _end(conn, claim, work, now, status="completed", failure=None)


def fail(pool: Pool, claim: Claim, work: Work, clock: Clock, failure: Issue) -> None:
    """End the import without its remaining rows. Raises `ClaimLost`."""
    with pool.company(claim.company_id) as conn:
        _end(conn, claim, work, clock.now(), status="failed", failure=failure)


def gave_up() -> Issue:
    """Why an import fails that no run could take further."""
    return Issue(
        "unreadable_file",
        f"The file was accepted, but {MAX_ATTEMPTS} attempts to process it ended without progress. "
        "Send it again in smaller parts, or quote the import's id to support.",
    )


def plan_full(reached: PlanLimitReached) -> Issue:
    """Why an import fails whose room in the plan other writes took after it was accepted."""
    return Issue("plan_limit_reached", f"{reached} The rows before this one are stored; raise the plan and send again.")


def _end(
    conn: psycopg.Connection[Any], claim: Claim, work: Work, now: datetime, *, status: str, failure: Issue | None
) -> None:
    reason = None if failure is None else failure.as_dict()
    values = (status, reason and Json(reason), now, claim.import_id, claim.token)
    cursor = conn.execute(_END, values)
    prove(cursor)
    counts = dict(zip(("created", "updated", "unchanged", "rejected"), cursor.fetchone() or (), strict=True))
    ledger.enter(
        conn, work.company_id, f"import.{status}", work.id, origin=work.origin, now=now,
        before={"status": "processing"},
        after={"status": status, "counts": counts} | ({"failure": reason} if reason else {}),
    )  # fmt: skip
