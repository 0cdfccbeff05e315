"""Finds companies whose snapshots are out of date, and companies whose files are missing here.

Each write adds a link to its company's audit chain (`warehouse.audit.chain`), so comparing the last number with the
published one suffices, without reading a row of a portfolio (migration 0024). The queries run in sessions of no
company.
"""

from datetime import date, datetime
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

from warehouse.sessions import Connection
from warehouse.snapshots.snapshot import current

_STALE: Final = """
SELECT company_id, slug, "position", since, importing, imported, skus
FROM pcds_stale_snapshots(%s) ORDER BY since NULLS FIRST
"""
_PUBLISHED: Final = 'SELECT company_id, slug, "position", name FROM pcds_published_snapshots()'


class Stale(NamedTuple):
    """A company with writes that no snapshot has; `since`: the oldest of them, None where only a day has passed.

    `position` is the last link of its chain, `importing` whether an import of it waits or is under way, `imported`
    whether one has ended since the oldest of those writes, `skus` how many SKUs it has.
    """

    company_id: UUID
    slug: str
    position: int
    since: datetime | None
    importing: bool
    imported: bool
    skus: int


class Published(NamedTuple):
    """A company, the last link of its chain, and the name of its snapshot; None where none was published."""

    company_id: UUID
    slug: str
    position: int
    name: str | None


def stale(conn: Connection, today: date) -> list[Stale]:
    """Return the companies to publish, the longest waiting first, on a UTC day."""
    return [Stale(*row) for row in conn.execute(_STALE, (today,))]


def published(conn: Connection) -> list[Published]:
    """Return the database's record of every company's snapshot."""
    return [Published(*row) for row in conn.execute(_PUBLISHED)]


def is_astray(known: Published, data_dir: Path) -> bool:
    """Return whether the database names another snapshot than the one here: files were lost, or a backup restored."""
    found = current(data_dir, known.company_id)
    return known.name != (found.name if found else None)
