"""The JSON door to the write path: records of one request in, one result per record out, refusals as answers."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request

from api.errors import OverPlan
from api.origin import origin_of
from api.service import service_of
from pipelines.steps.plans import PlanLimitReached
from pipelines.steps.records import RowResult, write_records
from warehouse.queries.keys import Key


def written(request: Request, key: Key, records: Sequence[dict[str, Any]], *, dry_run: bool) -> list[RowResult]:
    """Write validated records as the key's company, in one transaction."""
    service = service_of(request)
    try:
        return write_records(
            service.writes, key.company_id, records, origin=origin_of(request, key), clock=service.clock,
            dry_run=dry_run,
        ).rows  # fmt: skip
    except PlanLimitReached as reached:
        raise OverPlan(limit=reached.limit, held=reached.held, new=reached.new) from None
