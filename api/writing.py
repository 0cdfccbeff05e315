"""The door of every write: one transaction of the key's company around it, its answer rendered inside.

What a handler does between the two is its own: this module knows no field and no record.
"""

from collections.abc import Callable
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from api.errors import OverPlan
from api.service import service_of
from pipelines.steps.plans import PlanLimitReached
from warehouse.queries.keys import Key
from warehouse.sessions import Connection

Work: TypeAlias = Callable[[Connection], Response]
"""Writes in the transaction that it is given and renders the answer; refusals are raised. It may be called again."""


def answer(request: Request, key: Key, fingerprint: bytes, work: Work, *, dry_run: bool) -> Response:
    """The answer of `work`, done in one transaction, which is repeated where writers collide.

    `fingerprint` is what `api.bodies.fingerprint` makes of everything that the request means beside its path.
    """
    try:
        return service_of(request).writes.run(key.company_id, work)
    except PlanLimitReached as reached:
        raise OverPlan(limit=reached.limit, held=reached.held, new=reached.new) from None
