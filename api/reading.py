"""Reads of one query: authentication and query go to the database in one round trip."""

from collections.abc import Mapping
from typing import Any

from psycopg.rows import dict_row
from starlette.requests import Request

from api.auth import accepted
from api.service import service_of
from warehouse.queries.keys import AUTHENTICATE
from warehouse.sessions import AsyncConnection


async def read(request: Request, key_hash: bytes, query: str, parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """The query's one row, seen as the key's company; raises the refusals of `api.auth`."""

    async def ask(connection: AsyncConnection) -> tuple[Any, dict[str, Any] | None]:
        # Between two syncs of a pipeline all statements are one transaction: the company that the first one sets
        # holds for the second and for nothing after it. Where the key is not live there is none, and nothing is seen.
        async with connection.pipeline():
            authenticated = await connection.execute(AUTHENTICATE, {"key_hash": key_hash})
            cursor = connection.cursor(row_factory=dict_row)
            await cursor.execute(query, parameters)
        return await authenticated.fetchone(), await cursor.fetchone()

    row, found = await service_of(request).reading(ask)
    accepted(request, row, key_hash, "read")
    return found
