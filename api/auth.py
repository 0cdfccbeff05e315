"""Who calls: the X-API-Key header to a live key, and the scope that the operation needs.

An unknown and a revoked key take the same path: one digest, one statement, one comparison, one answer. Reads send
the statement together with their query (`api.reading`); writes ask here first, before their body is read.
"""

import hmac
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends, Security
from fastapi.openapi.models import APIKey
from fastapi.security.base import SecurityBase
from starlette.requests import Request

from api.errors import Forbidden, Unauthenticated
from api.service import service_of
from warehouse.queries.keys import AUTHENTICATE, PREFIX, Key, digest
from warehouse.sessions import AsyncConnection


class _ApiKey(SecurityBase):
    """The X-API-Key header, as the document describes it and as the digest that handlers go on with."""

    def __init__(self) -> None:
        self.scheme_name = "ApiKey"
        self.model = APIKey.model_validate(
            {"in": "header", "name": "X-API-Key", "description": f"A key of the company, beginning with {PREFIX}."}
        )

    async def __call__(self, request: Request) -> bytes:
        """The digest of the key that the request carries; raises `Unauthenticated` where it carries none."""
        value = request.headers.get("X-API-Key", "")
        if not value.startswith(PREFIX):
            raise Unauthenticated("missing_api_key")
        return digest(value)


Presented = Annotated[bytes, Security(_ApiKey())]
"""The digest of the key of a read, to be checked in the same round trip as the read's query."""


def accepted(request: Request, row: Sequence[Any] | None, key_hash: bytes, scope: str) -> Key:
    """The key behind the row of `AUTHENTICATE`, when it is live and holds the scope; notes its company for the log."""
    held = bytes(row[5]) if row else bytes(len(key_hash))
    if not hmac.compare_digest(held, key_hash) or row is None:
        raise Unauthenticated("invalid_api_key")
    key = Key(*row[:5])
    request.state.company_id, request.state.client_id = key.company_id, key.client_id
    if scope not in key.scopes:
        raise Forbidden(scope)
    return key


async def _looked_up(request: Request, key_hash: bytes, scope: str) -> Key:
    async def ask(connection: AsyncConnection) -> tuple[Any, ...] | None:
        return await (await connection.execute(AUTHENTICATE, {"key_hash": key_hash})).fetchone()

    return accepted(request, await service_of(request).reading(ask), key_hash, scope)


async def _writer(request: Request, key_hash: Presented) -> Key:
    return await _looked_up(request, key_hash, "write")


async def _reader(request: Request, key_hash: Presented) -> Key:
    return await _looked_up(request, key_hash, "read")


Writer = Annotated[Key, Depends(_writer)]
"""The key of a write, checked before anything else of the request is looked at."""

Reader = Annotated[Key, Depends(_reader)]
"""The key of a read whose answer is not one query."""
