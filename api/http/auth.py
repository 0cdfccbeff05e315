"""Authenticates a request by its key or bearer token, checks the operation's scope, and applies the request limit.

An unknown and a revoked credential are treated alike: one digest, one statement, one comparison, one answer. The same
statement counts the request (`docs/decisions/0007-rate-limits-in-one-sql-statement.md`). Reads send it together with
their query; writes send it before they look at the body.
"""

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Annotated, Any, Final, TypeVar  # Any: rows and parameters, whose types the statement says

from fastapi import Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import accepted_language, json_of_records
from api.http.errors import Forbidden, RateLimited, Unauthenticated
from api.http.parameters import READS, refuse_parameters
from api.http.requests import origin_of_actor
from api.http.service import service_of
from api.http.together import caught
from schemas.actors import Actor
from schemas.pages import Page
from schemas.vocabularies import VOCABULARIES
from warehouse.accounts import keys
from warehouse.accounts.keys import (
    ADMIT,
    ADMIT_EACH,
    CALLER_COLUMNS,
    PREFIX,
    REQUESTS_PER_MINUTE,
    TEST_PREFIX,
    Key,
    Rate,
    digest,
    with_caller,
)
from warehouse.operate.sessions import AsyncConnection, AsyncCursor, Connection
from warehouse.pages import Listing, names_of

T = TypeVar("T")

TOKEN_PATH = "/api/v1/oauth/token"  # noqa: S105  (a path)


@dataclass(frozen=True, slots=True)
class Credential:
    """The credential of a request, as its digest; not looked up yet."""

    digest: bytes
    is_token: bool
    is_test: bool
    """Whether it is of a sandbox, as its prefix says."""


SCHEMES: Final[Mapping[str, Any]] = {
    "ApiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": f"A key of the company, beginning with {PREFIX}.",
    },
    "BearerToken": {
        "type": "oauth2",
        "description": "A token from the token endpoint: client_id is the key's id, client_secret the key.",
        "flows": {
            "clientCredentials": {
                "tokenUrl": TOKEN_PATH,
                "scopes": {scope: f"Operations that {scope}." for scope in VOCABULARIES["scope"]},
            }
        },
    },
}
"""The two credentials as the document publishes them (OpenAPI 3.1, Security Scheme Object)."""


async def credential_of(request: Request) -> Credential:
    """Return the request's credential, the key where it has both; raise `Unauthenticated` where it has none."""
    key = request.headers.get("X-API-Key")
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if not key and scheme.lower() == "bearer":
        token = token.strip()
        credential = Credential(digest(token), is_token=True, is_test=token.startswith(keys.TEST_ACCESS_PREFIX))
    elif key and key.startswith(PREFIX):
        credential = Credential(digest(key), is_token=False, is_test=key.startswith(TEST_PREFIX))
    else:
        raise Unauthenticated("missing_api_key")
    request.state.credential = credential
    return credential


Presented = Annotated[Credential, Depends(credential_of)]
"""The credential of a read, to be looked up in the same statement as the read's query."""


async def optional_credential(request: Request) -> Credential | None:
    """Return the credential of a request that needs none."""
    try:
        return await credential_of(request)
    except Unauthenticated:
        return None


def admit_parameters(request: Request, credential: Credential) -> dict[str, Any]:
    """Return the parameters of `ADMIT`."""
    return {
        "presented": credential.digest,
        "is_token": credential.is_token,
        "usual_ceiling": REQUESTS_PER_MINUTE,
        "asked_at": service_of(request).clock.now(),
    }


def accept_key(request: Request, row: Sequence[Any] | None, credential: Credential, scope: str) -> Key:
    """Return the live key behind the row of `ADMIT`; add its company to the log.

    Raise `Unauthenticated`, `RateLimited` or `Forbidden`, in this order, then `Refused` for a parameter that the
    write does not have.
    """
    request.state.credential = None
    digest_found = bytes(row[5]) if row else bytes(len(credential.digest))
    if not hmac.compare_digest(digest_found, credential.digest) or row is None:
        raise Unauthenticated("invalid_token" if credential.is_token else "invalid_api_key")
    key, retry_after = Key(*row[:5]), row[6]
    request.state.company_id, request.state.client_id = key.company_id, key.client_id
    request.state.rate, request.state.is_sandbox = Rate(*row[7:]), credential.is_test
    if retry_after:
        raise RateLimited(retry_after)
    if scope not in key.scopes:
        raise Forbidden(scope)
    refuse_parameters(request)
    return key


async def admit(request: Request, credential: Credential, scope: str) -> Key:
    """Return the live key of a credential, looked up and counted by itself; raise as `accept_key` does."""
    parameters = admit_parameters(request, credential)

    async def ask(connection: AsyncConnection) -> tuple[Any, ...] | None:
        return await (await connection.execute(ADMIT, parameters)).fetchone()

    return accept_key(request, await service_of(request).reads.run(ask), credential, scope)


