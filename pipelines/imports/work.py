"""Reads the import's row for a run: its file, its progress, and its sender."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from schemas.report import ImportSource
from warehouse.audit.origin import Origin
from warehouse.imports import queries
from warehouse.imports.queue import STALLED_AFTER
from warehouse.sessions import Pool


@dataclass(frozen=True, slots=True)
class Work:
    """An import. `position` counts typed rows that are committed; `attempts` counts runs since the last commit.

    `answers` is the import whose held-back values this one writes.
    """

    id: UUID
    company_id: UUID
    company_name: str
    filename: str
    size_bytes: int
    sha256: str
    dry_run: bool
    upload_key: str
    table_key: str
    default_year: int
    source: ImportSource
    rows_total: int
    position: int
    attempts: int
    correlation_id: str
    ip: str | None
    user_agent: str | None
    keep_archived: bool = False
    answers: UUID | None = None
    mapping: Mapping[str, object] | None = None
    status: str = "processing"
    claim: UUID | None = None
    run_id: str | None = None
    heartbeat_at: datetime | None = None

    @property
    def makes_records(self) -> bool:
        """Return whether suppliers, brands and sites are made by their names."""
        return bool((self.mapping or {}).get("create"))

    @property
    def before_key(self) -> str:
        """Return where an answer keeps the table as the import that it answers has read it."""
        return before_key(self.table_key)

    @property
    def has_ended(self) -> bool:
        """Return whether nothing of it is left to be written."""
        return self.status not in ("queued", "processing")

    @property
    def origin(self) -> Origin:
        """Return the import as the actor of its writes, under the correlation id of the request that sent it."""
        return Origin(
            actor_type="import",
            actor_id=str(self.id),
            actor_name=self.filename,
            correlation_id=self.correlation_id,
            ip=self.ip,
            user_agent=self.user_agent,
        )


def before_key(table_key: str) -> str:
    """Return the key of the table that was read before, beside that of an answer."""
    return f"{table_key}-before"


def load(pool: Pool, company_id: UUID, import_id: UUID) -> Work:
    """Return the row of a company's import. Raises `LookupError` where the company has no such import."""
    with pool.company(company_id) as conn:
        row = queries.one(conn, import_id, Work, Work.__slots__)
    if row is None:
        raise LookupError(f"The company has no import {import_id}.")
    return row


def next_waiting(pool: Pool, company_id: UUID, now: datetime) -> UUID | None:
    """Return the company's oldest import that no run works on; None where none waits."""
    with pool.company(company_id) as conn:
        return queries.next_waiting(conn, stalled_before=now - STALLED_AFTER)
