"""The plan's limit on SKUs: how many a company holds, how many it may hold, and the refusal between them.

The counter is locked by who creates on a limited plan, so that two writers at once cannot both take the last place.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg

_HELD = (
    "SELECT plans.sku_limit, counters.skus FROM companies JOIN plans USING (plan) "
    "JOIN company_counters AS counters ON counters.company_id = companies.id WHERE companies.id = %s"
)


class PlanLimitReached(Exception):  # noqa: N818  (the name of the published code)
    """The write would pass the plan's limit; nothing was written."""

    code = "plan_limit_reached"

    def __init__(self, limit: int, held: int, new: int) -> None:
        """`new` counts distinct codes that the company does not hold yet."""
        super().__init__(f"The plan holds {limit} SKUs; {held} are held and this would add {new}.")
        self.limit, self.held, self.new = limit, held, new


def check(conn: psycopg.Connection[Any], company_id: UUID, *, new: int) -> None:
    """Raise `PlanLimitReached` where `new` more SKUs would pass the limit; hold the counter until the commit."""
    if not new:
        return
    row = conn.execute(_HELD, [company_id]).fetchone()
    assert row is not None, "a session's company has a row and a counter"
    if row[0] is None:
        return
    limit, held = conn.execute(f"{_HELD} FOR UPDATE OF counters", [company_id]).fetchone() or row
    if held + new > limit:
        raise PlanLimitReached(limit, held, new)


def check_codes(conn: psycopg.Connection[Any], company_id: UUID, codes: Sequence[str]) -> None:
    """The same for a file before it is accepted: its distinct codes less those that the company holds."""
    limited = conn.execute(_HELD, [company_id]).fetchone()
    if limited is None or limited[0] is None:
        return
    known = conn.execute("SELECT count(*) FROM skus WHERE sku_code = ANY(%s)", [list(codes)]).fetchone()
    new = len(set(codes)) - (known[0] if known else 0)
    if limited[1] + new > limited[0]:
        raise PlanLimitReached(limited[0], limited[1], new)
