"""Which companies there are: the one question that a session of no company may ask (migration 0008)."""

from collections.abc import Callable
from typing import TypeAlias
from uuid import UUID

from warehouse.sessions import Pool

Proceed: TypeAlias = Callable[[], None]
"""Asked before each piece of work; raises where the process shall end."""


def every_company(pool: Pool) -> list[UUID]:
    """The ids of all companies, oldest first."""
    with pool.system() as conn:
        return [row[0] for row in conn.execute("SELECT pcds_company_ids()")]
