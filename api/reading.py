"""Reads of one query: the key is looked up and the query answered in one statement, at the cost of one."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from api.auth import accepted
from api.service import service_of
from warehouse.queries.keys import KEY_COLUMNS, authenticated
from warehouse.sessions import AsyncConnection


async def read(request: Request, key_hash: bytes, query: str, parameters: Mapping[str, Any]) -> tuple[Any, ...]:
    """The columns of the query's one row, seen as the key's company; all null where the company has no such row.

    Raises the refusals of `api.auth`.
    """

    async def ask(connection: AsyncConnection) -> tuple[Any, ...] | None:
        cursor = await connection.execute(authenticated(query), {**parameters, "key_hash": key_hash})
        return await cursor.fetchone()

    row = await service_of(request).reading(ask)
    accepted(request, row, key_hash, "read")
    assert row is not None, "a key that is not live was refused above"
    return row[KEY_COLUMNS:]
