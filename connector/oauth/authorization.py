"""Checks an application's authorization request before the person is asked (RFC 6749, section 4.1.1).

There are two kinds of faults: without a known client and one of its redirect addresses no answer can be sent, and the
person sees the fault; the application gets every other fault at that address, with `iss` (RFC 9207).
"""

import csv
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlencode, urlsplit

from connector.oauth.endpoints import SCOPES, OAuthRefused, Parameters, resource
from warehouse.assistants import AuthorizationRequest, Client


def requested_scopes(scope: str | None) -> list[str] | None:
    """Return the scopes of a parameter, None without one. Raises `OAuthRefused` for an unknown scope."""
    if scope is None:
        return None
    scopes = scope.split(" ")
    if not set(scopes) <= set(SCOPES):
        raise OAuthRefused("invalid_scope", "The scope is unknown; valid are read and write.")
    return [one for one in SCOPES if one in scopes]


def check_resource(resources: list[str], ours: str) -> None:
    """Raise `OAuthRefused` where a request names a resource other than ours (RFC 8707, section 2)."""
    if any(one != ours for one in resources):
        raise OAuthRefused("invalid_target", "Tokens are for the resource of this service alone.")


_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_LONGEST: Final = 2_000
_HOST: Final = re.compile(r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63}){0,126}\.?|\[[0-9A-Fa-f:.]{2,45}\]")
"""A host name, an IPv4 or an IPv6 address: no character with a special meaning in a policy or a header."""


_PRIVATE_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{1,63}")
_PRIVATE_PLACE: Final = re.compile(r"//[A-Za-z0-9_.-]{1,255}(/.*)?|/[^/].*|/", re.DOTALL)
"""What stands behind a private scheme: a host and a path, or a path alone (`com.example.app:/callback`)."""
_SCHEMES_OF_OTHERS: Final = Path(__file__).parent / "schemes_of_others.csv"
"""Schemes that run or show something by themselves, or are those of protocols and programs of everybody: none of them
can be an application's own."""
_SYSTEM_SCHEME: Final = re.compile(r"(ms|microsoft|windows|x-apple|apple|android|search)-.*|.*-ms|android-app|view-.*")
"""Schemes of operating systems, such as `ms-msdt` and `search-ms`."""


def is_allowed(address: str) -> bool:
    """Return whether an application may register the address."""
    parts = _split(address)
    if parts is None or len(address) > _LONGEST or "#" in address or "@" in parts.netloc or "\\" in address:
        return False
    if is_private(address):
        return True
    host_alone = parts.netloc.removesuffix("" if parts.port is None else f":{parts.port}")
    return bool(_HOST.fullmatch(host_alone)) and (parts.scheme == "https" or is_loopback(address))


def is_loopback(address: str) -> bool:
    """Return whether the address is a program on the same computer."""
    parts = _split(address)
    return parts is not None and parts.scheme == "http" and parts.hostname in _LOOPBACK


def is_private(address: str) -> bool:
    """Return whether the address is of a scheme of an application's own (RFC 8252, section 7.1).

    A scheme that is the reverse of a domain, as the section asks, may have a path alone; others, as applications really
    use them, name a host: `cursor://anysphere.cursor-mcp/oauth/callback`. Nothing else can go there than a program that
    has claimed the scheme on the person's computer, so it must be no scheme that does something by itself.
    """
    parts = _split(address)
    if parts is None or not _PRIVATE_SCHEME.fullmatch(parts.scheme) or not address.startswith(f"{parts.scheme}:"):
        return False
    place = address.removeprefix(f"{parts.scheme}:").partition("?")[0]
    if parts.scheme in _schemes_of_others() or _SYSTEM_SCHEME.fullmatch(parts.scheme):
        return False
    return bool(_PRIVATE_PLACE.fullmatch(place)) and ("." in parts.scheme or place.startswith("//"))


def is_registered(address: str, registered: Sequence[str]) -> bool:
    """Return whether an address is one of those registered."""
    if address in registered:
        return True
    return is_loopback(address) and _without_port(address) in {_without_port(one) for one in registered}


def host(address: str) -> str:
    """Return the part of an address that a person is shown: host and port, behind the scheme where it is private."""
    parts = _split(address)
    assert parts is not None, "only registered addresses are shown"
    if is_private(address):
        return f"{parts.scheme}://{parts.netloc}" if parts.netloc else f"{parts.scheme}:{parts.path}"
    return parts.netloc


def scheme(address: str) -> str:
    """Return the scheme of an address with its colon, as a person is shown it: `cursor:`."""
    return f"{address.partition(':')[0]}:"


def source(address: str) -> str:
    """Return the address as a source of a content security policy, which has no form for IPv6 (CSP Level 3, 2.3.1)."""
    parts = _split(address)
    assert parts is not None, "only registered addresses are gone to"
    return f"{parts.scheme}:" if "[" in parts.netloc or is_private(address) else f"{parts.scheme}://{parts.netloc}"


def with_answer(address: str, answer: dict[str, str]) -> str:
    """Return the address with the parameters of an answer behind its own."""
    return f"{address}{'&' if '?' in address else '?'}{urlencode(answer)}"


@cache
def _schemes_of_others() -> frozenset[str]:
    with _SCHEMES_OF_OTHERS.open(encoding="utf-8", newline="") as file:
        return frozenset(row["scheme"] for row in csv.DictReader(file))


def _split(address: str) -> SplitResult | None:
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises where it is no number
    except ValueError:
        return None
    # An address must not contain characters that urlsplit silently removes.
    return parts if address.isascii() and address.isprintable() and " " not in address else None


def _without_port(address: str) -> tuple[str, str | None, str, str] | None:
    parts = _split(address)
    return None if parts is None else (parts.scheme, parts.hostname, parts.path, parts.query)


_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
"""A SHA-256 in base64url without padding (RFC 7636, section 4.2)."""


def redirect_of(client: Client, uri: str | None) -> str | None:
    """Return the redirect address; None where the one named is not registered, or none of several is named.

    The registered addresses are checked again, so that a stricter rule applies to earlier registrations too.
    """
    if uri is None and len(client.redirect_uris) == 1:
        uri = client.redirect_uris[0]
    is_ours = uri is not None and is_registered(uri, client.redirect_uris) and is_allowed(uri)
    return uri if is_ours else None


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
    return with_answer(redirect_uri, {**answer, **state, "iss": base})