def admit_each_in_thread(requests: Sequence[Request], credential: Credential, scope: str) -> list[Key | Exception]:
    """Return the same for several requests with one credential, counted one by one, or what it raises for each.

    It asks in a thread, on the connection that the write uses next (decision 0112).
    """
    asked, statement = admit_parameters(requests[0], credential), ADMIT
    if len(requests) > 1:
        asked["asked_at"], statement = [asked["asked_at"]] * len(requests), ADMIT_EACH
    rows = service_of(requests[0]).writes.fetch_rows(statement, asked)
    each = zip_longest(requests, rows)  # an invalid credential has no rows
    return [caught(accept_key, request, row, credential, scope) for request, row in each]


def admit_in_thread(request: Request, credential: Credential, scope: str) -> Key:
    """Return the same for one request."""
    [key] = admit_each_in_thread([request], credential, scope)
    if isinstance(key, Exception):
        raise key
    return key


async def admit_left_over(request: Request) -> None:
    """Admit a request that was refused for another reason before its credential was looked up, so that it is counted.

    Raise as `accept_key` does: a caller without access learns nothing else.
    """
    credential: Credential | None = getattr(request.state, "credential", None)
    if credential is not None:
        await admit(request, credential, scope_of(request))


def scope_of(request: Request) -> str:
    """Return the scope that the operation of a request needs: write for all but reads and questions that are posted."""
    published = getattr(request.scope["route"], "openapi_extra", None) or {}
    return "read" if request.method in READS or published.get("x-scope") == "read" else "write"


async def _writer(request: Request) -> Key:
    return await admit(request, await credential_of(request), scope_of(request))


async def _reader(request: Request) -> Key:
    return await admit(request, await credential_of(request), "read")


Reader = Annotated[Key, Depends(_reader)]
"""The key of a read that is more than one query, checked before any other part of the request."""

Writer = Annotated[Key, Depends(_writer)]
"""The key of a write, checked before any other part of the request."""


async def read_page(request: Request, credential: Credential, listing: Listing[T]) -> Page[T]:
    """Return a page of a list, read as the key's company in the statement that admits it; raise as `accept_key`."""
    cursor, rows = await _rows(request, credential, listing.sql, listing.parameters)
    return listing.page(names_of(cursor), rows, skip=CALLER_COLUMNS)


async def answer_page(request: Request, credential: Credential, listing: Listing[Any]) -> Response:
    """Return a page of a list as JSON, read as `read_page` reads it."""
    cursor, rows = await _rows(request, credential, listing.sql, listing.parameters)
    return json_of_records(listing.records(names_of(cursor), rows, skip=CALLER_COLUMNS))


async def _rows(
    request: Request, credential: Credential, query: str, parameters: Mapping[str, Any]
) -> tuple[AsyncCursor, list[tuple[Any, ...]]]:
    """Return the result and rows of a query with those of its caller, who is admitted by the same statement."""
    arguments = {**parameters, **admit_parameters(request, credential)}

    async def ask(connection: AsyncConnection) -> tuple[AsyncCursor, list[tuple[Any, ...]]]:
        cursor = await connection.execute(with_caller(query), arguments, binary=True)
        return cursor, await cursor.fetchall()

    cursor, rows = await service_of(request).reads.run(ask)
    accept_key(request, rows[0][:CALLER_COLUMNS] if rows else None, credential, "read")
    return cursor, rows


async def read_record(
    request: Request, credential: Credential, query: str, parameters: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the one record of a query, read as `read_page` reads; None where the key's company has no such record.

    The first column of the query is never null.
    """
    cursor, rows = await _rows(request, credential, query, parameters)
    record = rows[0][CALLER_COLUMNS:]
    return None if record[0] is None else dict(zip(names_of(cursor)[CALLER_COLUMNS:], record, strict=True))


async def read(request: Request, credential: Credential, query: str, parameters: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the columns of the query's one row, read as the key's company; all null where it has no such row.

    Raise `Unauthenticated`, `Forbidden` or `RateLimited`.
    """
    _, rows = await _rows(request, credential, query, parameters)
    return rows[0][CALLER_COLUMNS:]


async def read_as_actor(request: Request, credential: Credential, ask: Callable[[Connection, Actor], T]) -> T:
    """Return what an operation answers in a session of the key's company, in a thread; raise as `accept_key`."""
    key = await admit(request, credential, "read")
    service, lang = service_of(request), accepted_language(request)
    actor = Actor(
        key.company_id, origin_of_actor(request, "api_key", str(key.client_id), key.name), service.clock.now(), lang
    )

    def read_in_thread() -> T:
        with service.writes.company(key.company_id) as conn:
            return ask(conn, actor)

    return await run_in_threadpool(read_in_thread)
