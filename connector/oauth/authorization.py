"""Checks an application's authorization request before the person is asked (RFC 6749, section 4.1.1).

There are two kinds of faults: without a known client and one of its redirect addresses no answer can be sent, and the
person sees the fault (`Untrusted`); the application gets every other fault at that address, with `iss` (RFC 9207).
"""

import re
from collections.abc import Sequence
from typing import Final

from connector.oauth import redirects
from connector.oauth.addresses import SCOPES, resource
from connector.oauth.forms import Parameters
from connector.oauth.refusals import OAuthRefused
from connector.oauth.scopes import check_resource, requested_scopes
from services.connections import AuthorizationRequest
from warehouse.accounts.oauth_clients import Client

_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
"""A SHA-256 in base64url without padding (RFC 7636, section 4.2)."""


class Untrusted(Exception):  # noqa: N818  (an answer to the person)
    """The person must not be redirected to the address that the request names."""

    code = "redirect_mismatch"


def redirect_of(client: Client, sent: Parameters) -> str:
    """Return the redirect address. Raises `Untrusted` where it is not registered, or none of several is named.

    The registered addresses are checked again, so that a stricter rule applies to earlier registrations too.
    """
    named = sent.values.get("redirect_uri")
    if named is None and len(client.redirect_uris) == 1:
        named = client.redirect_uris[0]
    if named is None or not redirects.is_registered(named, client.redirect_uris) or not redirects.is_allowed(named):
        raise Untrusted
    return named


def wish(client: Client, redirect_uri: str, sent: Parameters, base: str) -> AuthorizationRequest:
    """Return the request's wish. Raises `OAuthRefused` with the codes of RFC 6749 (section 4.1.2.1) and RFC 8707."""
    if sent.needed("response_type") != "code":
        raise OAuthRefused("unsupported_response_type", "Only the response type code is served.")
    challenge, method = sent.needed("code_challenge"), sent.values.get("code_challenge_method", "plain")
    if method != "S256" or not _CHALLENGE.fullmatch(challenge):
        raise OAuthRefused("invalid_request", "Send a code_challenge with the code_challenge_method S256.")
    check_resource(sent.resources, resource(base))
    scopes: Sequence[str] = requested_scopes(sent.values.get("scope")) or SCOPES
    return AuthorizationRequest(client, redirect_uri, challenge, resource(base), scopes)


def answer_address(redirect_uri: str, sent: Parameters, base: str, answer: dict[str, str]) -> str:
    """Return the address with an answer: code or error, the client's own `state`, and the issuer."""
    state = {"state": sent.values["state"]} if "state" in sent.values else {}
    return redirects.with_answer(redirect_uri, {**answer, **state, "iss": base})
