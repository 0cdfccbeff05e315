"""Who asks: the connection that a request came over, as the gate in front of the protocol has found it.

The gate puts a principal's claims into the access token that the protocol library carries with each message, and
tools read it from there. A company comes from nowhere else: no argument of a tool names one.
"""

from dataclasses import asdict, dataclass
from typing import Self
from uuid import UUID

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken

from warehouse.audit.origin import Origin


class Unauthenticated(Exception):  # noqa: N818  (an answer, not a fault)
    """A message came past the gate without a principal; nothing is told."""

    code = "invalid_token"


@dataclass(frozen=True, slots=True)
class Principal:
    """A person's connection. `user_name` is how they sign in, `client_name` what the application calls itself."""

    company_id: UUID
    connection_id: UUID
    user_id: UUID
    user_name: str
    client_name: str
    correlation_id: str

    def claims(self) -> dict[str, object]:
        """What an access token carries besides `iss`, for `AccessToken(claims=...)`."""
        return {name: str(value) for name, value in asdict(self).items()}

    @classmethod
    def of(cls, token: AccessToken | None) -> Self:
        """The principal in a token that the gate made. Raises `Unauthenticated` where there is none."""
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
        )

    @property
    def origin(self) -> Origin:
        """What the audit ledger says of a filing made over this connection."""
        return Origin("connection", str(self.connection_id), self.client_name, self.correlation_id)


def current() -> Principal:
    """The principal of the message that is being answered. Raises `Unauthenticated`."""
    return Principal.of(get_access_token())
