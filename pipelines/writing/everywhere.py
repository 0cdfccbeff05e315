"""What changes for all companies at once, entered in the ledger of each, in the transaction that changes it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg

from pipelines.writing import ledger
from pipelines.writing.origin import Origin

_BECOME: Final = "SELECT set_config('app.company_id', %s, true)"


def enter(
    conn: psycopg.Connection[Any], company_ids: Sequence[UUID], action: str, resource_id: str, *, origin: Origin,
    now: datetime, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None,
) -> None:  # fmt: skip
    """Add the entry to each company's ledger, as the last thing that the caller's transaction does.

    The session is of each company in turn. Each company's writers wait from its entry to the commit.
    """
    for company_id in company_ids:
        become(conn, company_id)
        ledger.enter(conn, company_id, action, resource_id, origin=origin, now=now, before=before, after=after)


def become(conn: psycopg.Connection[Any], company_id: UUID) -> None:
    """Make the session one of the company until the transaction ends."""
    conn.execute(_BECOME, (str(company_id),))
