"""Handles reads of one query: authenticates the caller and answers the query in one statement, at the cost of one."""

from collections.abc import Mapping
from typing import Any  # Any: rows and parameters, whose types the statement says

from starlette.requests import Request

from api.auth import Credential, accept_key, admit_parameters
from api.service import service_of
from warehouse.access.keys import CALLER_COLUMNS, with_caller
from warehouse.sessions import AsyncConnection


async def read(request: Request, credential: Credential, query: str, parameters: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the columns of the query's one row, read as the key's company; all null where it has no such row.

    Raise the refusals of `api.auth`.
    """
    asked = {**parameters, **admit_parameters(request, credential)}

    async def ask(connection: AsyncConnection) -> tuple[Any, ...] | None:
        return await (await connection.execute(with_caller(query), asked)).fetchone()

    row = await service_of(request).reading(ask)
    accept_key(request, row and row[:CALLER_COLUMNS], credential, "read")
    assert row is not None, "a credential that does not count was refused above"
    return row[CALLER_COLUMNS:]
