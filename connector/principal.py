"""Identifies the caller: the connection of a request, as the gate in front of the protocol has found it.

The gate puts a principal's claims into the access token that the protocol library passes with each message, and tools
read it from there. The company comes only from there: no argument of a tool names one.
"""

from dataclasses import asdict, dataclass
from typing import Self
from uuid import UUID

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken

from schemas.accounts import Role, includes
from schemas.actors import Origin


class Unauthenticated(Exception):  # noqa: N818  (an answer, not a fault)
    """A message came past the gate without a principal; the error gives no details."""

    code = "invalid_token"


@dataclass(frozen=True, slots=True)
class Principal:
    """A person's connection. `user_name` is the name they sign in with, `client_name` the application's own name.

    `role` is the person's at this request.
    """

    company_id: UUID
    connection_id: UUID
    user_id: UUID
    user_name: str
    client_name: str
    correlation_id: str
    role: Role

    def claims(self) -> dict[str, object]:
        """Return the claims of an access token besides `iss`, for `AccessToken(claims=...)`."""
        return {name: str(value) for name, value in asdict(self).items()}

    @classmethod
    def from_token(cls, token: AccessToken | None) -> Self:
        """Return the principal in a token that the gate made. Raises `Unauthenticated` where there is none."""
        if token is None or token.claims is None or "company_id" not in token.claims:
            raise Unauthenticated
        claims = token.claims
        return cls(
            UUID(claims["company_id"]),
            UUID(claims["connection_id"]),
            UUID(claims["user_id"]),
            claims["user_name"],
            claims["client_name"],
            claims["correlation_id"],
            claims["role"],
        )

    @property
    def origin(self) -> Origin:
        """Return the origin that the audit ledger stores for a filing over this connection."""
        return Origin("connection", str(self.connection_id), self.client_name, self.correlation_id)


def may_draft() -> bool:
    """Return whether token and role of the message that is being answered let its person file something for review."""
    token = get_access_token()
    return token is not None and "write" in token.scopes and includes(Principal.from_token(token).role, "editor")


def current_principal() -> Principal:
    """Return the principal of the message that is being answered. Raises `Unauthenticated`."""
    return Principal.from_token(get_access_token())
