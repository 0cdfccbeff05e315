"""Identifies signed-in staff by a cookie and a session separate from those of companies' people.

A person's session (`api.pages.sessions`) does not count as a staff session, nor the reverse: the cookies differ and are
looked up in different tables.
"""

from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from api.pages import sessions
from api.pages.sessions import csrf_of
from api.service import service_of
from warehouse.staff import queries as staff
from warehouse.staff.queries import Role

_COOKIE: Final = "pcds_staff"


@dataclass(frozen=True, slots=True)
class Member:
    """A signed-in member of staff; `csrf` is the token in this session's forms."""

    id: UUID
    email: str
    role: Role
    csrf: str


async def member_of(connection: HTTPConnection) -> Member | None:
    """Return the member of staff of a request or a web socket, None where nobody is signed in."""
    token = token_of(connection)
    if not token:
        return None
    service = service_of(connection)
    found = await service.reading(partial(staff.find, token=token, at=service.clock.now()))
    return None if found is None else Member(found.id, found.email, found.role, csrf_of(token))


def token_of(connection: HTTPConnection) -> str | None:
    """Return the token of the session cookie, valid or not."""
    return connection.cookies.get(sessions.cookie_name(connection, _COOKIE))


def remember(request: Request, answer: Response, token: str) -> None:
    """Set the session cookie."""
    sessions.set_cookie(request, answer, _COOKIE, token)


def forget(request: Request, answer: Response) -> None:
    """Remove the session cookie."""
    sessions.drop_cookie(request, answer, _COOKIE)
