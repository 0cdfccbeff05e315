"""Looks up the slugs by which Dagster identifies companies, in sessions of no company (migration 0024)."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from warehouse.sessions import Connection

_COMPANY: Final = "SELECT pcds_company_of_slug(%s)"
_OF: Final = "SELECT id, slug FROM pcds_slugs(%s)"
_OWN: Final = "SELECT slug FROM companies WHERE id = %s"


def own(connection: Connection, company_id: UUID) -> str:
    """Return the slug of the session's company."""
    row = connection.execute(_OWN, [company_id]).fetchone()
    assert row is not None, "a session sees its company"
    return str(row[0])


def of(connection: Connection, company_ids: Sequence[UUID] | None = None) -> dict[UUID, str]:
    """Return the slugs of companies, or of all, oldest company first."""
    wanted = None if company_ids is None else list(company_ids)
    return dict(connection.execute(_OF, [wanted]).fetchall())


def company(connection: Connection, slug: str) -> UUID | None:
    """Return the company of a slug; None where no company has it."""
    row = connection.execute(_COMPANY, [slug]).fetchone()
    return None if row is None else row[0]
