"""Checks email and password of a sign-in form, of a company's people and of staff alike.

An unknown account, a disabled one and a wrong password get the same answer after the same work. Wrong passwords are
counted for the network that they come from, and for the account from there; right ones are not.
"""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from starlette.requests import Request

from api.origin import client_network
from api.pages.concurrency import run_limited
from api.pages.forms import Form
from api.pages.refusals import PageRefused
from api.service import Service, service_of
from warehouse.accounts import passwords, users
from warehouse.sessions import Connection


class Credentials(NamedTuple):
    """The email and the password that were sent."""

    email: str
    password: str


class Attempt(Protocol):
    """The account that a sign-in is compared with: no hash where there is none, and the seconds to wait."""

    @property
    def password_hash(self) -> str | None:
        """Return the hash of the account's password."""

    @property
    def retry_after(self) -> int:
        """Return the seconds to wait; 0 below the limits."""


FoundAttempt = TypeVar("FoundAttempt", bound=Attempt)
CountAttempt: TypeAlias = Callable[[Connection, str, str, datetime], FoundAttempt]
"""Looks up the account of an email and counts the attempt from a network, as `users.attempt` does."""


def credentials_of(form: Form) -> Credentials | None:
    """Return the credentials of a sign-in form; None for texts that no account can have."""
    email, password = form.get("email", ""), form.get("password", "")
    if len(email) > passwords.LONGEST or passwords.is_too_long(password) or "\x00" in email:
        return None
    return Credentials(email, password)


async def compare(
    request: Request, count_attempt: CountAttempt[FoundAttempt], sent: Credentials
) -> tuple[FoundAttempt, bool]:
    """Return the account with the email, and whether the password is right. Raise `PageRefused` over a limit."""
    return await run_limited(
        request, "password", _compare, service_of(request), count_attempt, sent, client_network(request)
    )


def _compare(
    service: Service, count_attempt: CountAttempt[FoundAttempt], sent: Credentials, network: str
) -> tuple[FoundAttempt, bool]:
    with service.writes.system() as connection:
        found = count_attempt(connection, sent.email, network, service.clock.now())
        if found.retry_after:
            raise PageRefused(429, "sign_in.wait", headers={"Retry-After": str(found.retry_after)})
        is_right = passwords.is_right(sent.password, found.password_hash)
        if is_right:
            users.undo_attempt(connection)
        return found, is_right
