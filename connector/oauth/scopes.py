"""The scopes that a request wants. The codes and their order are the contract's (interface v1, Authentication 4)."""

from connector.oauth.addresses import SCOPES
from connector.oauth.refusals import OAuthRefused


def wanted(scope: str | None) -> list[str] | None:
    """The scopes of a parameter, None without one. Raises `OAuthRefused` for one that there is not."""
    if scope is None:
        return None
    named = scope.split(" ")
    if not set(named) <= set(SCOPES):
        raise OAuthRefused("invalid_scope", "The scope is unknown; valid are read and write.")
    return [one for one in SCOPES if one in named]


def check_resource(named: list[str], ours: str) -> None:
    """Raise `OAuthRefused` where a request names a resource other than the one there is (RFC 8707, section 2)."""
    if any(one != ours for one in named):
        raise OAuthRefused("invalid_target", "Tokens are for the resource of this service alone.")
