"""Checks the plan's limit on SKUs: counts a company's SKUs, and refuses a write that would exceed the limit.

A write that creates on a limited plan locks the counter, so that two writers at once cannot both take the last place.
"""

from collections.abc import Sequence
from uuid import UUID

from schemas.messages import Message
from warehouse.companies import limits
from warehouse.companies.limits import Skus
from warehouse.sessions import Connection
from warehouse.skus import queries


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


def counted(conn: Connection, company_id: UUID) -> Skus:
    """Return how many SKUs the session's company has and may have."""
    skus = limits.skus(conn, company_id)
    assert skus is not None, "a session's company has a row and a counter"
    return skus


def check(conn: Connection, company_id: UUID, before: Skus, *, new: int, written: int = 0) -> None:
    """Raise `PlanLimitReached` where `new` more SKUs exceed the limit; lock the counter until the commit.

    `before` is what `counted` returned in this transaction; `written` of the new ones are in the counter since.
    """
    if before.limit is None or not new:
        return
    limit, count, _ = limits.skus_locked(conn, company_id) or before
    if limit is not None and count - written + new > limit:
        raise PlanLimitReached(limit, count - written, new)


def check_codes(conn: Connection, company_id: UUID, codes: Sequence[str], *, keep_archived: bool) -> None:
    """Do the same for a file before it is accepted, with those of its distinct codes that the company does not have.

    With `keep_archived` those of archived SKUs, which its rows will not bring back, are not new.
    """
    limit, count, _ = counted(conn, company_id)
    if limit is None:
        return
    known = len(queries.existing_codes(conn, codes)) if keep_archived else queries.count_of(conn, codes)
    new = len(set(codes)) - known
    if count + new > limit:
        raise PlanLimitReached(limit, count, new)
