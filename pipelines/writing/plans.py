"""Checks the plan's limit on SKUs: counts a company's SKUs, and refuses a write that would exceed the limit.

A write that creates on a limited plan locks the counter, so that two writers at once cannot both take the last place.
"""

from collections.abc import Sequence
from uuid import UUID

from schemas.messages import Message
from warehouse.companies import limits
from warehouse.sessions import Connection
from warehouse.skus import queries as skus


class PlanLimitReached(Exception):  # noqa: N818  (the name of the published code)
    """The write would exceed the plan's limit; nothing was written."""

    code = "plan_limit_reached"

    def __init__(self, limit: int, held: int, new: int) -> None:
        """`held` counts the company's SKUs, `new` the distinct codes that it does not have yet."""
        super().__init__(
            Message(
                "The plan holds {limit} SKUs; {held} are held and this would add {new}.",
                limit=limit,
                held=held,
                new=new,
            )
        )
        self.limit, self.held, self.new = limit, held, new


def check(conn: Connection, company_id: UUID, *, new: int) -> None:
    """Raise `PlanLimitReached` where `new` more SKUs would exceed the limit; lock the counter until the commit."""
    if not new:
        return
    counted = limits.skus(conn, company_id)
    assert counted is not None, "a session's company has a row and a counter"
    if counted.limit is None:
        return
    limit, count = limits.skus_locked(conn, company_id) or counted
    if limit is not None and count + new > limit:
        raise PlanLimitReached(limit, count, new)


def check_codes(conn: Connection, company_id: UUID, codes: Sequence[str]) -> None:
    """Do the same for a file before it is accepted, with those of its distinct codes that the company does not have."""
    counted = limits.skus(conn, company_id)
    if counted is None or counted.limit is None:
        return
    new = len(set(codes)) - skus.count_of(conn, codes)
    if counted.held + new > counted.limit:
        raise PlanLimitReached(counted.limit, counted.held, new)
