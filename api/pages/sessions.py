"""Identifies the signed-in person by the session cookie, or redirects to the sign-in page.

The cookie is host-bound and secure wherever the base address is https; scripts cannot read it, and other sites' forms
do not send it. `warehouse.accounts.people` defines sessions and when they end.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final
from uuid import UUID

from anyio import to_thread
from fastapi import Depends
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from api.http.service import service_of
from schemas.accounts import Role, includes
from warehouse.accounts import people
from warehouse.operate.sessions import Connection

_SESSION_COOKIE: Final = "pcds_session"
_VISITOR_COOKIE: Final = "pcds_visit"
"""Cookie of a visitor who is not signed in yet: binds the sign-in form to the browser that it was shown in."""


class SignInFirst(Exception):  # noqa: N818  (an answer: the sign-in page)
    """The page needs a signed-in person; `back` is the requested path."""

    code = "sign_in_first"

    def __init__(self, back: str) -> None:
        """Store the requested path."""
        super().__init__("Sign in first.")
        self.back = back


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in person and their company; `csrf` is the token in this session's forms."""

    user_id: UUID
    email: str
    company_id: UUID
    company_name: str
    plan: str
    role: Role
    csrf: str


async def session_of(request: Request) -> Session | None:
    """Return the session of a request, None where nobody is signed in."""
    token = request.cookies.get(cookie_name(request, _SESSION_COOKIE))
    if not token:
        return None
    service = service_of(request)
    person = await service.reads.run(partial(people.find, token=token, at=service.clock.now()))
    if person is None:
        return None
    session = Session(
        person.id, person.email, person.company_id, person.company_name, person.plan, person.role, csrf_of(token)
    )
    request.state.company_id, request.state.session = session.company_id, session
    return session


async def signed_in(request: Request) -> Session:
    """Return the session of a request; raise `SignInFirst` where nobody is signed in."""
    session = await session_of(request)
    if session is None:
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        raise SignInFirst(target if request.method == "GET" else request.url.path)
    return session


class RoleMissing(Exception):  # noqa: N818  (an answer: a page that says which role may)
    """The signed-in person's role does not include the `needed` one."""

    code = "role_missing"

    def __init__(self, session: Session, needed: Role) -> None:
        """Store who asked, and the role that may."""
        super().__init__(f"This needs the role {needed}.")
        self.session, self.needed = session, needed


@dataclass(frozen=True, slots=True)
class Requires:
    """The dependency by which a route declares the role that it needs."""

    role: Role

    async def __call__(self, request: Request) -> Session:
        """Return the session of a request; raise `SignInFirst`, or `RoleMissing` where the role does not suffice."""
        session = await signed_in(request)
        if not includes(session.role, self.role):
            raise RoleMissing(session, self.role)
        return session


Viewer = Annotated[Session, Depends(Requires("viewer"))]
Editor = Annotated[Session, Depends(Requires("editor"))]
Approver = Annotated[Session, Depends(Requires("approver"))]
Administrator = Annotated[Session, Depends(Requires("administrator"))]
"""A signed-in person with this role or a higher one, as a handler's parameter."""


def csrf_of(token: str) -> str:
    """Return the form token that proves a page of the cookie with this token; it does not reveal the cookie's token."""
    return urlsafe_b64encode(hmac.digest(token.encode(), b"form", hashlib.sha256)).decode().rstrip("=")


def cookie_name(request: HTTPConnection, cookie: str) -> str:
    """Return a cookie's name: where secure, with the prefix that binds it to a host (RFC 6265bis, section 4.1.3.2)."""
    return f"__Host-{cookie}" if _is_secure(request) else cookie


def token_of(request: Request) -> str | None:
    """Return the token of the session cookie, valid or not."""
    return request.cookies.get(cookie_name(request, _SESSION_COOKIE))


def visitor_token_of(request: Request) -> str | None:
    """Return the token of a visitor's cookie."""
    return request.cookies.get(cookie_name(request, _VISITOR_COOKIE))


def remember(request: Request, answer: Response, token: str) -> None:
    """Set the session cookie, in place of the visitor's cookie."""
    set_cookie(request, answer, _SESSION_COOKIE, token)
    drop_cookie(request, answer, _VISITOR_COOKIE)


def remember_visitor(request: Request, answer: Response, token: str) -> None:
    """Set the visitor's cookie."""
    set_cookie(request, answer, _VISITOR_COOKIE, token)


def forget(request: Request, answer: Response) -> None:
    """Remove the session cookie."""
    drop_cookie(request, answer, _SESSION_COOKIE)


async def end(request: Request, end_session: Callable[[Connection, str], None], token: str) -> None:
    """End the session of a token in the database, by the function of people's or of staff's sessions."""

    def end_in_database() -> None:
        with service_of(request).writes.system() as connection:
            end_session(connection, token)

    await to_thread.run_sync(end_in_database)


def set_cookie(request: Request, answer: Response, cookie: str, token: str) -> None:
    """Set a cookie of the service."""
    answer.set_cookie(cookie_name(request, cookie), token, secure=_is_secure(request), httponly=True, samesite="lax")


def drop_cookie(request: Request, answer: Response, cookie: str) -> None:
    """Remove a cookie of the service."""
    answer.delete_cookie(cookie_name(request, cookie), secure=_is_secure(request), httponly=True, samesite="lax")


def _is_secure(request: HTTPConnection) -> bool:
    return service_of(request).settings.base_url.startswith("https://")
