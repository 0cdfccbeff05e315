"""Defines the addresses of the authorization server, all made from the service's base address.

Clients compare the issuer letter by letter: everywhere it is the base address without a slash at its end.
"""

from typing import Final

AUTHORIZE: Final = "/oauth/authorize"
TOKEN: Final = "/oauth/token"  # noqa: S105  (a path)
REGISTER: Final = "/oauth/register"
REVOKE: Final = "/oauth/revoke"
RESOURCE: Final = "/api/mcp"
RESOURCE_METADATA: Final = f"/.well-known/oauth-protected-resource{RESOURCE}"
"""With the resource's path inserted (RFC 9728, section 3.1)."""
SERVER_METADATA: Final = "/.well-known/oauth-authorization-server"
SCOPES: Final = ("read", "write")
"""Scopes of a connection: `read` to see records, `write` to file drafts and proposals for review."""


def resource(base: str) -> str:
    """Return the only resource of the tokens."""
    return base + RESOURCE
