"""Reads of one query: the caller is let in and the query answered on one connection, at two round trips."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from api.auth import Credential, admit
from api.service import service_of
from warehouse.queries.keys import Key, seen_by_company
from warehouse.sessions import AsyncConnection


async def read(request: Request, credential: Credential, query: str, parameters: Mapping[str, Any]) -> tuple[Any, ...]:
    """The columns of the query's one row, seen as the key's company; all null where the company has no such row.

    Raises the refusals of `api.auth`. A query that is sent again is not counted again.
    """
    key: Key | None = None

    async def ask(connection: AsyncConnection) -> tuple[Any, ...] | None:
        nonlocal key
        key = key or await admit(request, connection, credential, "read")
        seen = {**parameters, "company_id": str(key.company_id)}
        return await (await connection.execute(seen_by_company(query), seen)).fetchone()

    row = await service_of(request).reading(ask)
    assert row is not None, "the outer side of a left join has its row"
    return row
