"""Runs one statement as the connection's company, sent with its transaction in one round trip."""

from collections.abc import Mapping
from functools import partial
from typing import Any  # Any: a row, whose columns the query names
from uuid import UUID

from connector.service import Service
from warehouse.sessions import first_row


async def row(
    service: Service, company_id: UUID, query: str, parameters: Mapping[str, object]
) -> tuple[Any, ...] | None:
    """Return the query's first row as the company sees it; None for none. It is retried where a connection had died."""
    return await service.reading(partial(first_row, company_id=company_id, query=query, parameters=parameters))
