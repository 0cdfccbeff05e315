"""Which companies' snapshots are not what their rows are any more.

Each write adds a link to its company's audit chain (`warehouse.chain`), so that comparing the last number with the one
published tells it without looking at a single row of a portfolio (migration 0012).
"""

from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

import psycopg

from warehouse.snapshots.snapshot import current

_STALE: Final = "SELECT company_id, since FROM pcds_stale_snapshots(%s) ORDER BY since NULLS FIRST"
_RECORDED: Final = "SELECT name FROM snapshots"


class Stale(NamedTuple):
    """A company with writes that no snapshot holds; `since`: the oldest of them, None where only a day has passed."""

    company_id: UUID
    since: datetime | None


def stale(conn: psycopg.Connection[Any], today: date) -> list[Stale]:
    """The companies to publish, the longest waiting first, on a UTC day; asked in a session of no company."""
    return [Stale(*row) for row in conn.execute(_STALE, (today,))]


def is_astray(conn: psycopg.Connection[Any], data_dir: Path, company_id: UUID) -> bool:
    """Whether the database knows of another snapshot than lies here: files were lost, or a backup was put back.

    Asked in a session of the company.
    """
    recorded = conn.execute(_RECORDED).fetchone()
    found = current(data_dir, company_id)
    return (recorded[0] if recorded else None) != (found.name if found else None)
