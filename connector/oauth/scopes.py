"""Checks the scopes of a request. The contract defines the codes and their order (interface v1, Authentication 4)."""

from connector.oauth.addresses import SCOPES
from connector.oauth.refusals import OAuthRefused


def requested_scopes(scope: str | None) -> list[str] | None:
    """Return the scopes of a parameter, None without one. Raises `OAuthRefused` for an unknown scope."""
    if scope is None:
        return None
    named = scope.split(" ")
    if not set(named) <= set(SCOPES):
        raise OAuthRefused("invalid_scope", "The scope is unknown; valid are read and write.")
    return [one for one in SCOPES if one in named]


def check_resource(named: list[str], ours: str) -> None:
    """Raise `OAuthRefused` where a request names a resource other than ours (RFC 8707, section 2)."""
    if any(one != ours for one in named):
        raise OAuthRefused("invalid_target", "Tokens are for the resource of this service alone.")
